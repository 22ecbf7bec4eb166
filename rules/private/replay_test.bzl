"""acp_replay_test: one scenario (or one batch of them) as a hermetic test."""

load(":agent.bzl", "ReplayAgentInfo")
load(":launch.bzl", "label_text", "launch", "refuse_flaky", "rlocation_path", "write_manifest")
load(":layout.bzl", "package_files", "place", "scenario_files")
load(":scenarios.bzl", "ReplayScenariosInfo", "scenarios_of")

_SURFACES = ["requests", "workspace"]
_IGNORABLE = ["requests", "session", "stdout", "workspace"]

_ATTRS = {
    "agent": attr.label(
        doc = "The agent under test, made by acp_agent.",
        mandatory = True,
        # A file gets our message instead of Bazel's.
        allow_files = True,
    ),
    "batched": attr.bool(
        doc = "Whether one process replays all `scenarios`, shared out over `shard_count` shards.",
    ),
    "commands": attr.string(
        doc = "The package of the commands on the scenarios, as messages write it: \"//\" or \"//scenarios/acp\".",
        default = "//",
    ),
    "cwd_parent": attr.string(
        doc = "The directory below which the agent's cwd is made, for agents that treat the temporary directory " +
              "specially; empty for below TEST_TMPDIR.",
    ),
    "options": attr.string(
        doc = "What the comparison of the suite may pass over, as JSON.",
        default = "{}",
    ),
    "overrides": attr.string_list(
        doc = "The scenarios whose replay.override.json takes part.",
    ),
    "pins": attr.string_list(
        doc = "The scenarios that compare the prompt and the tool schemas themselves.",
    ),
    "rules": attr.string_list(
        doc = "Rules of the normaliser, each as JSON.",
    ),
    "scenarios": attr.string_list(
        doc = "The scenarios' directories, relative to the package.",
        mandatory = True,
    ),
    "srcs": attr.label_list(
        doc = "The scenarios' files.",
        allow_files = True,
    ),
    "suite": attr.string(
        doc = "The label of the suite that the scenario belongs to; empty for a test on its own.",
    ),
    "surfaces": attr.string_list(
        doc = "What is compared besides the standing surfaces: \"workspace\", and \"requests\" of an agent that logs " +
              "itself and has a `model_api`.",
    ),
    "_runner": attr.label(
        doc = "The program that replays.",
        default = Label("//replay/runner:main"),
        executable = True,
        cfg = "target",
    ),
}

def _agent(ctx):
    if ReplayAgentInfo in ctx.attr.agent:
        return ctx.attr.agent[ReplayAgentInfo]
    got = ctx.attr.agent.label
    executable = ctx.attr.agent[DefaultInfo].files_to_run.executable
    return fail("{}: attribute \"agent\" needs a target of acp_agent, got {}, {}; write acp_agent(name = \"{}_agent\", binary = \"{}\") and agent = \":{}_agent\"".format(
        label_text(ctx.label),
        label_text(got),
        "an executable that is not wrapped" if executable else "which is no executable",
        got.name,
        label_text(got) if executable else "//label/of:the_executable",
        got.name,
    ))

def _scenario(ctx, directory, declares_override, pins):
    """One entry of the manifest, without its files."""
    package = ctx.label.package
    return {
        "name": directory,
        "label": label_text(ctx.label),
        "package": package,
        "directory": package + "/" + directory if package else directory,
        "files": {},
        "workspace": {},
        "workspace_expected": {},
        "declares_override": declares_override,
        "pins": pins,
        "cwd_parent": ctx.attr.cwd_parent,
    }

def _scenarios(ctx):
    """The entries of the manifest, with whatever files there are: the runner knows which must be there."""
    overrides = {directory: True for directory in ctx.attr.overrides}
    pins = {directory: True for directory in ctx.attr.pins}
    entries = {
        directory: _scenario(ctx, directory, directory in overrides, directory in pins)
        for directory in ctx.attr.scenarios
    }
    for target in ctx.attr.srcs:
        directory = _directory_of(target.label.name, entries)
        if not directory:
            continue
        key, name = place(target.label.name[len(directory) + 1:])
        for file in target[DefaultInfo].files.to_list():
            entries[directory][key][name] = rlocation_path(ctx, file)
    return entries.values()

def _directory_of(path, directories):
    """The first of the directories around `path` that is one of `directories`; "" if none is."""
    steps = path.split("/")
    for length in range(1, len(steps)):
        directory = "/".join(steps[:length])
        if directory in directories:
            return directory
    return ""

def _check_surfaces(ctx, agent):
    for name in ctx.attr.surfaces:
        if name not in _SURFACES:
            fail("{}: attribute \"surfaces\" has {}; write {}".format(
                label_text(ctx.label),
                repr(name),
                " or ".join(["\"{}\"".format(known) for known in _SURFACES]),
            ))
        if name == "requests" and not agent.entry["model_api"]:
            fail("{}: attribute \"surfaces\" has \"requests\", but {} replays in its own process, where nobody sees them; give its acp_agent a model_api, or take \"requests\" out".format(
                label_text(ctx.label),
                label_text(ctx.attr.agent.label),
            ))

def _check_ignored(ctx, options):
    for entry in options.get("ignored", []):
        if entry["surface"] not in _IGNORABLE:
            fail("{}: attribute \"options\" ignores {} of {}, which is no surface; write {}".format(
                label_text(ctx.label),
                entry["path"],
                repr(entry["surface"]),
                " or ".join(["\"{}\"".format(known) for known in _IGNORABLE]),
            ))

def _acp_replay_test_impl(ctx):
    refuse_flaky(ctx)
    agent = _agent(ctx)
    options = json.decode(ctx.attr.options)
    _check_surfaces(ctx, agent)
    _check_ignored(ctx, options)
    manifest = write_manifest(ctx, {
        "version": 1,
        "suite": ctx.attr.suite or label_text(ctx.label),
        "workspace_name": ctx.workspace_name,
        "batched": ctx.attr.batched,
        "agent": agent.entry,
        "rules": [json.decode(rule) for rule in ctx.attr.rules],
        "options": options,
        "surfaces": ctx.attr.surfaces,
        "commands": ctx.attr.commands,
        "scenarios": _scenarios(ctx),
    })
    runfiles = ctx.runfiles(files = ctx.files.srcs + [manifest]).merge(agent.runfiles)
    return launch(ctx, ctx.attr._runner, manifest, runfiles) + [
        ReplayScenariosInfo(manifests = [manifest], runfiles = runfiles),
        coverage_common.instrumented_files_info(ctx, dependency_attributes = ["agent"]),
    ]

_acp_replay_test = rule(
    implementation = _acp_replay_test_impl,
    attrs = _ATTRS,
    doc = "Replays scenarios against an agent and compares what comes out with their fixtures.",
    test = True,
)

def replay_target(name, agent, files, scenarios, overrides, pins, rules, options, **attributes):
    """One test over `scenarios`: what acp_replay_test and acp_replay_suite share.

    Args:
      name: the target's name.
      agent: label of an acp_agent.
      files: directory to its files, as paths relative to it; more directories than `scenarios` are passed over, and
        so are more `overrides` and `pins`, which are dicts with the directories as keys.
      scenarios: directories, relative to the package.
      overrides: scenarios whose replay.override.json takes part.
      pins: scenarios that pin prompt and tool schemas.
      rules: what replay_rule() returned.
      options: what replay_options() returned, or None.
      **attributes: other attributes of the rule, and common test attributes.
    """
    srcs = []
    for directory in scenarios:
        srcs.extend(scenario_files(
            files.get(directory, []),
            directory,
            directory in overrides,
            directory in pins,
            compares_modes(options),
        ))
    _acp_replay_test(
        name = name,
        agent = agent,
        # A file name may begin with "@" or "//"; the colon makes it a label of this package.
        srcs = [":" + path for path in srcs],
        scenarios = scenarios,
        overrides = [directory for directory in scenarios if directory in overrides],
        pins = [directory for directory in scenarios if directory in pins],
        rules = [json.encode(rule) for rule in rules],
        options = json.encode(options) if options else "{}",
        size = attributes.pop("size", None) or "small",
        tags = with_tag(attributes.pop("tags", None), "block-network"),
        **attributes
    )

def compares_modes(options):
    """Whether what replay_options() returned, or None, says that it counts which files are executable."""
    return hasattr(options, "workspace_modes")

def with_tag(tags, tag):
    """`tags`, which may be None, with one more, once."""
    return (tags or []) + ([] if tag in (tags or []) else [tag])

def acp_replay_test(name, agent, directory = None, override = False, pins = False, rules = [], options = None, **kwargs):
    """Replays one scenario directory against an agent.

    Args:
      name: the target's name, "<directory>_test" unless `directory` is given.
      agent: label of an acp_agent.
      directory: the scenario's directory below this package.
      override: whether the scenario has a replay.override.json.
      pins: whether the scenario compares the prompt and the tool schemas with its expected files.
      rules: further rules of the normaliser, each from replay_rule().
      options: what the comparison may pass over, from replay_options().
      **kwargs: `surfaces`, `commands`, `cwd_parent`, and the common attributes of tests, without `flaky`.
    """
    directory = directory or name.removesuffix("_test")
    prefix = directory + "/"
    replay_target(
        name = name,
        agent = agent,
        files = {directory: [path[len(prefix):] for path in package_files(directory) if path.startswith(prefix)]},
        scenarios = [directory],
        overrides = {directory: True} if override else {},
        pins = {directory: True} if pins else {},
        rules = rules,
        options = options,
        **kwargs
    )
    scenarios_of(name, {name: kwargs.get("target_compatible_with")})
