"""room: one room's Python library together with its bytecode; program, test_programs: what starts a room."""

load("@rules_python//python:defs.bzl", "py_binary", "py_library")
load("//rules:defs.bzl", "py_bytecode")
load("//rules/private:py_program.bzl", "py_bundle", "py_program")  # buildifier: disable=bzl-visibility

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

def program(name, main, room):
    """A command: a py_binary of one file, which is compiled at every start and so holds nothing.

    Args:
      name: the program's name.
      main: its file.
      room: the library with the rest.
    """
    py_binary(
        name = name,
        srcs = [main],
        # Whatever the flags of the workspace: a made-up __init__.py would break namespace packages.
        legacy_create_init = 0,
        main = main,
        visibility = ["//visibility:public"],
        deps = [room],
    )

def test_programs(name, modules, room):
    """What tests run, once for each: programs that start fast and are few files.

    Args:
      name: the name of the bundle that holds their modules.
      modules: the program's name -> the module whose main() it runs.
      room: the library with those modules and the rest.
    """
    py_bundle(
        name = name,
        visibility = ["//visibility:private"],
        deps = [room],
    )
    for program_name, module in modules.items():
        py_program(
            name = program_name,
            bundle = name,
            module = module,
            visibility = ["//visibility:public"],
        )
