"""room: one room's Python library together with its bytecode."""

load("@rules_python//python:defs.bzl", "py_library")
load("//rules:defs.bzl", "py_bytecode")

def room(name, srcs, data = [], **kwargs):
    """A py_library whose runfiles also hold the bytecode of its sources.

    Args:
      name: the library's name.
      srcs: its Python sources.
      data: further files that it needs at run time.
      **kwargs: other attributes of py_library.
    """
    py_bytecode(
        name = name + ".bytecode",
        srcs = srcs,
        tags = ["manual"],
        visibility = ["//tests/rules:__pkg__"],
    )
    py_library(
        name = name,
        srcs = srcs,
        data = data + [name + ".bytecode"],
        **kwargs
    )
