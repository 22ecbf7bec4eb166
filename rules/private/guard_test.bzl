"""fixture_guard_test: every file below the package is one that some scenario claims, and is well formed."""

load(":guard.bzl", "SUITE_ATTRS", "guard_attrs", "guard_providers", "guard_target")
load(":launch.bzl", "label_text")
load(":layout.bzl", "package_files", "scenario_names")

def _fixture_guard_test_impl(ctx):
    return guard_providers(
        ctx,
        "guard",
        suite = ctx.attr.suite or label_text(ctx.label),
        scenarios = ctx.attr.scenarios,
        overrides = ctx.attr.overrides,
        pins = ctx.attr.pins,
        commands = ctx.attr.commands,
        workspace_modes = ctx.attr.workspace_modes,
    )

_fixture_guard_test = rule(
    implementation = _fixture_guard_test_impl,
    attrs = guard_attrs(
        Label("//replay/scenario:guard_main"),
        overrides = attr.string_list(
            doc = "The scenarios that are declared to have a replay.override.json.",
        ),
        pins = attr.string_list(
            doc = "The scenarios that are declared to pin prompt and tool schemas.",
        ),
        scenarios = attr.string_list(
            doc = "The scenarios that have a test.",
        ),
        workspace_modes = attr.string_list(
            doc = "The scenarios whose options compare which files of the workspace are executable.",
        ),
        **SUITE_ATTRS
    ),
    doc = "Checks that a package's fixtures are complete, claimed, canonical and free of secrets.",
    test = True,
)

def fixture_guard_test(name, scenarios = None, overrides = [], pins = [], workspace_modes = [], suite = "", **kwargs):
    """Checks all fixtures of this package; fails when run, never at loading.

    Args:
      name: the target's name.
      scenarios: the directories that have a test; None for every one with an input.json.
      overrides: the scenarios that are declared to have a replay.override.json.
      pins: the scenarios that are declared to pin prompt and tool schemas.
      workspace_modes: the scenarios whose options have workspace_modes.
      suite: the label of the suite that the guard belongs to.
      **kwargs: `commands`, and the common attributes of tests.
    """
    if scenarios == None:
        scenarios = scenario_names(package_files())
    guard_target(
        name = name,
        rule = _fixture_guard_test,
        scenarios = scenarios,
        overrides = overrides,
        pins = pins,
        workspace_modes = workspace_modes,
        suite = suite,
        **kwargs
    )
