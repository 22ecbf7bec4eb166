"""codex.app-server (0.120 to 0.171): JSON-RPC frames without the "jsonrpc" key.

A response says nothing that a notification says as well, so it may come before or behind it. Child threads speak on the
same connection with a thread id of their own; what a child says before it is known whose child it is waits for that.
"""

from collections.abc import Iterator, Mapping, Sequence

from scenarios.reference_orchestrator.errors import ProviderError
from scenarios.reference_orchestrator.fields import JsonObject, list_at, object_at, text_at
from scenarios.reference_orchestrator.normalisers.codex_items import DELTAS, item_of
from scenarios.reference_orchestrator.providers import (
    Decision,
    Item,
    ItemCompleted,
    ItemDelta,
    ItemStarted,
    ItemUpdated,
    Option,
    PlanStatus,
    PlanStep,
    PlanUpdated,
    ProviderEvent,
    RequestOpened,
    RequestResolved,
    SteerRejected,
    SubagentEnded,
    SubagentStarted,
    ThreadOpened,
    ThreadRolledBack,
    TurnEnded,
    TurnStarted,
    TurnStatus,
    UsageUpdated,
)

__all__ = ["APPROVALS", "QUESTIONS", "CodexNormaliser"]

APPROVALS = ("item/commandExecution/requestApproval", "item/fileChange/requestApproval")
QUESTIONS = ("item/tool/requestUserInput",)
USAGE = "thread/tokenUsage/updated"

DECISIONS: Mapping[str, Decision] = {
    "accept": "allow_once",
    "acceptForSession": "allow_always",
    "decline": "reject_once",
    "cancel": "cancelled",
}
STATUSES: Mapping[str, TurnStatus] = {"completed": "completed", "interrupted": "interrupted"}
PLAN_STATUSES: Mapping[str, PlanStatus] = {"inProgress": "in_progress", "completed": "completed"}


class CodexNormaliser:
    """`thread_id` is the root thread of the session, None until it is open."""

    def __init__(self) -> None:
        self.thread_id: str | None = None
        self._turns: set[str] = set()
        self._promised: str | None = None
        self._asked: dict[object, tuple[str, JsonObject]] = {}
        self._decisions: dict[object, Decision] = {}
        self._seen: set[str] = set()
        self._children: dict[str, str] = {}
        self._ended_children: set[str] = set()
        self._waiting: dict[str, list[JsonObject]] = {}
        self._errors = 0

    def sent(self, frame: JsonObject) -> Sequence[ProviderEvent]:
        if "method" in frame:
            if "id" in frame:
                self._asked[frame["id"]] = (frame["method"], object_at(frame, "params"))
        elif "result" in frame:
            decision = text_at(frame, "result", "decision")
            self._decisions[frame["id"]] = DECISIONS.get(decision or "", "answered")
        return ()

    def received(self, frame: JsonObject) -> Sequence[ProviderEvent]:
        if "method" not in frame:
            return tuple(self._response(frame))
        thread_id = text_at(frame, "params", "threadId")
        if thread_id not in (None, self.thread_id) and thread_id not in self._children:
            self._waiting.setdefault(str(thread_id), []).append(frame)
            return ()
        self._check_turn(frame["method"], text_at(frame, "params", "turnId"))
        return tuple(self._request(frame) if "id" in frame else self._notification(frame))

    def _check_turn(self, method: str, turn_id: str | None) -> None:
        # The usage of a thread that is taken up again is that of a turn before.
        if turn_id not in (None, *self._turns) and method != USAGE:
            raise ProviderError(f"{method} of the turn {turn_id}, which never started")

    def _response(self, frame: JsonObject) -> Iterator[ProviderEvent]:
        asked = self._asked.pop(frame.get("id"), None)
        if asked is None:
            raise ProviderError(f"codex answered a request {frame.get('id')!r} that was never made")
        method, params = asked
        error = text_at(frame, "error", "message") or ("refused" if "error" in frame else None)
        match method:
            case "thread/start" | "thread/resume" if error is None:
                self.thread_id = text_at(frame, "result", "thread", "id") or ""
                yield ThreadOpened(self.thread_id, method == "thread/resume")
                yield from self._released(self.thread_id)
            case "turn/start" if error is not None:
                yield TurnEnded("", "failed", error)
            case "turn/start":
                turn_id = text_at(frame, "result", "turn", "id")
                self._promised = None if turn_id in self._turns else turn_id
            case "turn/steer" if error is not None:
                yield SteerRejected(text_of_input(params), error)
            case "turn/steer":
                self._check_turn(method, text_at(frame, "result", "turnId"))
            case "thread/rollback" | "thread/revert":
                yield ThreadRolledBack(params.get("numTurns"), error)

    def _request(self, frame: JsonObject) -> Iterator[ProviderEvent]:
        params = object_at(frame, "params")
        request_id, item_id = str(frame["id"]), text_at(params, "itemId")
        detail = {key: value for key, value in params.items() if key not in ("threadId", "turnId", "itemId")}
        if frame["method"] in APPROVALS:
            offered = list_at(params, "availableDecisions") or tuple(DECISIONS)
            options = tuple(Option(name, DECISIONS[name]) for name in offered if name in tuple(DECISIONS))
            yield RequestOpened(request_id, "approval", options, detail, item_id)
        elif frame["method"] in QUESTIONS:
            questions = [question_of(question) for question in list_at(params, "questions")]
            yield RequestOpened(request_id, "question", (), {"questions": questions}, item_id)

    def _notification(self, frame: JsonObject) -> Iterator[ProviderEvent]:
        method, params = frame["method"], object_at(frame, "params")
        child = self._children.get(text_at(params, "threadId") or "")
        match method:
            case "turn/started":
                yield from self._turn_started(params, child)
            case "turn/completed":
                yield from self._turn_completed(params, child)
            case "item/started" | "item/completed":
                yield from self._item(method == "item/completed", params, child)
            case "turn/plan/updated" if child is None:
                yield PlanUpdated(tuple(step_of(step) for step in list_at(params, "plan")))
            case _ if method == USAGE:
                if child is None and text_at(params, "turnId") in self._turns:
                    yield UsageUpdated(object_at(params, "tokenUsage", "total"))
            case "serverRequest/resolved":
                request_id = params.get("requestId")
                yield RequestResolved(str(request_id), self._decisions.pop(request_id, "cancelled"))
            case "error":
                self._errors += 1
                status = "will_retry" if params.get("willRetry") else "fatal"
                message = text_at(params, "error", "message")
                item = Item(f"error-{self._errors}", "error", child, None, message, status)
                yield from (ItemStarted(item), ItemCompleted(item))
            case _ if method in DELTAS:
                item_id = text_at(params, "itemId") or ""
                if item_id not in self._seen:
                    self._seen.add(item_id)
                    yield ItemStarted(Item(item_id, DELTAS[method], child))
                yield ItemDelta(item_id, text_at(params, "delta") or "")

    def _turn_started(self, params: JsonObject, child: str | None) -> Iterator[ProviderEvent]:
        turn_id = text_at(params, "turn", "id") or ""
        self._turns.add(turn_id)
        if child is None:
            promised, self._promised = self._promised, None
            if promised not in (None, turn_id):
                raise ProviderError(f"the turn {turn_id} started where {promised} was to start")
            yield TurnStarted(turn_id)
        elif child in self._ended_children:
            self._ended_children.discard(child)
            yield SubagentStarted(child, text_at(params, "threadId") or "")

    def _turn_completed(self, params: JsonObject, child: str | None) -> Iterator[ProviderEvent]:
        turn_id = text_at(params, "turn", "id") or ""
        self._check_turn("turn/completed", turn_id)
        status = STATUSES.get(text_at(params, "turn", "status") or "", "failed")
        if child is None:
            yield TurnEnded(turn_id, status, text_at(params, "turn", "error", "message"))
        else:
            yield from self._child_ended(child, status)

    def _child_ended(self, child: str, status: TurnStatus) -> Iterator[ProviderEvent]:
        if child not in self._ended_children:
            self._ended_children.add(child)
            yield SubagentEnded(child, status)

    def _item(self, is_completed: bool, params: JsonObject, child: str | None) -> Iterator[ProviderEvent]:
        raw = object_at(params, "item")
        if raw.get("type") == "subAgentActivity":
            yield from self._activity(raw, child)
            return
        item = item_of(raw, child)
        is_new = item.item_id not in self._seen
        self._seen.add(item.item_id)
        if is_new:
            yield ItemStarted(item)
        elif item.kind == "subagent" or not is_completed:
            yield ItemUpdated(item)
        if item.kind == "subagent":
            # The call that spawned it is over, which says nothing of the child.
            for child_thread_id in list_at(raw, "receiverThreadIds"):
                yield from self._adopted(str(child_thread_id), item.item_id, child)
        elif is_completed:
            yield ItemCompleted(item)

    def _activity(self, raw: JsonObject, parent: str | None) -> Iterator[ProviderEvent]:
        child_thread_id = text_at(raw, "agentThreadId") or ""
        kind = text_at(raw, "kind")
        if kind == "started" and child_thread_id not in self._children:
            item = item_of(raw, parent)
            self._seen.add(item.item_id)
            yield ItemStarted(item)
            yield from self._adopted(child_thread_id, item.item_id, parent)
        elif kind in STATUSES and (child := self._children.get(child_thread_id)) is not None:
            yield from self._child_ended(child, STATUSES[str(kind)])

    def _adopted(self, thread_id: str, item_id: str, parent: str | None) -> Iterator[ProviderEvent]:
        if thread_id not in self._children:
            self._children[thread_id] = item_id
            yield SubagentStarted(item_id, thread_id, parent)
            yield from self._released(thread_id)

    def _released(self, thread_id: str) -> Iterator[ProviderEvent]:
        for frame in self._waiting.pop(thread_id, ()):
            yield from self.received(frame)


def text_of_input(params: JsonObject) -> str:
    return "\n".join(text for part in list_at(params, "input") if (text := text_at(part, "text")))


def question_of(raw: object) -> JsonObject:
    options = [
        {"label": text_at(option, "label") or "", "description": text_at(option, "description") or ""}
        for option in list_at(raw, "options")
    ]
    names = ("id", "header", "question")
    return {name: text_at(raw, name) or "" for name in names} | {"options": options}


def step_of(raw: object) -> PlanStep:
    return PlanStep(text_at(raw, "step") or "", PLAN_STATUSES.get(text_at(raw, "status") or "", "pending"))
