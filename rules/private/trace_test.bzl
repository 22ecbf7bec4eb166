"""trace_regression_test and trace_snapshot_test: an agent over recorded traces, one verdict over all of them."""

load("@rules_python//python:py_info.bzl", "PyInfo")
load(":launch.bzl", "label_text", "launch", "refuse_flaky", "rlocation_path", "write_manifest")
load(":replay_test.bzl", "with_tag")
load(":trace_layout.bzl", "LIVE_TAGS", "SOURCES", "STRATEGIES", "UNKNOWN", "is_live", "trace_place")

TraceReplayInfo = provider(
    doc = "What replays the traces of a test.",
    fields = {
        "manifest": "File: the manifest of the test.",
        "runfiles": "runfiles: everything that the manifest names, and the manifest.",
    },
)

_ATTRS = {
    "agent": attr.label(
        doc = "The agent under test: any executable target, or an executable file, that speaks the agent protocol.",
        mandatory = True,
        executable = True,
        allow_files = True,
        cfg = "target",
    ),
    "agent_args": attr.string_list(
        doc = "Arguments of the agent. `{cwd}`, `{home}`, `{tmp}` and `{runfiles}` are filled in when it runs; " +
              "`$(location LABEL)` is a file of `data`.",
    ),
    "agent_env": attr.string_dict(
        doc = "Environment of the agent; expanded like `agent_args`. Nothing of the caller's environment leaks in.",
    ),
    "all_runs": attr.bool(
        doc = "Whether every run is made of a trace whose outcome is decided before.",
    ),
    "channel": attr.string(
        doc = "Where the agent speaks the protocol: its stdin and stdout, or the socket that AGENT_REPLAY_TRACE names.",
        default = "stdio",
        values = ["socket", "stdio"],
    ),
    "data": attr.label_list(
        doc = "Files that the agent needs besides its own runfiles.",
        allow_files = True,
    ),
    "env_inherit_live": attr.string_list(
        doc = "Variables of the caller that a live agent gets, such as the one that holds its key.",
    ),
    "exit_seconds": attr.int(
        doc = "How long an agent may take to exit after its last run.",
        default = 5,
    ),
    "jobs": attr.int(
        doc = "How many agents run at once.",
        default = 1,
    ),
    "meaning": attr.label_list(
        doc = "The Python package of the text model, for comparisons by meaning.",
        providers = [PyInfo],
    ),
    "model": attr.string(
        doc = "\"served\" or \"live\"; empty for what the strategy says.",
        values = SOURCES,
    ),
    "model_api": attr.string(
        doc = "The wire format that the agent speaks to its model, such as \"openai_chat\": then `{gateway_url}` in its " +
              "arguments and environment is where it finds the model. Empty for an agent that asks over the protocol.",
    ),
    "parts": attr.label_list(
        doc = "Replays that were made by actions; then the test judges them and replays nothing.",
        allow_files = True,
    ),
    "previous": attr.label(
        doc = "The report.json of an earlier run that this one is compared with.",
        allow_single_file = True,
    ),
    "run_seconds": attr.int(
        doc = "How long one run may take.",
        default = 60,
    ),
    "runs": attr.int(
        doc = "How often each trace is run; 0 for what the strategy says.",
    ),
    "srcs": attr.label_list(
        doc = "The traces with their blobs, the snapshots, and the workspace, each at its place in the package.",
        allow_files = True,
    ),
    "strategy": attr.string(
        doc = "How the traces are replayed.",
        mandatory = True,
        values = sorted(STRATEGIES),
    ),
    "suite": attr.label(
        doc = "What the suite expects.",
        allow_single_file = True,
    ),
    "threshold": attr.string(
        doc = "The least share of traces that must pass, as JSON; empty for what the suite says.",
    ),
    "tools": attr.string(
        doc = "\"served\" or \"live\"; empty for what the strategy says.",
        values = SOURCES,
    ),
    "unknown": attr.string(
        doc = "What a tool call gets that the trace does not hold; empty for what the strategy says.",
        values = UNKNOWN,
    ),
    "runner": attr.label(
        doc = "The program that replays and judges.",
        mandatory = True,
        executable = True,
        cfg = "target",
    ),
    "upstream": attr.string(
        doc = "Where live calls of a `model_api` go; empty for the provider's own URL.",
    ),
}

def _expand(ctx, text):
    """`$(location x)` becomes `{runfiles}/RLOC`: the agent's cwd is elsewhere, so the runner makes it an absolute path."""
    return ctx.expand_location(text.replace("$(location ", "{runfiles}/$(rlocationpath "), ctx.attr.data)

def _files(ctx):
    """Key of the manifest to a dict of names and rlocation paths."""
    files = {"traces": {}, "snapshots": {}, "workspace": {}}
    for target in ctx.attr.srcs:
        for file in target[DefaultInfo].files.to_list():
            key, name = trace_place(target.label.name)
            if not key:
                fail("{}: attribute \"srcs\" has {}, which lies neither in traces/, snapshots/ nor workspace/; move it".format(
                    label_text(ctx.label),
                    repr(target.label.name),
                ))
            files[key][name] = rlocation_path(ctx, file)
    return files

def _trace_test_impl(ctx):
    if hasattr(ctx.attr, "flaky"):
        refuse_flaky(ctx)
    suite, previous = ctx.file.suite, ctx.file.previous
    label = label_text(ctx.label).removesuffix(".replay")
    manifest = write_manifest(ctx, {
        "version": 1,
        "kind": "trace",
        "label": label,
        "directory": ctx.label.package,
        "agent": {
            "name": ctx.attr.agent.label.name,
            "binary": rlocation_path(ctx, ctx.executable.agent),
            "args": [_expand(ctx, text) for text in ctx.attr.agent_args],
            "env": {key: _expand(ctx, text) for key, text in ctx.attr.agent_env.items()},
            "channel": ctx.attr.channel,
            "inherited": ctx.attr.env_inherit_live,
            "model_api": ctx.attr.model_api,
            "upstream": ctx.attr.upstream,
        },
        "strategy": ctx.attr.strategy,
        "model": ctx.attr.model,
        "tools": ctx.attr.tools,
        "unknown": ctx.attr.unknown,
        "runs": ctx.attr.runs,
        "suite": rlocation_path(ctx, suite) if suite else "",
        "threshold": json.decode(ctx.attr.threshold) if ctx.attr.threshold else None,
        "previous": rlocation_path(ctx, previous) if previous else "",
        "parts": [rlocation_path(ctx, file) for file in ctx.files.parts],
        "meaning": [path for target in ctx.attr.meaning for path in target[PyInfo].imports.to_list()],
        "jobs": ctx.attr.jobs,
        "all_runs": ctx.attr.all_runs,
        "run_seconds": ctx.attr.run_seconds,
        "exit_seconds": ctx.attr.exit_seconds,
    } | _files(ctx))
    targets = [ctx.attr.agent] + ctx.attr.data + ctx.attr.meaning
    runfiles = ctx.runfiles(
        files = ctx.files.srcs + ctx.files.data + ctx.files.parts + [manifest, ctx.executable.agent] +
                ([suite] if suite else []) + ([previous] if previous else []),
    ).merge_all(
        [target[DefaultInfo].default_runfiles for target in targets] +
        [target[DefaultInfo].data_runfiles for target in targets],
    )
    return launch(ctx, ctx.attr.runner, manifest, runfiles) + [
        TraceReplayInfo(manifest = manifest, runfiles = runfiles),
        coverage_common.instrumented_files_info(ctx, dependency_attributes = ["agent", "data"]),
    ]

_trace_test = rule(
    implementation = _trace_test_impl,
    attrs = _ATTRS,
    doc = "Replays traces against an agent and judges what it did.",
    test = True,
)

_trace_replay = rule(
    implementation = _trace_test_impl,
    attrs = _ATTRS,
    doc = "The program that replays the parts of a test.",
    executable = True,
)

def _trace_part_impl(ctx):
    directory = ctx.actions.declare_directory(ctx.label.name)
    ctx.actions.run(
        outputs = [directory],
        executable = ctx.attr.replay[DefaultInfo].files_to_run,
        arguments = ["--part=" + directory.path, "--slice={}/{}".format(ctx.attr.number, ctx.attr.of)],
        env = {"AGENT_REPLAY_MANIFEST": rlocation_path(ctx, ctx.attr.replay[TraceReplayInfo].manifest)},
        execution_requirements = {"block-network": "1"},
        mnemonic = "TraceReplay",
        progress_message = "Replaying traces, part {} of {}, for {}".format(ctx.attr.number + 1, ctx.attr.of, ctx.attr.replay.label),
    )
    return [DefaultInfo(files = depset([directory]), runfiles = ctx.runfiles([directory]))]

_trace_part = rule(
    implementation = _trace_part_impl,
    attrs = {
        "number": attr.int(
            doc = "Which part, from 0.",
            mandatory = True,
        ),
        "of": attr.int(
            doc = "Of how many.",
            mandatory = True,
        ),
        "replay": attr.label(
            doc = "What replays.",
            mandatory = True,
            executable = True,
            # As the test has it, or the verdict would be about another agent.
            cfg = "target",
            providers = [TraceReplayInfo],
        ),
    },
    doc = "The replay of every `of`th trace as an action: what the agent did, and no verdict.",
)

def _trace_command_impl(ctx):
    info = ctx.attr.test[TraceReplayInfo]
    return launch(ctx, ctx.attr.program, info.manifest, info.runfiles)

_trace_command = rule(
    implementation = _trace_command_impl,
    attrs = {
        "program": attr.label(
            doc = "The program of the command.",
            mandatory = True,
            executable = True,
            cfg = "target",
        ),
        "test": attr.label(
            doc = "The test whose traces it is about.",
            mandatory = True,
            providers = [TraceReplayInfo],
        ),
    },
    doc = "A command over the traces of a test.",
    executable = True,
)

def _sources(traces, workspace, snapshots):
    return [":" + path.removeprefix(":") for path in traces + workspace + snapshots]

def _as_json(label, threshold):
    if threshold == None:
        return ""
    if type(threshold) not in ["int", "float"] or threshold < 0 or threshold > 1:
        fail("{}: attribute \"threshold\" is {}; write a share between 0 and 1, such as 0.9".format(label, repr(threshold)))
    return json.encode(threshold)

def _tags(label, tags, live, hermetic_live, env_inherit_live):
    if not live:
        if env_inherit_live or hermetic_live:
            fail("{}: nothing in it is live; remove \"env_inherit_live\" and \"hermetic_live\"".format(label))
        return with_tag(tags, "block-network")
    if hermetic_live:
        if type(hermetic_live) != "string" or env_inherit_live:
            fail("{}: attribute \"hermetic_live\" is the reason why what is live needs no network, and then it inherits no variable".format(label))
        return with_tag(tags, "block-network")
    for tag in LIVE_TAGS:
        tags = with_tag(tags, tag)
    return tags

def trace_regression_test(
        name,
        agent,
        traces,
        suite = None,
        strategy = "exact",
        threshold = None,
        parts = 1,
        workspace = [],
        snapshots = [],
        model = "",
        tools = "",
        unknown = "",
        hermetic_live = "",
        **kwargs):
    """Runs an agent over recorded traces and judges all of them together.

    Strategies: `exact` serves model and tools from the trace and compares call by call; `mock_tools` serves tools by name
    and input, the model live; `semantic` the same, compared by meaning; `consensus` several runs a trace; `snapshot`
    compares states; `full` everything live. A test in which something is live is tagged `manual`, `external`,
    `requires-network` and kept from all caches, unless `hermetic_live` says why it needs none of that.

    `bazel run :<name>.record -- TRACE…` runs the agent live and writes its traces; `bazel run :<name>.accept -- TRACE…` takes
    what the newest run of the test left.

    A verdict is over all traces, and a shard of Bazel's sees only its own. So `shard_count` is refused: with `parts = N`
    the replays are N actions, each cached on its own, and the one test judges what they left.

    Args:
      name: the target's name.
      agent: label of an executable that speaks the agent protocol; py_trace_agent makes one of a Python function.
      traces: files in traces/ of this package, most often glob(["traces/**"]).
      suite: the suite.json; None for a suite in which every trace must pass.
      strategy: how the traces are replayed.
      threshold: the least share of traces that must pass, in place of the suite's.
      parts: by how many actions the traces are replayed; 1 for in the test itself.
      workspace: files in workspace/ of this package, which the agent finds in its directory.
      snapshots: files in snapshots/ of this package, for the strategy snapshot.
      model: "served" or "live", in place of what the strategy says.
      tools: the same for tools.
      unknown: "fail", "nearest" or "live": what a tool call gets that the trace does not hold.
      hermetic_live: the reason why what is live needs no network, such as "the model is a function of the agent"; then
        the test is an ordinary one.
      **kwargs: `args`, `env`, `data` and `channel` of the agent, `env_inherit_live`, `runs`, `all_runs`, `jobs`, `previous`, `meaning`, `model_api`,
        `upstream`, `run_seconds`, `exit_seconds`, and the common attributes of tests, without `flaky` and `shard_count`.
    """
    label = "//{}:{}".format(native.package_name(), name)
    if strategy not in STRATEGIES:
        fail("{}: attribute \"strategy\" is {}; write one of {}".format(label, repr(strategy), ", ".join(sorted(STRATEGIES))))
    if kwargs.pop("shard_count", None):
        fail("{}: attribute \"shard_count\": a shard sees only its own traces, and the verdict is over all; write parts = N".format(label))
    live = is_live(strategy, model, tools, unknown)
    if parts < 1 or (parts > 1 and live and not hermetic_live):
        fail("{}: attribute \"parts\" is {}, but an action is cached and a live run must not be; write jobs = {}".format(label, parts, parts))
    if kwargs.pop("flaky", False):
        fail("{}: attribute \"flaky\" is True: a test that is run until it passes has no verdict; write runs = N".format(label))
    env_inherit_live = kwargs.pop("env_inherit_live", [])
    model_api = kwargs.pop("model_api", None)
    tags = _tags(label, kwargs.pop("tags", None), live, hermetic_live, env_inherit_live)
    attributes = {
        "agent": agent,
        "agent_args": kwargs.pop("args", None) or [],
        "agent_env": kwargs.pop("env", None) or {},
        "all_runs": kwargs.pop("all_runs", None),
        "channel": kwargs.pop("channel", None),
        "data": kwargs.pop("data", None) or [],
        "env_inherit_live": env_inherit_live,
        "exit_seconds": kwargs.pop("exit_seconds", None),
        "jobs": kwargs.pop("jobs", None),
        "model": model,
        "model_api": model_api,
        "run_seconds": kwargs.pop("run_seconds", None),
        "runner": Label("//replay/runner:trace_live" if live and model_api else "//replay/runner:trace"),
        "runs": kwargs.pop("runs", None),
        "srcs": _sources(traces, workspace, snapshots),
        "strategy": strategy,
        "tools": tools,
        "unknown": unknown,
        "upstream": kwargs.pop("upstream", None),
    }
    made = []

    # Which runs of several are made, the suite decides; a trace that runs once is of any suite, and so is its action.
    judging = {"meaning": kwargs.pop("meaning", None) or [], "suite": suite}
    if parts > 1:
        shared = {key: kwargs[key] for key in ["target_compatible_with", "restricted_to"] if key in kwargs}
        _trace_replay(
            name = name + ".replay",
            testonly = True,
            tags = ["manual"],
            visibility = ["//visibility:private"],
            **(attributes | shared | (judging if strategy == "consensus" or attributes["runs"] not in [None, 0, 1] else {}))
        )
        for number in range(parts):
            made.append("{}.part_{}".format(name, number))
            _trace_part(
                name = made[-1],
                testonly = True,
                number = number,
                of = parts,
                replay = name + ".replay",
                tags = ["manual"],
                visibility = kwargs.get("visibility"),
                **shared
            )
    _trace_test(
        name = name,
        parts = [":" + part for part in made],
        previous = kwargs.pop("previous", None),
        size = kwargs.pop("size", None) or "medium",
        tags = tags,
        threshold = _as_json(label, threshold),
        **(attributes | judging | kwargs)
    )
    for command, own_tags in {"accept": [], "record": ["no-remote-cache", "requires-network"]}.items():
        _trace_command(
            name = "{}.{}".format(name, command),
            testonly = True,
            program = Label("//replay/runner:trace_" + command),
            test = name,
            tags = ["manual"] + own_tags,
            visibility = kwargs.get("visibility"),
            **{key: kwargs[key] for key in ["target_compatible_with", "restricted_to"] if key in kwargs}
        )

def trace_snapshot_test(name, agent, traces, snapshots, **kwargs):
    """Runs an agent over recorded traces and compares the states that it says to hold with its snapshots.

    Model and tools are served from the trace, unless `model` or `tools` says otherwise.

    Args:
      name: the target's name.
      agent: label of an executable that speaks the agent protocol.
      traces: files in traces/ of this package.
      snapshots: files in snapshots/ of this package, one for each trace.
      **kwargs: as of trace_regression_test, without `strategy`.
    """
    trace_regression_test(
        name = name,
        agent = agent,
        traces = traces,
        snapshots = snapshots,
        strategy = "snapshot",
        **kwargs
    )
