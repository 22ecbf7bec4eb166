"""What a session's log adds up to: the conversation and what must be remembered with it.

A fold: `apply` takes the events in order, live or read back from a file, and the outcome is the same. So a
resumed session and a fork child need no other memory than the log.
"""

from typing import Any

__all__ = ["State", "closing_events"]


class State:
    """`messages` is what the model gets to see next; the numbers are the last ones used."""

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self.messages: list[dict[str, Any]] = []
        self.turn = 0
        self.step = 0
        self.call = 0
        self.tool_calls = 0
        self.header: dict[str, Any] | None = None
        self.context: dict[str, Any] | None = None
        self.always_allowed: set[str] = set()

    def apply(self, event: dict[str, Any]) -> None:
        data = event["data"]
        match event["type"]:
            case "turn/start":
                self.turn, self.step = data["turn"], 0
            case "step/start":
                self.step = data["step"]
            case "call/start":
                self.call = data["call"]
            case "tool/call":
                self.tool_calls += 1
            case "user/message":
                self.messages.append({"role": "user", "content": data["content"]})
            case "assistant/message":
                self.messages.append({"role": "assistant", "content": data["message"]["content"]})
            case "tool/result":
                self.messages.append({"role": "tool", "content": data["message"]["content"]})
            case "request/header":
                self.header = data["header"]
            case "request/context":
                self.context = data
            case "mode/change":
                self.mode = data["mode"]
            case "permission/decided" if data["outcome"] == "allow_always":
                self.always_allowed.add(data["toolName"])


def closing_events(events: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """What a log lacks whose process ended in the middle of a turn, so that the conversation can go on."""
    opened: dict[str, dict[str, Any]] = {}
    unanswered: dict[str, dict[str, Any]] = {}
    for event in events:
        kind, data = event["type"], event["data"]
        match kind:
            case "turn/start" | "step/start" | "call/start":
                opened[kind.removesuffix("/start")] = data
            case "turn/end" | "step/end" | "call/end":
                opened.pop(kind.removesuffix("/end"), None)
            case "assistant/message":
                place = {"turn": data["turn"], "step": data["step"]}
                unanswered |= {b["id"]: place for b in data["message"]["content"] if b["type"] == "tool-call"}
            case "tool/result":
                unanswered.pop(data["message"]["source"]["callId"], None)
    closing: list[tuple[str, dict[str, Any]]] = []
    if "call" in opened:
        closing.append(("call/end", opened["call"] | {"outcome": {"kind": "cancelled"}}))
    closing += [("tool/result", lost_result(call_id, place)) for call_id, place in unanswered.items()]
    if "step" in opened:
        closing.append(("step/end", opened["step"]))
    if "turn" in opened:
        reason = {"kind": "aborted", "reason": {"kind": "process-ended"}}
        closing.append(("turn/end", {"turn": opened["turn"]["turn"], "reason": reason}))
    return closing


def lost_result(call_id: str, place: dict[str, Any]) -> dict[str, Any]:
    text = "The agent ended while this call was running; its result is not known."
    block = {
        "type": "tool-result",
        "toolCallId": call_id,
        "content": [{"type": "text", "text": text}],
        "isError": True,
    }
    message = {"source": {"kind": "tool", "callId": call_id}, "content": [block], "role": "tool"}
    return {**place, "message": message, "error": {"name": "ProcessEnded", "message": text}}
