"""transport_replay_test: an orchestrator with its providers replaced by transcripts, as a hermetic test."""

load(":launch.bzl", "label_text", "launch", "refuse_flaky", "rlocation_path", "write_manifest")
load(":replay_test.bzl", "with_tag")
load(":scenarios.bzl", "ReplayScenariosInfo", "scenarios_of")
load(":transport_layout.bzl", "split_expected", "split_transcript", "transport_place")

_ATTRS = {
    "commands": attr.string(
        doc = "The package of the commands on this test, as messages write it: \"//\" or \"//scenarios/transport\".",
        default = "//",
    ),
    "data": attr.label_list(
        doc = "Files that the subject needs besides its own runfiles and those of the scenario.",
        allow_files = True,
    ),
    "exit_seconds": attr.int(
        doc = "How long the subject may go on once its run has left the recording, and what it leaves behind may take to end.",
        default = 5,
    ),
    "interleave": attr.string(
        doc = "\"recorded\": the order of the transcript. \"all\": once for every legal order of a response and the events " +
              "around it, up to `max_orders` of each transcript.",
        default = "recorded",
        values = ["all", "recorded"],
    ),
    "max_orders": attr.int(
        doc = "How many orders of each transcript are played; what is left out is counted.",
        default = 64,
    ),
    "order_surfaces": attr.string_list(
        doc = "The surfaces (\"projection\") that are the same in every order; the others are compared in the recorded one.",
    ),
    "real_time": attr.bool(
        doc = "Whether `afterMs` of the transcripts is waited for. Else the clock of the host jumps.",
    ),
    "scenario": attr.string(
        doc = "The scenario's directory, relative to the package.",
        mandatory = True,
    ),
    "srcs": attr.label_list(
        doc = "The scenario's files.",
        allow_files = True,
    ),
    "subject": attr.label(
        doc = "The executable under test: any executable target, or an executable file.",
        mandatory = True,
        executable = True,
        allow_files = True,
        cfg = "target",
    ),
    "subject_args": attr.string_list(
        doc = "Arguments of the subject. `{workspace}`, `{peers}`, `{scenario}`, `{cwd}`, `{home}`, `{tmp}` and `{runfiles}` are " +
              "filled in when it runs; `$(location LABEL)` is a file of `data`.",
    ),
    "subject_env": attr.string_dict(
        doc = "Environment of the subject; expanded like `subject_args`. Nothing of the caller's environment leaks in.",
    ),
    "suite": attr.string(
        doc = "The label of the suite that the test belongs to; empty for a test on its own.",
    ),
    "variant": attr.string(
        doc = "Which of the scenario's tests this is: what stands before the first dot of its files.",
        mandatory = True,
    ),
    "_runner": attr.label(
        doc = "The program that plays.",
        default = Label("//replay/runner:transport"),
        executable = True,
        cfg = "target",
    ),
}

def _expand(ctx, text):
    """`$(location x)` becomes `{runfiles}/RLOC`: the subject's cwd is elsewhere, so the runner makes it an absolute path."""
    return ctx.expand_location(text.replace("$(location ", "{runfiles}/$(rlocationpath "), ctx.attr.data)

def _scenario(ctx):
    """The manifest's entry, with whatever files there are: the runner knows which must be there."""
    package, directory, variant = ctx.label.package, ctx.attr.scenario, ctx.attr.variant
    entry = {
        "name": "/".join([part for part in [directory, variant] if part]),
        "label": label_text(ctx.label),
        "package": package,
        "directory": "/".join([part for part in [package, directory] if part]),
        "variant": variant,
        "files": {},
        "workspace": {},
        "transcripts": {},
        "expected": {},
    }
    prefix = directory + "/" if directory else ""
    for target in ctx.attr.srcs:
        for file in target[DefaultInfo].files.to_list():
            key, name = transport_place(target.label.name[len(prefix):])
            entry[key][name] = rlocation_path(ctx, file)
            if split_transcript(name):
                entry["transcripts"][split_transcript(name)[1]] = name
            elif split_expected(name):
                entry["expected"][split_expected(name)[1]] = name
    return entry

def _transport_replay_test_impl(ctx):
    refuse_flaky(ctx)
    manifest = write_manifest(ctx, {
        "version": 1,
        "kind": "transport",
        "suite": ctx.attr.suite or label_text(ctx.label),
        "commands": ctx.attr.commands,
        "subject": {
            "name": ctx.attr.subject.label.name,
            "binary": rlocation_path(ctx, ctx.executable.subject),
            "args": [_expand(ctx, text) for text in ctx.attr.subject_args],
            "env": {key: _expand(ctx, text) for key, text in ctx.attr.subject_env.items()},
        },
        "interleave": ctx.attr.interleave,
        "max_orders": ctx.attr.max_orders,
        "order_surfaces": ctx.attr.order_surfaces,
        "real_time": ctx.attr.real_time,
        "exit_seconds": ctx.attr.exit_seconds,
        "scenarios": [_scenario(ctx)],
    })
    targets = [ctx.attr.subject] + ctx.attr.data
    runfiles = ctx.runfiles(
        files = ctx.files.srcs + ctx.files.data + [manifest, ctx.executable.subject],
    ).merge_all(
        [target[DefaultInfo].default_runfiles for target in targets] +
        [target[DefaultInfo].data_runfiles for target in targets],
    )
    return launch(ctx, ctx.attr._runner, manifest, runfiles) + [
        ReplayScenariosInfo(manifests = [manifest], runfiles = runfiles),
        coverage_common.instrumented_files_info(ctx, dependency_attributes = ["subject", "data"]),
    ]

_transport_replay_test = rule(
    implementation = _transport_replay_test_impl,
    attrs = _ATTRS,
    doc = "Runs an orchestrator against recorded providers, and checks that it said and showed what it must.",
    test = True,
)

def transport_target(name, subject, srcs, scenario, variant, **attributes):
    """One test: what transport_replay_test and transport_replay_suite share.

    Args:
      name: the target's name.
      subject: label of an executable.
      srcs: the scenario's files, relative to the package.
      scenario: the scenario's directory, relative to the package.
      variant: which of the scenario's tests this is.
      **attributes: `args` and `env` of the subject, other attributes of the rule, and common test attributes.
    """
    _transport_replay_test(
        name = name,
        subject = subject,
        # A file name may begin with "@" or "//"; the colon makes it a label of this package.
        srcs = [":" + path for path in srcs],
        scenario = scenario,
        variant = variant,
        subject_args = attributes.pop("args", None) or [],
        subject_env = attributes.pop("env", None) or {},
        size = attributes.pop("size", None) or "small",
        tags = with_tag(attributes.pop("tags", None), "block-network"),
        **attributes
    )

def transport_replay_test(name, transcripts, subject, surfaces = [], srcs = [], **kwargs):
    """Runs an executable with its providers replaced by transcripts.

    The executable finds the peers that it may start in AGENT_REPLAY_PEERS and the socket that it may dial in
    AGENT_REPLAY_TRANSPORT; it must exit with 0, and all transcripts must be consumed.

    Args:
      name: the target's name.
      transcripts: files of one directory of this package, "simple/codex.transcript.ndjson", or of several providers
        "simple/both.codex.transcript.ndjson" and "simple/both.claude.transcript.ndjson".
      subject: label of any executable.
      surfaces: the expected files of what the subject writes into AGENT_REPLAY_ACTUAL,
        "simple/codex.projection.expected.json" for projection.json.
      srcs: further files of the directory, which the subject finds below AGENT_REPLAY_SCENARIO.
      **kwargs: `data`, `args` and `env` of the subject, `interleave`, `max_orders`, `order_surfaces`, `real_time`,
        `exit_seconds`, `commands`, and the common attributes of tests, without `flaky`.
    """
    label = "//{}:{}".format(native.package_name(), name)
    files = [path.removeprefix(":") for path in transcripts + surfaces]
    directories, variants = {}, {}
    for path in files:
        directory, _, file = path.rpartition("/")
        split = split_transcript(file) or split_expected(file)
        if not split:
            fail("{}: {} is named neither <variant>.transcript.ndjson nor <variant>.<surface>.expected.json; rename it".format(label, repr(path)))
        directories[directory] = True
        variants[split[0]] = True
    if len(directories) != 1 or len(variants) != 1:
        fail("{}: attribute \"transcripts\" and \"surfaces\" need files of one directory that begin alike, got {}".format(label, files))
    transport_target(
        name = name,
        subject = subject,
        srcs = files + [path.removeprefix(":") for path in srcs],
        scenario = directories.keys()[0],
        variant = variants.keys()[0],
        **kwargs
    )
    scenarios_of(name, {name: kwargs.get("target_compatible_with")})
