"""fixture_guard_test: every file below the package is one that some scenario claims, and is well formed."""

load(":launch.bzl", "label_text", "launch", "refuse_flaky", "rlocation_path", "write_manifest")
load(":layout.bzl", "can_be_label", "package_files", "package_tree", "scenario_names")
load(":replay_test.bzl", "with_tag")

_ATTRS = {
    "commands": attr.string(
        doc = "The package of the commands, as messages write it.",
        default = "//",
    ),
    "overrides": attr.string_list(
        doc = "The scenarios that are declared to have a replay.override.json.",
    ),
    "pins": attr.string_list(
        doc = "The scenarios that are declared to pin prompt and tool schemas.",
    ),
    "scenarios": attr.string_list(
        doc = "The scenarios that have a test.",
    ),
    "srcs": attr.label_list(
        doc = "Every file of the package that a label can name.",
        allow_files = True,
    ),
    "subpackages": attr.string_list(
        doc = "Directories below the package with a BUILD file of their own, which hides what is in them.",
    ),
    "suite": attr.string(
        doc = "The label of the suite; empty for a guard on its own.",
    ),
    "tree": attr.string_list(
        doc = "Every path below the package, directories with a slash at the end.",
    ),
    "workspace_modes": attr.string_list(
        doc = "The scenarios whose options compare which files of the workspace are executable.",
    ),
    "_guard": attr.label(
        doc = "The program that checks.",
        default = Label("//replay/scenario:guard_main"),
        executable = True,
        cfg = "target",
    ),
}

def _fixture_guard_test_impl(ctx):
    refuse_flaky(ctx)
    files = {}
    for target in ctx.attr.srcs:
        for file in target[DefaultInfo].files.to_list():
            files[target.label.name] = rlocation_path(ctx, file)
    manifest = write_manifest(ctx, {
        "version": 1,
        "kind": "guard",
        "package": ctx.label.package,
        "label": label_text(ctx.label),
        "suite": ctx.attr.suite or label_text(ctx.label),
        "scenarios": ctx.attr.scenarios,
        "overrides": ctx.attr.overrides,
        "pins": ctx.attr.pins,
        "tree": ctx.attr.tree,
        "subpackages": ctx.attr.subpackages,
        "commands": ctx.attr.commands,
        "workspace_modes": ctx.attr.workspace_modes,
        "files": files,
    })
    return launch(ctx, ctx.attr._guard, manifest, ctx.runfiles(files = ctx.files.srcs)) + [
        coverage_common.instrumented_files_info(ctx),
    ]

_fixture_guard_test = rule(
    implementation = _fixture_guard_test_impl,
    attrs = _ATTRS,
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
    files = package_tree()
    is_file = {path: True for path in files}
    if scenarios == None:
        scenarios = scenario_names(package_files())
    _fixture_guard_test(
        name = name,
        # A file name may begin with "@" or "//"; the colon makes it a label of this package.
        srcs = [":" + path for path in files if can_be_label(path)],
        tree = sorted([path if path in is_file else path + "/" for path in package_tree(with_directories = True)]),
        subpackages = native.subpackages(include = ["**"], allow_empty = True),
        scenarios = scenarios,
        overrides = overrides,
        pins = pins,
        workspace_modes = workspace_modes,
        suite = suite,
        size = kwargs.pop("size", None) or "small",
        tags = with_tag(kwargs.pop("tags", None), "block-network"),
        **kwargs
    )
