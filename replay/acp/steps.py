"""What each op does: a generator that sends through the driver and yields what it waits for.

A yield gives back what met the wait: the Response for WaitReply, True for the others; with a guard set, also the
Response that ended the guarded prompt first. `STEPS` maps every op of op_table.py.
"""

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from replay.acp.connection import REQUEST_CANCELLED, Response
from replay.acp.waits import Restart, Wait, WaitFile, WaitLogEvent, WaitReply, WaitRestart, WaitUpdate
from replay.errors import AgentError, DivergenceError, FixtureError

if TYPE_CHECKING:
    from replay.acp.driver import Driver

__all__ = ["BARRIER", "STEPS", "Session", "demand_success"]

BARRIER = "_agent_replay/barrier"
PROTOCOL_VERSION = 1
CLIENT_INFO = {"name": "agent_replay", "version": "1"}

Fields = dict[str, Any]
Playing = Generator[Wait, Any]


class Session:
    """A session of this run. `turns`: prompts sent to it; `prompt`: id of the newest of them, 0 before the first."""

    __slots__ = ("cwd", "id", "index", "prompt", "turns")

    def __init__(self, number: str, index: int, cwd: str) -> None:
        self.id = number
        self.index = index
        self.cwd = cwd
        self.turns = 0
        self.prompt = 0


def _initialize(driver: Driver, fields: Fields) -> Playing:
    capabilities = fields.get("clientCapabilities", driver.capabilities())
    driver.client.capabilities = capabilities
    params = {
        "protocolVersion": fields.get("protocolVersion", PROTOCOL_VERSION),
        "clientCapabilities": capabilities,
        "clientInfo": fields.get("clientInfo", CLIENT_INFO),
    }
    yield from _ask(driver, "initialize", params, fields)


def _authenticate(driver: Driver, fields: Fields) -> Playing:
    yield from _ask(driver, "authenticate", {"methodId": fields["methodId"]}, fields)


def _new_session(driver: Driver, fields: Fields) -> Playing:
    cwd = driver.inside(fields.get("cwd"))
    result = yield from _ask(driver, "session/new", _workspace(cwd, fields), fields)
    number = result.get("sessionId") if isinstance(result, dict) else None
    if not isinstance(number, str):
        raise AgentError('the answer to "session/new" carries no sessionId')
    driver.sessions.append(Session(number, len(driver.sessions), cwd))


def _new_session_expect_error(driver: Driver, fields: Fields) -> Playing:
    params = _workspace(driver.inside(fields.get("cwd")), fields)
    yield from _ask(driver, "session/new", params, {**fields, "expectError": True})


def _old_session(method: str) -> Callable[[Driver, Fields], Playing]:
    def play(driver: Driver, fields: Fields) -> Playing:
        known = None if "sessionId" in fields else driver.session(fields)
        cwd = driver.inside(fields["cwd"]) if "cwd" in fields else known.cwd if known else driver.cwd
        number = known.id if known else fields["sessionId"]
        yield from _ask(driver, method, {"sessionId": number, **_workspace(cwd, fields)}, fields)
        if known is None and "expectError" not in fields:
            driver.sessions.append(Session(number, len(driver.sessions), cwd))

    return play


def _list_sessions(driver: Driver, fields: Fields) -> Playing:
    params: dict[str, Any] = {}
    if "cwd" in fields:
        params["cwd"] = driver.inside(fields["cwd"])
    if "cursor" in fields:
        params["cursor"] = fields["cursor"]
    yield from _ask(driver, "session/list", params, fields)


def _close_session(driver: Driver, fields: Fields) -> Playing:
    yield from _ask(driver, "session/close", {"sessionId": driver.session(fields).id}, fields)


def _set_mode(driver: Driver, fields: Fields) -> Playing:
    params = {"sessionId": driver.session(fields).id, "modeId": fields["modeId"]}
    yield from _ask(driver, "session/set_mode", params, fields)


def _set_config_option(driver: Driver, fields: Fields) -> Playing:
    value = fields["value"]
    params = {"sessionId": driver.session(fields).id, "configId": fields["configId"], "value": value}
    if isinstance(value, bool):
        params["type"] = "boolean"
    yield from _ask(driver, "session/set_config_option", params, fields)


def _prompt(driver: Driver, fields: Fields) -> Playing:
    session = _start_turn(driver, fields)
    if fields.get("wait", True):
        _demand_turn(driver, (yield WaitReply("session/prompt", session.prompt)))
    else:
        driver.background[session.prompt] = driver.step_path


def _prompt_expect_error(driver: Driver, fields: Fields) -> Playing:
    session = _start_turn(driver, fields)
    reply = yield WaitReply("session/prompt", session.prompt)
    _demand_error(reply, fields.get("code"))


def _prompt_and_cancel(driver: Driver, fields: Fields) -> Playing:
    session = _start_turn(driver, fields)
    wait: Wait | None = None
    if "waitForFile" in fields:
        wait = WaitFile(fields["waitForFile"]["path"])
    elif "waitForUpdate" in fields:
        wait = _update(fields["waitForUpdate"])
    if wait is not None:
        driver.guard = session.prompt
        met = yield wait
        driver.guard = 0
        if isinstance(met, Response):
            raise DivergenceError(
                f"the turn ended ({_outcome(met)}) before it could be cancelled: {wait.describe()}"
            )
    driver.cancel_turn(session)
    _demand_turn(driver, (yield WaitReply("session/prompt", session.prompt)))


def _cancel(driver: Driver, fields: Fields) -> Playing:
    session = driver.session(fields)
    driver.cancel_turn(session)
    if session.prompt in driver.background and fields.get("wait", True):
        del driver.background[session.prompt]
        _demand_turn(driver, (yield WaitReply("session/prompt", session.prompt)))


def _cancel_request(driver: Driver, fields: Fields) -> Playing:
    session = driver.session(fields)
    number = session.prompt
    if number not in driver.background:
        raise FixtureError('no prompt is running: "cancelRequest" follows a prompt with "wait": false')
    # The answer may already have crossed the request on the wire: then there is nothing left to take back.
    if driver.connection.is_open(number):
        driver.send(driver.connection.cancel(number))
    driver.taken_back.add(number)
    if fields.get("wait", True):
        del driver.background[number]
        demand_success((yield WaitReply("session/prompt", number)), taken_back=True)


def _wait_for_file(_driver: Driver, fields: Fields) -> Playing:
    yield WaitFile(fields["path"])


def _wait_for_update(_driver: Driver, fields: Fields) -> Playing:
    yield _update(fields)


def _wait_for_turn(event: str) -> Callable[[Driver, Fields], Playing]:
    def play(driver: Driver, fields: Fields) -> Playing:
        session = driver.session(fields)
        yield WaitLogEvent(event, _turn(session, fields), session.id, session.index, False, 0)

    return play


def _wait_for_subagent(driver: Driver, fields: Fields) -> Playing:
    session = driver.session(fields)
    yield WaitLogEvent("turn/end", fields.get("count", 1), session.id, session.index, True, 0)


def _wait_for_event(driver: Driver, fields: Fields) -> Playing:
    session = driver.session(fields)
    count, turns = fields.get("count", 1), _turn(session, fields)
    yield WaitLogEvent(fields["type"], count, session.id, session.index, False, turns)


def _restart_agent(driver: Driver, _fields: Fields) -> Playing:
    driver.act(Restart())
    yield WaitRestart()


def _settle(driver: Driver, _fields: Fields) -> Playing:
    yield WaitReply(BARRIER, driver.request(BARRIER, {}))


STEPS: dict[str, Callable[[Driver, Fields], Playing]] = {
    "authenticate": _authenticate,
    "cancel": _cancel,
    "cancelRequest": _cancel_request,
    "closeSession": _close_session,
    "initialize": _initialize,
    "listSessions": _list_sessions,
    "loadSession": _old_session("session/load"),
    "newSession": _new_session,
    "newSessionExpectError": _new_session_expect_error,
    "prompt": _prompt,
    "promptAndCancel": _prompt_and_cancel,
    "promptContent": _prompt,
    "promptExpectError": _prompt_expect_error,
    "restartAgent": _restart_agent,
    "resumeSession": _old_session("session/resume"),
    "setConfigOption": _set_config_option,
    "setMode": _set_mode,
    "settle": _settle,
    "waitForEventAfterTurnEnd": _wait_for_event,
    "waitForFile": _wait_for_file,
    "waitForSubagentTurnEnd": _wait_for_subagent,
    "waitForTurnEnd": _wait_for_turn("turn/end"),
    "waitForTurnStart": _wait_for_turn("turn/start"),
    "waitForUpdate": _wait_for_update,
}


def demand_success(reply: Response, taken_back: bool = False) -> Any:
    """The result of a reply. Raises DivergenceError if it is an error.

    taken_back: the driver sent `$/cancel_request`, so "request cancelled" is as good.
    """
    if reply.error is None:
        return reply.result
    if taken_back and reply.error.get("code") == REQUEST_CANCELLED:
        return None
    raise DivergenceError(f'the agent refused "{reply.method}": {_outcome(reply)}')


def _ask(driver: Driver, method: str, params: dict[str, Any], fields: Fields) -> Generator[Wait, Any, Any]:
    """Send a request and wait for its answer. The result, or None where the script expects an error."""
    if "_meta" in fields:
        params["_meta"] = fields["_meta"]
    reply = yield WaitReply(method, driver.request(method, params))
    if fields.get("expectError"):
        _demand_error(reply, fields.get("code"))
        return None
    return demand_success(reply)


def _demand_error(reply: Response, code: int | None) -> None:
    if reply.error is None:
        raise DivergenceError(f'the agent should have refused "{reply.method}", it answered')
    if code is not None and reply.error.get("code") != code:
        raise DivergenceError(
            f'the agent refused "{reply.method}" with another code than {code}: {_outcome(reply)}'
        )


def _demand_turn(driver: Driver, reply: Response) -> None:
    demand_success(reply, reply.id in driver.taken_back)


def _outcome(reply: Response) -> str:
    if reply.error is not None:
        return f"{reply.error.get('message')} (code {reply.error.get('code')})"
    return (
        f'stopReason "{reply.result.get("stopReason")}"'
        if isinstance(reply.result, dict)
        else "without a result"
    )


def _start_turn(driver: Driver, fields: Fields) -> Session:
    session = driver.session(fields)
    blocks = fields["content"] if "content" in fields else [{"type": "text", "text": fields["text"]}]
    params = {"sessionId": session.id, "prompt": blocks}
    if "_meta" in fields:
        params["_meta"] = fields["_meta"]
    driver.begin_turn(session, driver.request("session/prompt", params))
    return session


def _update(fields: Fields) -> WaitUpdate:
    if "request" in fields:
        return WaitUpdate(fields["request"], {})
    if "sessionUpdate" in fields:
        return WaitUpdate("session/update", {"sessionUpdate": fields["sessionUpdate"]})
    return WaitUpdate("session/update", fields["update"])


def _turn(session: Session, fields: Fields) -> int:
    return int(fields.get("turn", max(session.turns, 1)))


def _workspace(cwd: str, fields: Fields) -> dict[str, Any]:
    params = {"cwd": cwd, "mcpServers": fields.get("mcpServers", [])}
    if "additionalDirectories" in fields:
        params["additionalDirectories"] = fields["additionalDirectories"]
    return params
