"""Commands of the deployment or the project that look at tool calls. See HookConfig for the agreement."""

import fnmatch
import json
from typing import Any

from scenarios.reference_agent.config import HookConfig
from scenarios.reference_agent.process import run_process
from scenarios.reference_agent.services import Services
from scenarios.reference_agent.session import Session

__all__ = ["run_hooks"]

DENIED = 2
MAX_REASON_BYTES = 8192


async def run_hooks(services: Services, session: Session, event: str, call: dict[str, Any]) -> str | None:
    """The first reason against `call`, None if no hook has one. Hooks run in the order of the configuration.

    `call`: `{callId, name, arguments}`, for `after_tool` with `result` and `isError`.
    """
    for hook in session.config.hooks:
        if hook.event == event and fnmatch.fnmatchcase(call["name"], hook.match):
            reason = await run_hook(services, session, hook, call)
            if reason is not None:
                return reason
    return None


async def run_hook(
    services: Services, session: Session, hook: HookConfig, call: dict[str, Any]
) -> str | None:
    place = {"turn": session.state.turn, "step": session.state.step, "callId": call["callId"]}
    named = place | {"hook": hook.name, "event": hook.event}
    session.record("hook/invoked", named)
    question = {"event": hook.event, "sessionId": session.id, "cwd": str(session.cwd), **call}
    output = bytearray()
    try:
        result = await run_process(
            [part.replace("{config_dir}", str(session.config.config_dir)) for part in hook.command],
            cwd=session.cwd,
            environment=services.environment,
            timeout_ms=hook.timeout_ms,
            on_output=lambda data: output.extend(data[: MAX_REASON_BYTES - len(output)]),
            stdin=json.dumps(question).encode("utf-8"),
        )
    except OSError as error:
        return decide(session, named, f'hook "{hook.name}" does not start: {error.strerror or error}')
    if result.timed_out:
        return decide(session, named, f'hook "{hook.name}" gave no answer in {hook.timeout_ms} ms')
    if result.exit_code == DENIED:
        said = output.decode("utf-8", "replace").strip()
        return decide(session, named, said or f'hook "{hook.name}" gave no reason')
    if result.exit_code:
        return decide(session, named, f'hook "{hook.name}" failed with exit code {result.exit_code}')
    return decide(session, named, None)


def decide(session: Session, named: dict[str, Any], reason: str | None) -> str | None:
    decision = {"decision": "allow"} if reason is None else {"decision": "deny", "reason": reason}
    session.record("hook/result", named | decision)
    return reason
