"""What a client sees of a run, turn by turn: the frames of stdout.expected.jsonl beside what input.json plays.

A fixture holds the agent's frames only, so what the client answered is read from the queues of input.json: answers are
given first in, first out, and an empty queue answers "cancelled". Frames up to the reply to the k-th prompt are of the
k-th turn. Whatever is no tool, permission, file, text or stop is kept as a note.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

__all__ = ["ClientTool", "ClientTurn", "Permission", "prompt_text", "prompts_of", "read_client"]

PROMPTS: Final = ("prompt", "promptContent", "promptExpectError", "promptAndCancel")
_TEXTS: Final = {"agent_message_chunk": "says", "agent_thought_chunk": "thinks", "user_message_chunk": "user"}


@dataclass(slots=True)
class ClientTool:
    """A tool call as it was reported to the client, with the last of each thing that was reported."""

    id: str
    title: str = ""
    kind: str = ""
    status: str = ""
    arguments: Any = None
    text: str = ""


@dataclass(slots=True)
class Permission:
    """A permission that the agent asked for. `answer` is what the client chose, "" where nobody knows."""

    tool_id: str
    title: str
    options: list[str]
    answer: str


@dataclass(slots=True)
class ClientTurn:
    """All up to the reply to one prompt. `files`: path -> content after the change, as the agent told the client."""

    tools: dict[str, ClientTool] = field(default_factory=dict)
    permissions: list[Permission] = field(default_factory=list)
    said: list[tuple[str, str]] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    notes: list[tuple[str, Any]] = field(default_factory=list)
    stop: str = ""


def prompts_of(script: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """The steps of input.json that begin a turn."""
    steps = (script or {}).get("steps") or []
    return [step for step in steps if isinstance(step, dict) and step.get("op") in PROMPTS]


def prompt_text(step: Mapping[str, Any]) -> str:
    """What the user says in a step, as far as it is text; other content by its kind."""
    if isinstance(step.get("text"), str):
        return str(step["text"])
    blocks = [block for block in step.get("content") or () if isinstance(block, dict)]
    return "\n".join(str(block.get("text") or f"[{block.get('type')}]") for block in blocks)


def read_client(frames: Iterable[Any], script: Mapping[str, Any] | None) -> list[ClientTurn]:
    """The turns in the frames of an agent; what follows the last reply is a turn of its own, if there is anything."""
    reader = _Reader(script)
    for frame in frames:
        if isinstance(frame, dict):
            reader.read(frame)
    turns = reader.turns
    if turns[-1] == ClientTurn() and len(turns) > 1:
        turns.pop()
    return turns


class _Reader:
    """The turns so far, and the answers that the client has left."""

    __slots__ = ("_answers", "_knows_answers", "_prompts", "turns")

    def __init__(self, script: Mapping[str, Any] | None) -> None:
        self.turns = [ClientTurn()]
        self._knows_answers = script is not None
        self._answers: deque[Any] = deque((script or {}).get("permissionAnswers") or ())
        self._prompts: Sequence[Mapping[str, Any]] = prompts_of(script)

    def read(self, frame: Mapping[str, Any]) -> None:
        method, turn = frame.get("method"), self.turns[-1]
        params = frame.get("params")
        params = params if isinstance(params, dict) else {}
        if method == "session/update":
            update = params.get("update")
            if isinstance(update, dict):
                _read_update(turn, update)
        elif method == "session/request_permission":
            turn.permissions.append(self._permission(params))
        elif method == "fs/write_text_file":
            turn.files[str(params.get("path"))] = str(params.get("content"))
        elif isinstance(method, str):
            turn.notes.append((method, {key: item for key, item in params.items() if key != "sessionId"}))
        else:
            self._read_reply(frame, turn)

    def _read_reply(self, frame: Mapping[str, Any], turn: ClientTurn) -> None:
        result, error = frame.get("result"), frame.get("error")
        if isinstance(result, dict) and "stopReason" in result:
            turn.stop = str(result["stopReason"])
        elif isinstance(error, dict) and self._expects_error():
            turn.stop = f"error {error.get('code')}: {error.get('message')}"
        else:
            turn.notes.append(("reply", error if error is not None else result))
            return
        self.turns.append(ClientTurn())

    def _expects_error(self) -> bool:
        number = len(self.turns) - 1
        step = self._prompts[number] if number < len(self._prompts) else {}
        return step.get("op") == "promptExpectError" or bool(step.get("expectError"))

    def _permission(self, params: Mapping[str, Any]) -> Permission:
        tool = params.get("toolCall")
        tool = tool if isinstance(tool, dict) else {}
        options = [option for option in params.get("options") or () if isinstance(option, dict)]
        return Permission(
            str(tool.get("toolCallId", "")),
            str(tool.get("title") or tool.get("toolCallId") or ""),
            [str(option.get("kind")) for option in options],
            self._answer(),
        )

    def _answer(self) -> str:
        if not self._knows_answers:
            return ""
        answer = self._answers.popleft() if self._answers else None
        if not isinstance(answer, dict):
            return "cancelled"
        if answer.get("hold"):
            return "no answer"
        return str(answer.get("optionId") or answer.get("kind") or answer.get("outcome") or "cancelled")


def _read_update(turn: ClientTurn, update: Mapping[str, Any]) -> None:
    kind = str(update.get("sessionUpdate"))
    if kind in _TEXTS:
        _say(turn, _TEXTS[kind], _content_text(update.get("content")))
    elif kind in ("tool_call", "tool_call_update"):
        _read_tool(turn, update)
    else:
        turn.notes.append((kind, {key: item for key, item in update.items() if key != "sessionUpdate"}))


def _say(turn: ClientTurn, who: str, text: str) -> None:
    if turn.said and turn.said[-1][0] == who:
        turn.said[-1] = (who, turn.said[-1][1] + text)
    else:
        turn.said.append((who, text))


def _read_tool(turn: ClientTurn, update: Mapping[str, Any]) -> None:
    name = str(update.get("toolCallId"))
    tool = turn.tools.setdefault(name, ClientTool(name))
    tool.title = str(update.get("title") or tool.title)
    tool.kind = str(update.get("kind") or tool.kind)
    tool.status = str(update.get("status") or tool.status)
    if update.get("rawInput") is not None:
        tool.arguments = update["rawInput"]
    content = [item for item in update.get("content") or () if isinstance(item, dict)]
    for item in content:
        if item.get("type") == "diff":
            turn.files[str(item.get("path"))] = str(item.get("newText"))
    if content:
        tool.text = "\n".join(filter(None, (_item_text(item) for item in content)))


def _item_text(item: Mapping[str, Any]) -> str:
    match item.get("type"):
        case "content":
            return _content_text(item.get("content"))
        case "diff":
            return f"[changes {item.get('path')}]"
        case kind:
            return f"[{kind}]"


def _content_text(content: Any) -> str:
    if not isinstance(content, dict):
        return ""
    text = content.get("text")
    return text if isinstance(text, str) else f"[{content.get('type')}]"
