"""pytest_test: test files of pytest as one Bazel test; pytest_room: those of a package."""

load("@rules_python//python:defs.bzl", "py_test")

def pytest_test(name, srcs, deps = [], args = [], size = "small", **kwargs):
    """Runs pytest over `srcs`; fails when they hold no test.

    Args:
      name: the target's name.
      srcs: test files, and a conftest.py if there is one.
      deps: what they import besides pytest.
      args: further arguments of pytest.
      size: as of any test.
      **kwargs: other attributes of py_test.
    """
    tests = [src for src in srcs if src.rpartition("/")[2].startswith("test_")]
    py_test(
        name = name,
        size = size,
        srcs = srcs + ["//tests:pytest_main.py"],
        args = args + ["$(rootpath {})".format(test) for test in tests],
        main = "//tests:pytest_main.py",
        deps = deps + ["@agent_replay_pip//pytest"],
        **kwargs
    )

def pytest_room(name, deps, data = [], size = "medium", **kwargs):
    """All test files of the package as one test; its other Python files are what they share.

    One, since laying out a sandbox for pytest and what it needs takes longer than most files' tests.

    Args:
      name: the target's name.
      deps: what the files import besides pytest and hypothesis.
      data: files that the tests read.
      size: as of any test.
      **kwargs: other attributes of py_test.
    """
    pytest_test(
        name = name,
        size = size,
        srcs = native.glob(["*.py"]),
        data = data,
        deps = deps + ["@agent_replay_pip//hypothesis"],
        **kwargs
    )
