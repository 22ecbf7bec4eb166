"""acp_replay_suite: every scenario directory of a package as a test, and the guard over all of them."""

load(":guard_test.bzl", "fixture_guard_test")
load(":layout.bzl", "can_be_label", "files_below", "package_files", "scenario_names", "target_name")
load(":replay_test.bzl", "compares_modes", "replay_target")
load(":scenarios.bzl", "scenarios_name", "scenarios_of")

def naming_problem(scenarios, targets):
    """What is wrong with the names of a suite, as one sentence; empty if nothing is.

    Args:
      scenarios: directory names.
      targets: names of the targets that the suite makes.

    Returns:
      a string.
    """
    taken = {}
    twice = None
    for target in targets:
        if target in taken and not twice:
            twice = target
        taken[target] = True
    for directory in scenarios:
        if "/" in directory or not can_be_label(directory) or directory in ["", ".", ".."]:
            return "scenario {} is no subdirectory that Bazel can name; write the name of one directory without \"/\", \":\" and \"\\\"".format(repr(directory))
        if directory in taken:
            # Its output would lie where the directory's files belong.
            return "directory {} has the name of a target of this suite; rename the directory".format(repr(directory))
    return "two targets would be called {}; rename one of the scenario directories".format(repr(twice)) if twice else ""

def own_attributes(common, own):
    """A scenario's attributes: its tags are added to the suite's, everything else replaces them.

    Args:
      common: attributes of the suite.
      own: attributes of the scenario.

    Returns:
      a dict.
    """
    merged = dict(common, **own)
    merged["tags"] = (common.get("tags") or []) + (own.get("tags") or [])
    return merged

def acp_replay_suite(
        name,
        agent,
        scenarios = None,
        overrides = [],
        pins = [],
        rules = [],
        options = None,
        surfaces = [],
        per_scenario = {},
        batched = False,
        shard_count = None,
        cwd_parent = "",
        **kwargs):
    """Makes `<scenario>_test` of every subdirectory with an input.json, `<name>_guard_test`, and test_suite `<name>`.

    For replay_commands it also makes `<name>.scenarios`, which collects the tests and is of no other use. A scenario that is named in an attribute but has lost its files keeps its test, which says what is missing.

    Args:
      name: the suite's name.
      agent: label of an acp_agent.
      scenarios: the directories to replay; None for every one with an input.json.
      overrides: the scenarios that have a replay.override.json.
      pins: the scenarios that compare the prompt and the tool schemas with their expected files.
      rules: further rules of the normaliser, each from replay_rule().
      options: what the comparison may pass over, from replay_options().
      surfaces: what is compared besides the standing surfaces: "workspace" (the files after the run, in
        workspace.expected/), and "requests" (what an agent that logs itself and has a model_api asks the model, in
        requests.expected.jsonl). An agent with session_log = "gateway" has its requests compared in any case.
      per_scenario: scenario to a dict of attributes of its own: `tags` (added to the suite's), and `agent`, `size`,
        `timeout`, `target_compatible_with`, `cwd_parent`, `options`, `rules`, `surfaces`, … (in place of the suite's).
      batched: one target `<name>_batch_test` that replays all scenarios in one process instead of a target each;
        a scenario of `per_scenario` keeps its own.
      shard_count: shards of the batched target.
      cwd_parent: the directory below which an agent's cwd is made; empty for below TEST_TMPDIR.
      **kwargs: `commands` (the package in which the suite's replay_commands are made, "//" if not said), and the common
        attributes of tests, without `flaky`, passed to every test.
    """
    suite = "//{}:{}".format(native.package_name(), name)
    if shard_count and not batched:
        fail("{}: attribute \"shard_count\" is {}, but each scenario is a target of its own; write batched = True, or remove it".format(suite, shard_count))
    paths = package_files()
    found = scenario_names(paths) if scenarios == None else scenarios
    every = {directory: True for directory in found + overrides + pins + per_scenario.keys()}.keys()
    alone = [directory for directory in every if not batched or directory in per_scenario]
    together = [directory for directory in every if batched and directory not in per_scenario]
    guard = name + "_guard_test"
    batch = name + "_batch_test"
    tests = [target_name(directory) for directory in alone] + ([batch] if together else [])
    problem = naming_problem(every, tests + [guard, scenarios_name(name)])
    if problem:
        fail("{}: {}".format(suite, problem))
    shared = dict(
        agent = agent,
        files = files_below(paths),
        overrides = {directory: True for directory in overrides},
        pins = {directory: True for directory in pins},
        rules = rules,
        options = options,
        surfaces = surfaces,
        suite = suite,
        cwd_parent = cwd_parent,
    )

    for directory in alone:
        attributes = own_attributes(kwargs, per_scenario.get(directory, {}))
        replay_target(name = target_name(directory), scenarios = [directory], **dict(shared, **attributes))
    if together:
        replay_target(
            name = batch,
            scenarios = together,
            batched = True,
            **dict(shared, shard_count = shard_count, **dict(kwargs, size = kwargs.get("size") or "medium"))
        )
    fixture_guard_test(
        name = guard,
        scenarios = every,
        overrides = overrides,
        pins = pins,
        workspace_modes = [
            directory
            for directory in every
            if compares_modes(per_scenario.get(directory, {}).get("options", options))
        ],
        suite = suite,
        **kwargs
    )
    fits = {target_name(directory): per_scenario.get(directory, {}) for directory in alone}
    scenarios_of(name, {
        test: fits.get(test, {}).get("target_compatible_with") or kwargs.get("target_compatible_with")
        for test in tests
    })
    native.test_suite(
        name = name,
        tests = [":" + test for test in tests + [guard]],
        # Without it a wildcard would find the tests through the suite.
        tags = [tag for tag in kwargs.get("tags") or [] if tag == "manual"],
        visibility = kwargs.get("visibility"),
        testonly = kwargs.get("testonly"),
    )
