"""trace_guard_test: every file of a trace suite belongs to it, and is well formed."""

load(":launch.bzl", "label_text", "launch", "refuse_flaky", "rlocation_path", "write_manifest")
load(":layout.bzl", "can_be_label", "package_tree")
load(":replay_test.bzl", "with_tag")

_ATTRS = {
    "record": attr.string(
        doc = "The label of the target that records traces of this package, as messages write it.",
    ),
    "srcs": attr.label_list(
        doc = "Every file of the package that a label can name.",
        allow_files = True,
    ),
    "subpackages": attr.string_list(
        doc = "Directories below the package with a BUILD file of their own, which hides what is in them.",
    ),
    "tree": attr.string_list(
        doc = "Every path below the package, directories with a slash at the end.",
    ),
    "_guard": attr.label(
        doc = "The program that checks.",
        default = Label("//replay/runner:trace_guard"),
        executable = True,
        cfg = "target",
    ),
}

def _trace_guard_test_impl(ctx):
    refuse_flaky(ctx)
    files = {}
    for target in ctx.attr.srcs:
        for file in target[DefaultInfo].files.to_list():
            files[target.label.name] = rlocation_path(ctx, file)
    manifest = write_manifest(ctx, {
        "version": 1,
        "kind": "trace_guard",
        "package": ctx.label.package,
        "label": label_text(ctx.label),
        "record": ctx.attr.record,
        "tree": ctx.attr.tree,
        "subpackages": ctx.attr.subpackages,
        "files": files,
    })
    return launch(ctx, ctx.attr._guard, manifest, ctx.runfiles(files = ctx.files.srcs)) + [
        coverage_common.instrumented_files_info(ctx),
    ]

_trace_guard_test = rule(
    implementation = _trace_guard_test_impl,
    attrs = _ATTRS,
    doc = "Checks that a package's traces, snapshots and suite.json are sound, canonical, claimed and free of secrets.",
    test = True,
)

def trace_guard_test(name, record = "", **kwargs):
    """Checks all traces of this package and what belongs to them; fails when run, never at loading.

    Args:
      name: the target's name.
      record: the label of the trace_record target of this package, for messages.
      **kwargs: the common attributes of tests, without `flaky`.
    """
    files = package_tree()
    is_file = {path: True for path in files}
    _trace_guard_test(
        name = name,
        # A file name may begin with "@" or "//"; the colon makes it a label of this package.
        srcs = [":" + path for path in files if can_be_label(path)],
        tree = sorted([path if path in is_file else path + "/" for path in package_tree(with_directories = True)]),
        subpackages = native.subpackages(include = ["**"], allow_empty = True),
        record = record,
        size = kwargs.pop("size", None) or "small",
        tags = with_tag(kwargs.pop("tags", None), "block-network"),
        **kwargs
    )
