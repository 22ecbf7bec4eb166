"""Whether a command may be carried out, and what is known at once if so. Pure: the state in, events or a reason out.

What takes time (a provider, git) is not done here; the lane of the thread does it after the events are stored.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple, get_args, get_type_hints

from scenarios.reference_orchestrator import commands as c
from scenarios.reference_orchestrator import events as e
from scenarios.reference_orchestrator.adapters.base import Capabilities, TurnOptions
from scenarios.reference_orchestrator.projection import Request, Run, Thread
from scenarios.reference_orchestrator.services import Ids

__all__ = ["Accepted", "Context", "Rejected", "decide"]


class Context(NamedTuple):
    """`capabilities` of a configured provider by its name, None for a name that is not configured."""

    capabilities: Callable[[str], Capabilities | None]
    ids: Ids


class Accepted(NamedTuple):
    events: tuple[e.Event, ...]
    created_id: str = ""


class Rejected(NamedTuple):
    reason: str


def decide(thread: Thread | None, command: c.Command, context: Context) -> Accepted | Rejected:
    if isinstance(command, c.CreateThread):
        return create_thread(command, context)
    if thread is None:
        return Rejected(f"there is no thread {command.thread_id!r}")
    match command:
        case c.StartTurn():
            if (reason := busy(thread)) is not None:
                return Rejected(reason)
            return create_run(thread, command, context)
        case c.QueueMessage():
            return create_run(thread, command, context)
        case c.Steer():
            return steer(thread, command, context)
        case c.Interrupt():
            run = current_run(thread)
            if run is None:
                return Rejected("no run is active")
            return Accepted((e.InterruptRequested(run.run_id),))
        case c.AnswerRequest():
            return answer(thread, command)
        case c.RollbackThread():
            return roll_back(thread, command, context)
        case c.SwitchProvider():
            return switch_provider(thread, command, context)
        case c.StopSession():
            has_work = thread.session() is not None or thread.active_run() is not None
            return Accepted(()) if has_work else Rejected("no session is open")


def create_thread(command: c.CreateThread, context: Context) -> Accepted | Rejected:
    if context.capabilities(command.provider) is None:
        return Rejected(f"there is no provider {command.provider!r}")
    if not command.workspace.startswith("/"):
        return Rejected("the workspace is not an absolute path")
    if (reason := wrong_options(command.options)) is not None:
        return Rejected(reason)
    thread_id = context.ids.new("thread")
    event = e.ThreadCreated(command.provider, command.workspace, command.title, dict(command.options))
    return Accepted((event,), thread_id)


def create_run(
    thread: Thread, command: c.StartTurn | c.QueueMessage, context: Context
) -> Accepted | Rejected:
    if not command.text:
        return Rejected("the message is empty")
    if (reason := wrong_options(command.options)) is not None:
        return Rejected(reason)
    run_id = context.ids.new("run")
    ordinal = len(thread.runs) + 1
    options = {**thread.options, **command.options}
    return Accepted((e.RunCreated(run_id, ordinal, command.text, options),), run_id)


def steer(thread: Thread, command: c.Steer, context: Context) -> Accepted | Rejected:
    run = current_run(thread)
    if run is None:
        return Rejected("no run is active")
    if run.is_interrupt_requested:
        return Rejected("the run is being interrupted")
    capabilities = context.capabilities(thread.provider)
    if capabilities is not None and capabilities.steer:
        return Accepted((e.SteerRequested(run.run_id, command.text, "native"),))
    return Accepted((e.SteerRequested(run.run_id, command.text, "restart"),))


def answer(thread: Thread, command: c.AnswerRequest) -> Accepted | Rejected:
    request = thread.requests.get(command.request_id)
    if request is None or request.status != "open":
        return Rejected(f"request {command.request_id!r} is not open")
    answers = {name: [str(text) for text in chosen] for name, chosen in command.answers.items()}
    if request.kind == "question":
        asked = [str(question["id"]) for question in request.detail.get("questions", ())]
        missing = [name for name in asked if name not in answers]
        if missing:
            return Rejected(f"question {missing[0]!r} has no answer")
        return Accepted((e.RequestAnswered(request.request_id, "", answers),))
    option_id = option_of(request, command.decision)
    if option_id is None:
        offered = ", ".join(option["kind"] for option in request.options)
        return Rejected(f"decision {command.decision!r} is none of {offered}, cancelled")
    return Accepted((e.RequestAnswered(request.request_id, option_id, {}),))


def option_of(request: Request, decision: str) -> str | None:
    """The option that is meant, by its id or by its kind; "" to cancel."""
    for option in request.options:
        if option["option_id"] == decision:
            return decision
    for option in request.options:
        if option["kind"] == decision:
            return str(option["option_id"])
    return "" if decision == "cancelled" else None


def roll_back(thread: Thread, command: c.RollbackThread, context: Context) -> Accepted | Rejected:
    if (reason := busy(thread)) is not None:
        return Rejected(reason)
    standing = thread.standing_runs()
    if not 1 <= command.turns <= len(standing):
        return Rejected(f"{command.turns} runs cannot be taken back, {len(standing)} stand")
    runs = standing[-command.turns :]
    for run in runs:
        if any(attempt.provider != thread.provider for attempt in run.attempts):
            return Rejected(f"run {run.ordinal} was another provider's: switch back first")
    capabilities = context.capabilities(thread.provider)
    if capabilities is None or not capabilities.rollback:
        return Rejected(f"{thread.provider} cannot take back turns")
    rollback_id = context.ids.new("rollback")
    return Accepted((e.RollbackRequested(rollback_id, [run.run_id for run in runs]),), rollback_id)


def switch_provider(thread: Thread, command: c.SwitchProvider, context: Context) -> Accepted | Rejected:
    if (reason := busy(thread)) is not None:
        return Rejected(reason)
    if context.capabilities(command.provider) is None:
        return Rejected(f"there is no provider {command.provider!r}")
    if command.provider == thread.provider:
        return Rejected(f"the provider is {thread.provider} already")
    return Accepted((e.ProviderSwitched(command.provider, thread.provider),))


def busy(thread: Thread) -> str | None:
    run = current_run(thread)
    if run is not None:
        return f"run {run.ordinal} is {run.status}"
    return None if thread.rollback is None else "a rollback is under way"


def current_run(thread: Thread) -> Run | None:
    """The run that is active, or about to be."""
    return thread.active_run() or thread.next_run()


def wrong_options(options: Mapping[str, str]) -> str | None:
    hints = get_type_hints(TurnOptions)
    for name, value in options.items():
        if name not in hints:
            return f"there is no option {name!r}"
        if value not in get_args(hints[name]):
            return f"option {name} is none of {', '.join(get_args(hints[name]))}"
    return None
