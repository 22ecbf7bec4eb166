"""The client's half of ACP: answers to what the agent requests.

Permissions and elicitations are answered from the script, first in first out. An answer "hold" stays open until
a cancel. Whatever is answered `cancelled` without the script saying so gets a note with its cause: an empty
queue, or the driver's own cancel.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

from replay.acp.connection import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    REQUEST_CANCELLED,
    Connection,
    Frame,
    Request,
    RequestId,
)
from replay.acp.host import ClientHost, Pending, Refusal, TerminalExit
from replay.acp.ops import Script
from replay.errors import DivergenceError, Location, ReplayError

__all__ = ["Client"]

_CANCELLED_PERMISSION = {"outcome": {"outcome": "cancelled"}}
_CANCELLED_ELICITATION = {"action": "cancel"}
_OWN_CANCEL = "the driver's own cancel"


class Client:
    """Answers requests through `send(frame, path, method)`; `path` is where in the script the answer stands.

    cancelled: ids of the sessions whose running turn the driver cancelled.
    """

    __slots__ = (
        "_connection", "_elicitations", "_held", "_host", "_pending", "_permissions", "_script", "_send",
        "cancelled", "capabilities", "notes",
    )  # fmt: skip

    def __init__(
        self,
        script: Script,
        connection: Connection,
        host: ClientHost,
        send: Callable[[Frame, str, str], None],
    ) -> None:
        self._script = script
        self._connection = connection
        self._host = host
        self._send = send
        self._permissions = deque(enumerate(script.permission_answers))
        self._elicitations = deque(enumerate(script.elicitation_answers or []))
        # request id -> (session id, what it was about, method)
        self._held: dict[RequestId, tuple[str, str, str]] = {}
        self._pending: dict[int, RequestId] = {}
        self.cancelled: set[str] = set()
        self.capabilities: dict[str, Any] = {}
        self.notes: list[str] = []

    def handle(self, request: Request, is_usable: bool) -> None:
        """Answer one request now, or keep it open. Raises DivergenceError if the script's answer does not fit.

        is_usable: False when its params break the schema and no deviation accepts that.
        """
        handler = _HANDLERS.get(request.method)
        if handler is None:
            self.refuse(request, METHOD_NOT_FOUND, f'the client has no method "{request.method}"')
            return
        group, name = _CAPABILITIES.get(request.method, ("", ""))
        if group and not self._is_announced(group, name):
            self.notes.append(f'"{request.method}" was refused: the client did not announce it')
            self.refuse(request, METHOD_NOT_FOUND, f'the client did not announce "{request.method}"')
            return
        if not is_usable:
            self.refuse(request, INVALID_PARAMS, "the params break the ACP schema")
            return
        try:
            handler(self, request, _Params(request.params))
        except _Unusable as error:
            self.refuse(request, INVALID_PARAMS, str(error))

    def refuse(self, request: Request, code: int, message: str) -> None:
        self._send(self._connection.refuse(request.id, code, message), "", request.method)

    def host_reply(self, token: int, result: TerminalExit | Refusal) -> None:
        """The host's late answer; ignored if the agent took its request back or was restarted meanwhile."""
        if token not in self._pending:
            return
        number = self._pending.pop(token)
        if self._connection.owes(number):
            self._reply_exit(number, result)

    def cancel_session(self, session: str, is_running: bool) -> None:
        """The driver cancels a turn: what it holds for that session is answered `cancelled`.

        is_running: a prompt is still open, so what the agent asks before it ends is answered the same way.
        """
        if is_running:
            self.cancelled.add(session)
        for number, (owner, about, method) in list(self._held.items()):
            if owner == session:
                del self._held[number]
                self._answer_cancelled(number, method, about, _OWN_CANCEL)

    def cancel_request(self, number: RequestId) -> None:
        """The agent takes back a request that is still open."""
        self._held.pop(number, None)
        self._pending = {token: owner for token, owner in self._pending.items() if owner != number}
        if self._connection.owes(number):
            self._send(self._connection.refuse(number, REQUEST_CANCELLED, "cancelled by the agent"), "", "")

    def restart(self) -> None:
        """A new agent process: what the old one asked is void."""
        self._held.clear()
        self._pending.clear()
        self.cancelled.clear()

    def unused(self) -> list[ReplayError]:
        """Answers that nobody asked for, and held requests that no cancel ever met."""
        left: list[ReplayError] = []
        for key, queue in (
            ("permissionAnswers", self._permissions),
            ("elicitationAnswers", self._elicitations),
        ):
            for index, answer in queue:
                left.append(
                    DivergenceError(
                        f"the agent never asked for this answer ({_shown(answer)})",
                        Location(self._script.file, path=f"$.{key}[{index}]"),
                    )
                )
        for _, about, method in self._held.values():
            left.append(DivergenceError(f'"{method}" for {about} was held for a cancel that never came'))
        return left

    def _is_announced(self, group: str, name: str) -> bool:
        capability = self.capabilities.get(group)
        return (
            capability is True if not name else isinstance(capability, dict) and capability.get(name) is True
        )

    def _reply(self, request: Request, result: Any, path: str = "") -> None:
        self._send(self._connection.answer(request.id, result), path, request.method)

    def _reply_or_refuse(self, request: Request, refusal: Refusal | None) -> None:
        if refusal is None:
            self._reply(request, {})
        else:
            self.refuse(request, refusal.code, refusal.message)

    def _answer_cancelled(self, number: RequestId, method: str, about: str, cause: str) -> None:
        result = _CANCELLED_ELICITATION if method == "elicitation/create" else _CANCELLED_PERMISSION
        self.notes.append(f'"{method}" for {about} was answered cancelled: {cause}')
        self._send(self._connection.answer(number, result), "", method)

    def _permission(self, request: Request, params: _Params) -> None:
        options = params.objects("options")
        about = _about(params.object("toolCall"), "title", "toolCallId")
        answer, path = self._next(request, params, self._permissions, "permissionAnswers", about)
        if "outcome" in answer:
            self._reply(request, _CANCELLED_PERMISSION, path)
        elif answer:
            option = self._option(options, answer, about, path)
            self._reply(request, {"outcome": {"outcome": "selected", "optionId": option}}, path)

    def _option(self, options: list[dict[str, Any]], answer: dict[str, Any], about: str, path: str) -> str:
        key, wanted = next(iter(answer.items()))
        found = [str(option.get("optionId")) for option in options if option.get(key) == wanted]
        if len(found) == 1:
            return found[0]
        offered = ", ".join(
            f'{option.get("kind")} (optionId "{option.get("optionId")}")' for option in options
        )
        where = Location(self._script.file, path=path)
        if found:
            raise DivergenceError(
                f'{len(found)} options of {about} have the {key} "{wanted}": {offered}',
                where,
                f'name one: {{"optionId": "{found[0]}"}}',
            )
        raise DivergenceError(
            f'{key} "{wanted}" is not offered for {about}; offered: {offered or "nothing"}', where
        )

    def _elicitation(self, request: Request, params: _Params) -> None:
        about = _about(params.value, "message")
        answer, path = self._next(request, params, self._elicitations, "elicitationAnswers", about)
        if answer:
            self._reply(request, answer, path)

    def _next(
        self,
        request: Request,
        params: _Params,
        queue: deque[tuple[int, dict[str, Any]]],
        key: str,
        about: str,
    ) -> tuple[dict[str, Any], str]:
        """The scripted answer and its path; ({}, "") when the request was answered or held here."""
        session = params.value.get("sessionId")
        session = session if isinstance(session, str) else ""
        if session in self.cancelled:
            self._answer_cancelled(request.id, request.method, about, _OWN_CANCEL)
            return {}, ""
        if not queue:
            self._answer_cancelled(request.id, request.method, about, f"{key} has no answer left")
            return {}, ""
        index, answer = queue.popleft()
        if "hold" in answer:
            self._held[request.id] = (session, about, request.method)
            return {}, ""
        return answer, f"$.{key}[{index}]"

    def _read_text_file(self, request: Request, params: _Params) -> None:
        line, limit = params.integer("line"), params.integer("limit")
        text = self._host.read_text_file(params.text("path"))
        if isinstance(text, Refusal):
            self.refuse(request, text.code, text.message)
            return
        if line is not None or limit is not None:
            lines = text.split("\n")
            start = max(line or 1, 1) - 1
            kept = lines[start:] if limit is None else lines[start : start + limit]
            # A range that stops before the last line ends with that range's own line end.
            text = "\n".join(kept) + ("\n" if kept and start + len(kept) < len(lines) else "")
        self._reply(request, {"content": text})

    def _write_text_file(self, request: Request, params: _Params) -> None:
        refusal = self._host.write_text_file(params.text("path"), params.text("content"))
        self._reply_or_refuse(request, refusal)

    def _terminal_create(self, request: Request, params: _Params) -> None:
        env = [
            (_Params(item).text("name"), _Params(item).text("value")) for item in params.objects("env", True)
        ]
        cwd = params.text("cwd") if params.value.get("cwd") is not None else None
        limit = params.integer("outputByteLimit")
        made = self._host.terminal_create(params.text("command"), params.texts("args"), env, cwd, limit)
        if isinstance(made, Refusal):
            self.refuse(request, made.code, made.message)
        else:
            self._reply(request, {"terminalId": made})

    def _terminal_output(self, request: Request, params: _Params) -> None:
        output = self._host.terminal_output(params.text("terminalId"))
        if isinstance(output, Refusal):
            self.refuse(request, output.code, output.message)
            return
        result: dict[str, Any] = {"output": output.output, "truncated": output.truncated}
        if output.exit is not None:
            result["exitStatus"] = _exit(output.exit)
        self._reply(request, result)

    def _terminal_wait(self, request: Request, params: _Params) -> None:
        result = self._host.terminal_wait_for_exit(params.text("terminalId"))
        if isinstance(result, Pending):
            self._pending[result.token] = request.id
        else:
            self._reply_exit(request.id, result)

    def _reply_exit(self, number: RequestId, result: TerminalExit | Refusal) -> None:
        if isinstance(result, Refusal):
            frame = self._connection.refuse(number, result.code, result.message)
        else:
            frame = self._connection.answer(number, _exit(result))
        self._send(frame, "", "terminal/wait_for_exit")

    def _terminal_kill(self, request: Request, params: _Params) -> None:
        self._reply_or_refuse(request, self._host.terminal_kill(params.text("terminalId")))

    def _terminal_release(self, request: Request, params: _Params) -> None:
        self._reply_or_refuse(request, self._host.terminal_release(params.text("terminalId")))


class _Unusable(Exception):
    """Params that no answer can be made from, though a deviation may have let them pass."""


class _Params:
    """The params of a request, each value taken with the type that it must have."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value: dict[str, Any] = value if isinstance(value, dict) else {}

    def text(self, key: str) -> str:
        value = self.value.get(key)
        if not isinstance(value, str):
            raise _Unusable(f'"{key}" must be a string')
        return value

    def integer(self, key: str) -> int | None:
        # What does not fit an optional number is left out: the schema's own repair.
        value = self.value.get(key)
        return value if type(value) is int and value >= 0 else None

    def texts(self, key: str) -> list[str]:
        value = self.value.get(key)
        return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []

    def object(self, key: str) -> dict[str, Any]:
        value = self.value.get(key)
        return value if isinstance(value, dict) else {}

    def objects(self, key: str, optional: bool = False) -> list[dict[str, Any]]:
        value = self.value.get(key)
        if isinstance(value, list):
            return [item for item in value if isinstance(item, dict)]
        if optional:
            return []
        raise _Unusable(f'"{key}" must be an array')


def _exit(status: TerminalExit) -> dict[str, Any]:
    return {"exitCode": status.exit_code, "signal": status.signal}


def _about(value: dict[str, Any], *keys: str) -> str:
    text = next((value[key] for key in keys if isinstance(value.get(key), str) and value[key]), "?")
    return f'"{text if len(text) <= 60 else text[:60] + "…"}"'


def _shown(answer: dict[str, Any]) -> str:
    return ", ".join(f"{key}: {value}" for key, value in answer.items() if key != "content")


_HANDLERS: dict[str, Callable[[Client, Request, _Params], None]] = {
    "elicitation/create": Client._elicitation,
    "fs/read_text_file": Client._read_text_file,
    "fs/write_text_file": Client._write_text_file,
    "session/request_permission": Client._permission,
    "terminal/create": Client._terminal_create,
    "terminal/kill": Client._terminal_kill,
    "terminal/output": Client._terminal_output,
    "terminal/release": Client._terminal_release,
    "terminal/wait_for_exit": Client._terminal_wait,
}

# method -> the client capability that allows it: (group, name), or (name, "") for one that is itself true.
_CAPABILITIES = {
    "fs/read_text_file": ("fs", "readTextFile"),
    "fs/write_text_file": ("fs", "writeTextFile"),
    "terminal/create": ("terminal", ""),
    "terminal/kill": ("terminal", ""),
    "terminal/output": ("terminal", ""),
    "terminal/release": ("terminal", ""),
    "terminal/wait_for_exit": ("terminal", ""),
}
