"""py_trace_agent: a Python function as the agent of trace tests."""

load("@rules_python//python:defs.bzl", "py_binary")

def _trace_main_impl(ctx):
    file = ctx.actions.declare_file(ctx.label.name + ".py")
    ctx.actions.write(file, "\n".join([
        "import sys",
        "",
        "from replay.trace.entry import main",
        "",
        "sys.exit(main([{}]))".format(json.encode(ctx.attr.entry)),
        "",
    ]))
    return [DefaultInfo(files = depset([file]))]

_trace_main = rule(
    implementation = _trace_main_impl,
    attrs = {
        "entry": attr.string(
            doc = "package.module:function.",
            mandatory = True,
        ),
    },
    doc = "The program that starts an entry.",
)

def py_trace_agent(name, entry, deps, **kwargs):
    """Makes an executable that plays a Python agent in trace tests.

    The function takes a session, with which it wraps its model and its tools, and gives the agent back: a function of
    the task that returns the answer. In production the same function gets a Recorder.

    Args:
      name: the target's name.
      entry: "package.module:function", as it is imported.
      deps: the library that holds it.
      **kwargs: other attributes of py_binary.
    """
    main = name + "_main"
    _trace_main(
        name = main,
        entry = entry,
        tags = ["manual"],
        testonly = kwargs.get("testonly"),
        visibility = ["//visibility:private"],
    )
    py_binary(
        name = name,
        srcs = [main],
        main = main + ".py",
        legacy_create_init = 0,
        deps = deps + [Label("//replay/trace")],
        **kwargs
    )
