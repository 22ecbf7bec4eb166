"""npm_program: one program of an installed npm package, as an executable target."""

_ATTRS = {
    "launcher": attr.label(
        doc = "The script that finds Node and the program beside itself.",
        mandatory = True,
        allow_single_file = True,
    ),
    "node": attr.label(
        doc = "The Node program.",
        mandatory = True,
        allow_single_file = True,
    ),
    "node_modules": attr.label(
        doc = "The installed packages, one directory.",
        mandatory = True,
        allow_single_file = True,
    ),
}

def _npm_program_impl(ctx):
    executable = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.symlink(output = executable, target_file = ctx.file.launcher, is_executable = True)
    return [DefaultInfo(
        executable = executable,
        files = depset([executable]),
        runfiles = ctx.runfiles(files = [ctx.file.node, ctx.file.node_modules]),
    )]

npm_program = rule(
    implementation = _npm_program_impl,
    attrs = _ATTRS,
    doc = "An executable of node_modules; npm_install writes these targets.",
    executable = True,
)
