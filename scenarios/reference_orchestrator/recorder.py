"""What happens inside a turn, as stored events: nodes of the execution tree, plans, usage, requests.

One recorder a session, since a provider's ids mean something only there. When a turn begins and ends is the lane's work.
"""

from scenarios.reference_orchestrator import events as e
from scenarios.reference_orchestrator import providers as p
from scenarios.reference_orchestrator.projection import Run, Thread
from scenarios.reference_orchestrator.services import Ids

__all__ = ["InnerEvent", "Recorder"]

InnerEvent = (
    p.ItemStarted
    | p.ItemUpdated
    | p.ItemDelta
    | p.ItemCompleted
    | p.PlanUpdated
    | p.RequestOpened
    | p.RequestResolved
    | p.SubagentStarted
    | p.SubagentEnded
    | p.UsageUpdated
)


class Recorder:
    def __init__(self, thread: Thread, ids: Ids) -> None:
        self._thread = thread
        self._ids = ids
        self._nodes: dict[str, str] = {}
        self._requests: dict[str, str] = {}

    def node_of(self, item_id: str) -> str | None:
        return self._nodes.get(item_id)

    def events_of(self, event: InnerEvent, run: Run) -> list[e.Event]:
        """`run` is the active one, or the last if none is: what comes late belongs to what it came after."""
        match event:
            case p.ItemStarted():
                return self._item_started(event.item, run)
            case p.ItemUpdated() | p.ItemDelta() | p.ItemCompleted():
                return self._item_changed(event)
            case p.PlanUpdated():
                return [e.PlanUpdated(run.run_id, [step._asdict() for step in event.steps])]
            case p.UsageUpdated():
                return [e.UsageUpdated(run.run_id, dict(event.usage))]
            case p.RequestOpened():
                return self._request_opened(event, run)
            case p.RequestResolved():
                return self._request_resolved(event)
            case p.SubagentStarted() | p.SubagentEnded():
                return self._subagent(event)

    def _item_started(self, item: p.Item, run: Run) -> list[e.Event]:
        warnings: list[e.Event] = []
        attempt_id = run.attempts[-1].attempt_id
        parent_id, run_id = attempt_id, run.run_id
        if item.parent_item_id is not None:
            found = self._nodes.get(item.parent_item_id)
            if found is None:
                warnings.append(
                    e.ProviderWarning(f"item {item.item_id} has an unknown parent {item.parent_item_id}")
                )
            else:
                parent_id, run_id = found, self._thread.nodes[found].run_id
        node_id = self._nodes[item.item_id] = self._ids.new("node")
        detail = None if item.detail is None else dict(item.detail)
        started = e.ItemStarted(
            node_id, parent_id, run_id, item.item_id, item.kind, item.title, item.text, item.status, detail
        )
        return [*warnings, started]

    def _item_changed(self, event: p.ItemUpdated | p.ItemDelta | p.ItemCompleted) -> list[e.Event]:
        item_id = event.item_id if isinstance(event, p.ItemDelta) else event.item.item_id
        node_id = self._nodes.get(item_id)
        if node_id is None:
            return [e.ProviderWarning(f"item {item_id} was never started")]
        if isinstance(event, p.ItemDelta):
            return [e.ItemDelta(node_id, event.text)]
        item = event.item
        detail = None if item.detail is None else dict(item.detail)
        kind = e.ItemUpdated if isinstance(event, p.ItemUpdated) else e.ItemCompleted
        return [kind(node_id, item.title, item.text, item.status, detail)]

    def _request_opened(self, event: p.RequestOpened, run: Run) -> list[e.Event]:
        request_id = self._requests[event.request_id] = self._ids.new("request")
        return [
            e.RequestOpened(
                request_id,
                event.request_id,
                run.run_id,
                self._nodes.get(event.item_id or ""),
                event.kind,
                [option._asdict() for option in event.options],
                dict(event.detail),
            )
        ]

    def _request_resolved(self, event: p.RequestResolved) -> list[e.Event]:
        request_id = self._requests.pop(event.request_id, None)
        if request_id is None:
            return [e.ProviderWarning(f"request {event.request_id} was never opened")]
        if self._thread.requests[request_id].status == "resolved":
            return []
        return [e.RequestResolved(request_id, event.decision)]

    def _subagent(self, event: p.SubagentStarted | p.SubagentEnded) -> list[e.Event]:
        node_id = self._nodes.get(event.item_id)
        if node_id is None:
            return [e.ProviderWarning(f"subagent {event.item_id} was never started")]
        if isinstance(event, p.SubagentStarted):
            return [e.SubagentStarted(node_id, event.child_thread_id)]
        return [e.SubagentEnded(node_id, event.status)]
