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

def _scenario(ctx, directory):
    """One entry of the manifest, with whatever files there are: the runner knows which must be there."""
    package = ctx.label.package
    entry = {
        "name": directory,
        "label": label_text(ctx.label),
        "package": package,
        "directory": package + "/" + directory if package else directory,
        "files": {},
        "workspace": {},
        "workspace_expected": {},
        "declares_override": directory in ctx.attr.overrides,
        "pins": directory in ctx.attr.pins,
        "cwd_parent": ctx.attr.cwd_parent,
    }
    prefix = directory + "/"
    for target in ctx.attr.srcs:
        for file in target[DefaultInfo].files.to_list():
            if target.label.name.startswith(prefix):
                key, name = place(target.label.name[len(prefix):])
                entry[key][name] = rlocation_path(ctx, file)
    return entry

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
        "scenarios": [_scenario(ctx, directory) for directory in ctx.attr.scenarios],
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

def replay_target(name, agent, paths, scenarios, overrides, pins, rules, options, **attributes):
    """One test over `scenarios`: what acp_replay_test and acp_replay_suite share.

    Args:
      name: the target's name.
      agent: label of an acp_agent.
      paths: what package_files() returned.
      scenarios: directories, relative to the package.
      overrides: scenarios whose replay.override.json takes part.
      pins: scenarios that pin prompt and tool schemas.
      rules: what replay_rule() returned.
      options: what replay_options() returned, or None.
      **attributes: other attributes of the rule, and common test attributes.
    """
    srcs = []
    for directory in scenarios:
        srcs.extend(scenario_files(paths, directory, directory in overrides, directory in pins))
    _acp_replay_test(
        name = name,
        agent = agent,
        # A file name may begin with "@" or "//"; the colon makes it a label of this package.
        srcs = [":" + path for path in srcs],
        scenarios = scenarios,
        overrides = [directory for directory in overrides if directory in scenarios],
        pins = [directory for directory in pins if directory in scenarios],
        rules = [json.encode(rule) for rule in rules],
        options = json.encode(options) if options else "{}",
        size = attributes.pop("size", None) or "small",
        tags = with_tag(attributes.pop("tags", None), "block-network"),
        **attributes
    )

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
      **kwargs: `surfaces`, `cwd_parent`, and the common attributes of tests, without `flaky`.
    """
    directory = directory or name.removesuffix("_test")
    replay_target(
        name = name,
        agent = agent,
        paths = package_files(),
        scenarios = [directory],
        overrides = [directory] if override else [],
        pins = [directory] if pins else [],
        rules = rules,
        options = options,
        **kwargs
    )
    scenarios_of(name, {name: kwargs.get("target_compatible_with")})
