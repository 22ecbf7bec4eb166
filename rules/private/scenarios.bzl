"""What the tests of a suite replay, collected for commands that work on several suites."""

ReplayScenariosInfo = provider(
    doc = "Scenarios, as replay tests see them.",
    fields = {
        "manifests": "list of File: the manifest of each test; together they name every scenario once.",
        "runfiles": "runfiles: everything that the manifests name, and the manifests.",
    },
)

def _replay_scenarios_impl(ctx):
    infos = [test[ReplayScenariosInfo] for test in ctx.attr.tests]
    return [ReplayScenariosInfo(
        manifests = [manifest for info in infos for manifest in info.manifests],
        runfiles = ctx.runfiles().merge_all([info.runfiles for info in infos]),
    )]

_replay_scenarios = rule(
    implementation = _replay_scenarios_impl,
    attrs = {
        "tests": attr.label_list(
            doc = "Replay tests.",
            providers = [ReplayScenariosInfo],
        ),
    },
    doc = "The scenarios of several replay tests.",
    provides = [ReplayScenariosInfo],
)

def scenarios_name(name):
    """The name of the target that collects the scenarios of the suite or test `name`."""
    return name + ".scenarios"

def scenarios_of(name, tests):
    """Makes the target that collects `tests` for replay_commands.

    A test that the platform does not fit is left out, or it would make the whole command unfit; that works for the
    plain form of `target_compatible_with`, a list.

    Args:
      name: the suite's or the test's name.
      tests: names of replay tests of this package, each with its `target_compatible_with`.
    """
    collected = []
    chosen = []
    for test, constraints in tests.items():
        if type(constraints) == "list" and constraints:
            native.config_setting(
                name = test + ".fits",
                constraint_values = constraints,
                visibility = ["//visibility:private"],
            )
            chosen.append(select({":" + test + ".fits": [":" + test], "//conditions:default": []}))
        else:
            collected.append(":" + test)
    for choice in chosen:
        collected = collected + choice
    _replay_scenarios(
        name = scenarios_name(name),
        testonly = True,
        tests = collected,
        tags = ["manual"],
        # The command may stand in any package, most often in the root.
        visibility = ["//visibility:public"],
    )
