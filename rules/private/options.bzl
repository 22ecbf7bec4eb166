"""replay_options: what a suite lets pass, each with its reason."""

_REASONS = ["arrival_order", "exit_status", "forced_exit", "leftovers", "merge_text", "parallel_tools", "workspace_modes"]

def replay_options(
        floating = {},
        merge_text = "",
        parallel_tools = "",
        accepted_deviations = {},
        ignored = {},
        workspace_modes = "",
        arrival_order = "",
        leftovers = "",
        forced_exit = "",
        exit_status = "",
        wait_seconds = None,
        exit_seconds = None):
    """What a suite changes about how its runs are judged, for `options` of a suite or test. Nothing of it is a default.

    Args:
      floating: kind of notification whose place is not part of the contract ("available_commands_update") to reason.
      merge_text: why adjacent text chunks of one message are merged before comparing.
      parallel_tools: why updates of tool calls that run at once may come in any order among each other; those of one
        call keep theirs.
      accepted_deviations: known breaches of the ACP schema: method to a dict of JSON path (as the failing test prints
        it; `[*]` is any index, a final `.*` whatever lies below) to reason.
      ignored: what is not compared: surface ("stdout", "session", "requests", "workspace") to a dict of JSON path (as the
        failing test prints it; `[*]` is any index, a final `.*` each value below) to reason. At such a path a value has
        to be there, and may be any. After the surface and a blank may stand which lines are meant: a method, the kind of
        a session/update, the type of an event, of the workspace the file ("workspace out/build.log"); only then may the
        path be "$", the whole line. What differs in nothing else keeps its bytes in every command.
      workspace_modes: why it is compared which files of the workspace are executable, all of a mode that git keeps. They
        stand in workspace.executable.txt, a path a line, sorted: to Bazel, the mode of a fixture is no content.
      arrival_order: why lanes that no one can tell apart may be bound in the order of arrival.
      leftovers: why processes that outlive the agent are only a warning.
      forced_exit: why an agent that has to be ended by a signal is only a warning.
      exit_status: why a non-zero exit status is only a warning.
      wait_seconds: how long the driver waits for one thing, in whole seconds.
      exit_seconds: how long the agent may take to exit after its stdin closes, in whole seconds.

    Returns:
      an opaque value.
    """
    values = {
        "floating": _with_reasons("floating", "kind", floating),
        "accepted_deviations": [
            dict(entry, method = method)
            for method, reasons in accepted_deviations.items()
            for entry in _with_reasons("accepted_deviations", "path", reasons)
        ],
        "ignored": [
            _with_kind(entry, where)
            for where, reasons in _dict("ignored", "surface", ignored).items()
            for entry in _with_reasons("ignored", "path", reasons)
        ],
        "merge_text": merge_text,
        "parallel_tools": parallel_tools,
        "arrival_order": arrival_order,
        "leftovers": leftovers,
        "forced_exit": forced_exit,
        "exit_status": exit_status,
        "workspace_modes": workspace_modes,
    }
    for name in _REASONS:
        if type(values[name]) != "string":
            _refuse(name, values[name], "the reason as a string")
    for name, seconds in [("wait_seconds", wait_seconds), ("exit_seconds", exit_seconds)]:
        if seconds == None:
            continue
        if type(seconds) != "int" or seconds < 1:
            _refuse(name, seconds, "whole seconds, at least 1")
        values[name] = seconds
    return struct(**{name: value for name, value in values.items() if value})

def _with_kind(entry, where):
    surface, _, kind = where.partition(" ")
    return dict(entry, surface = surface, **({"kind": kind} if kind else {}))

def _dict(name, key, value):
    if type(value) != "dict":
        _refuse(name, value, "a dict of {} to a dict".format(key))
    return value

def _with_reasons(name, key, reasons):
    if type(reasons) != "dict":
        _refuse(name, reasons, "a dict of {} to reason".format(key))
    for reason in reasons.values():
        if type(reason) != "string" or not reason.strip():
            _refuse(name, reasons, "a reason for each {}".format(key))
    return [{key: what, "reason": reason} for what, reason in reasons.items()]

def _refuse(name, got, want):
    fail("//{}: replay_options: attribute \"{}\" is {}; write {}".format(native.package_name(), name, repr(got), want))
