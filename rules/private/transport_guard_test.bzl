"""transport_guard_test: every file below the package belongs to a transport scenario, and is well formed."""

load(":launch.bzl", "label_text", "launch", "refuse_flaky", "rlocation_path", "write_manifest")
load(":layout.bzl", "can_be_label", "package_tree")
load(":replay_test.bzl", "with_tag")

_ATTRS = {
    "commands": attr.string(
        doc = "The package of the commands, as messages write it.",
        default = "//",
    ),
    "inexpressible": attr.string(
        doc = "Scenario to provider to why it cannot express it, as JSON.",
        default = "{}",
    ),
    "providers": attr.string_list(
        doc = "The providers that every scenario has a transcript of, or a reason.",
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
    "surfaces": attr.string_list(
        doc = "What every test compares, such as \"projection.json\".",
    ),
    "tree": attr.string_list(
        doc = "Every path below the package, directories with a slash at the end.",
    ),
    "_guard": attr.label(
        doc = "The program that checks.",
        default = Label("//replay/runner:transport_guard"),
        executable = True,
        cfg = "target",
    ),
}

def _transport_guard_test_impl(ctx):
    refuse_flaky(ctx)
    files = {}
    for target in ctx.attr.srcs:
        for file in target[DefaultInfo].files.to_list():
            files[target.label.name] = rlocation_path(ctx, file)
    manifest = write_manifest(ctx, {
        "version": 1,
        "kind": "transport_guard",
        "package": ctx.label.package,
        "label": label_text(ctx.label),
        "suite": ctx.attr.suite or label_text(ctx.label),
        "commands": ctx.attr.commands,
        "providers": ctx.attr.providers,
        "inexpressible": json.decode(ctx.attr.inexpressible),
        "surfaces": ctx.attr.surfaces,
        "tree": ctx.attr.tree,
        "subpackages": ctx.attr.subpackages,
        "files": files,
    })
    return launch(ctx, ctx.attr._guard, manifest, ctx.runfiles(files = ctx.files.srcs)) + [
        coverage_common.instrumented_files_info(ctx),
    ]

_transport_guard_test = rule(
    implementation = _transport_guard_test_impl,
    attrs = _ATTRS,
    doc = "Checks that a package's transcripts are complete, claimed, canonical and free of secrets.",
    test = True,
)

def transport_guard_test(name, providers = [], inexpressible = {}, surfaces = [], suite = "", **kwargs):
    """Checks all transcripts of this package and what belongs to them; fails when run, never at loading.

    Args:
      name: the target's name.
      providers: the providers that every scenario has a transcript of.
      inexpressible: scenario to provider to the reason why it has none.
      surfaces: what every test compares, such as "projection.json".
      suite: the label of the suite that the guard belongs to.
      **kwargs: `commands`, and the common attributes of tests.
    """
    files = package_tree()
    is_file = {path: True for path in files}
    _transport_guard_test(
        name = name,
        # A file name may begin with "@" or "//"; the colon makes it a label of this package.
        srcs = [":" + path for path in files if can_be_label(path)],
        tree = sorted([path if path in is_file else path + "/" for path in package_tree(with_directories = True)]),
        subpackages = native.subpackages(include = ["**"], allow_empty = True),
        providers = providers,
        inexpressible = json.encode(inexpressible),
        surfaces = surfaces,
        suite = suite,
        size = kwargs.pop("size", None) or "small",
        tags = with_tag(kwargs.pop("tags", None), "block-network"),
        **kwargs
    )
