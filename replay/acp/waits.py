"""What the driver tells the loop that feeds it: actions to carry out, and the one thing it waits for.

The loop carries out actions in order. It evaluates WaitFile and WaitLogEvent itself and then calls
`Driver.on_condition()`; WaitReply and WaitUpdate are met by lines, WaitRestart by `Driver.on_agent_restarted()`.
"""

from typing import Any, NamedTuple

__all__ = [
    "Action",
    "Done",
    "Restart",
    "Send",
    "Wait",
    "WaitFile",
    "WaitLogEvent",
    "WaitReply",
    "WaitRestart",
    "WaitUpdate",
]


class Send(NamedTuple):
    """Write these bytes (whole lines) to the agent's stdin."""

    data: bytes


class Restart(NamedTuple):
    """End the agent gracefully and start it anew in the same sandbox."""


class Done(NamedTuple):
    """The script is played: close stdin, wait for the exit, hand in late lines, then call `finish()`."""


Action = Send | Restart | Done


class WaitReply(NamedTuple):
    """The agent owes the answer to request `id`."""

    method: str
    id: int

    def describe(self) -> str:
        return f'no answer to "{self.method}" (id {self.id})'


class WaitFile(NamedTuple):
    """A file must exist. `path` is relative to the sandbox cwd and never leaves it."""

    path: str

    def describe(self) -> str:
        return f'no file "{self.path}" in the cwd'


class WaitLogEvent(NamedTuple):
    """At least `times` events of `type` must stand in a session log.

    Own events only: the first `seedLength` of a log are its parent's. Not `subagent`: the log is the root whose
    header id is `session`, else the `session_index`-th root (from 0) by creation. `subagent`: the events of all logs that
    have a parentSession are counted together. `after_turns` = n > 0: only events after the n-th own
    `turn/end` of the same log count.
    """

    type: str
    times: int
    session: str
    session_index: int
    subagent: bool
    after_turns: int

    def describe(self) -> str:
        where = "the subagents' session logs" if self.subagent else f'the log of session "{self.session}"'
        after = f" after the end of turn {self.after_turns}" if self.after_turns else ""
        few = "no" if self.times == 1 else f"fewer than {self.times}"
        return f'{few} "{self.type}"{after} in {where}'


class WaitUpdate(NamedTuple):
    """A frame of the agent must come: a session/update whose update holds `match`, or a request `method`."""

    method: str
    match: dict[str, Any]

    def describe(self) -> str:
        if self.method != "session/update":
            return f'no "{self.method}"'
        shown = ", ".join(f"{key}={value!r}" for key, value in self.match.items())
        return f"no session/update with {shown}"

    def is_met_by(self, frame: dict[str, Any]) -> bool:
        """Whether a parsed frame of the agent is the one."""
        if frame.get("method") != self.method:
            return False
        params = frame.get("params")
        if not isinstance(params, dict):
            return False
        return _holds(params.get("update") if self.method == "session/update" else params, self.match)


class WaitRestart(NamedTuple):
    """The loop restarts the agent."""

    def describe(self) -> str:
        return "the agent has not been restarted"


Wait = WaitReply | WaitFile | WaitLogEvent | WaitUpdate | WaitRestart


def _holds(value: Any, part: Any) -> bool:
    """Whether `value` holds `part`: objects by their named keys, all else by equality."""
    if isinstance(part, dict):
        return isinstance(value, dict) and all(key in value and _holds(value[key], part[key]) for key in part)
    return bool(value == part) and type(value) is type(part)
