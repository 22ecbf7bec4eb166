"""py_bytecode: the bytecode of our own Python sources, built once instead of in each sandbox.

The interpreter looks for `__pycache__/<module>.<tag>.pyc` beside the path that it imports, which is the one in the
runfiles tree, so an output of the same package is found there. Sources in a sandbox have no stable time, hence
unchecked-hash. Bytecode of another interpreter is passed over, and the source compiled as ever.
"""

_TAG = "cpython-314"

_ATTRS = {
    "srcs": attr.label_list(
        doc = "Python sources of this package.",
        mandatory = True,
        allow_empty = False,
        allow_files = [".py"],
    ),
    "_compiler": attr.label(
        doc = "The program that writes the bytecode.",
        default = Label("//tools/bytecode:compile"),
        executable = True,
        cfg = "exec",
    ),
}

def _py_bytecode_impl(ctx):
    arguments = ctx.actions.args()
    outputs = []
    prefix = ctx.label.package + "/" if ctx.label.package else ""
    for source in ctx.files.srcs:
        # Of another repository, short_path starts with "../<repository>/".
        name = source.short_path[source.short_path.index(prefix) + len(prefix):]
        directory, _, module = name.rpartition("/")
        output = ctx.actions.declare_file("{}__pycache__/{}.{}.pyc".format(
            directory + "/" if directory else "",
            module[:-len(".py")],
            _TAG,
        ))
        arguments.add_all([source, output])
        arguments.add(prefix + name)
        outputs.append(output)
    ctx.actions.run(
        executable = ctx.executable._compiler,
        arguments = [arguments],
        inputs = ctx.files.srcs,
        outputs = outputs,
        mnemonic = "PyBytecode",
        progress_message = "Compiling the Python of %{label}",
        # The order of a set must not reach the output.
        env = {"PYTHONHASHSEED": "0"},
    )
    return [DefaultInfo(files = depset(outputs), runfiles = ctx.runfiles(files = outputs))]

py_bytecode = rule(
    implementation = _py_bytecode_impl,
    attrs = _ATTRS,
    doc = "Compiles Python sources; list it in the `data` of the py_library that has the same `srcs`.",
)
