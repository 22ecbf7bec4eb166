"""What guards have in common: a test over every file of its package, those that nothing claims among them."""

load(":launch.bzl", "label_text", "launch", "refuse_flaky", "rlocation_path", "write_manifest")
load(":layout.bzl", "can_be_label", "package_tree")
load(":replay_test.bzl", "with_tag")

_TREE_ATTRS = {
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
}

# Of the guards over suites.
SUITE_ATTRS = {
    "commands": attr.string(
        doc = "The package of the commands, as messages write it.",
        default = "//",
    ),
    "suite": attr.string(
        doc = "The label of the suite; empty for a guard on its own.",
    ),
}

def guard_attrs(program, **own):
    """The attributes of a guard's rule.

    Args:
      program: the label of the program that checks.
      **own: what this guard has besides.

    Returns:
      a dict.
    """
    return dict(
        _TREE_ATTRS,
        _guard = attr.label(
            doc = "The program that checks.",
            default = program,
            executable = True,
            cfg = "target",
        ),
        **own
    )

def guard_providers(ctx, kind, **own):
    """What a guard's rule returns.

    Args:
      ctx: the rule context; its attributes are of guard_attrs.
      kind: what the manifest is of, such as "guard".
      **own: what this guard's manifest has besides.

    Returns:
      a list of providers.
    """
    refuse_flaky(ctx)
    files = {}
    for target in ctx.attr.srcs:
        for file in target[DefaultInfo].files.to_list():
            files[target.label.name] = rlocation_path(ctx, file)
    manifest = write_manifest(ctx, dict(
        own,
        version = 1,
        kind = kind,
        package = ctx.label.package,
        label = label_text(ctx.label),
        tree = ctx.attr.tree,
        subpackages = ctx.attr.subpackages,
        files = files,
    ))
    return launch(ctx, ctx.attr._guard, manifest, ctx.runfiles(files = ctx.files.srcs)) + [
        coverage_common.instrumented_files_info(ctx),
    ]

def guard_target(name, rule, **attributes):
    """A guard over the package whose BUILD file is being read.

    Args:
      name: the target's name.
      rule: the guard's rule.
      **attributes: of the rule, and the common attributes of tests.
    """
    files = package_tree()
    is_file = {path: True for path in files}
    rule(
        name = name,
        # A file name may begin with "@" or "//"; the colon makes it a label of this package.
        srcs = [":" + path for path in files if can_be_label(path)],
        subpackages = native.subpackages(include = ["**"], allow_empty = True),
        tree = sorted([path if path in is_file else path + "/" for path in package_tree(with_directories = True)]),
        size = attributes.pop("size", None) or "small",
        tags = with_tag(attributes.pop("tags", None), "block-network"),
        **attributes
    )
