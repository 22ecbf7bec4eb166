"""Tests of py_bytecode, py_bundle and py_program."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")

def _bytecode_lies_beside_its_source_impl(ctx):
    env = analysistest.begin(ctx)
    target = analysistest.target_under_test(env)
    expected = [
        "tests/rules/bytecode/__pycache__/__init__.cpython-314.pyc",
        "tests/rules/bytecode/inner/__pycache__/deep.cpython-314.pyc",
    ]
    for files in [target[DefaultInfo].files, target[DefaultInfo].default_runfiles.files]:
        asserts.equals(env, expected, sorted([file.short_path for file in files.to_list()]))
    return analysistest.end(env)

_bytecode_lies_beside_its_source_test = analysistest.make(_bytecode_lies_beside_its_source_impl)

def _program_is_few_files_impl(ctx):
    env = analysistest.begin(ctx)
    target = analysistest.target_under_test(env)
    paths = [file.short_path for file in target[DefaultInfo].default_runfiles.files.to_list()]
    ours = [path for path in paths if not path.startswith("../")]
    asserts.equals(env, [
        "tests/rules/bytecode/modules.bundle",
        "tests/rules/bytecode/program",
        "tools/bytecode/start.py",
    ], sorted(ours))

    # Pure Python is in the bundle; native code is not, and nobody reads what describes a distribution.
    packages = {
        path.partition("/site-packages/")[2].partition("/")[0]: None
        for path in paths
        if "/site-packages/" in path
    }
    asserts.equals(env, ["orjson"], packages.keys())
    return analysistest.end(env)

_program_is_few_files_test = analysistest.make(_program_is_few_files_impl)

def bytecode_tests(name):
    """Tests of py_bytecode, py_bundle and py_program.

    Args:
      name: the name of the test_suite.
    """
    _bytecode_lies_beside_its_source_test(
        name = "bytecode_lies_beside_its_source_test",
        target_under_test = "//tests/rules/bytecode:package.bytecode",
    )
    _program_is_few_files_test(
        name = "program_is_few_files_test",
        target_under_test = "//tests/rules/bytecode:program",
    )
    native.test_suite(
        name = name,
        tests = [
            ":bytecode_lies_beside_its_source_test",
            ":program_is_few_files_test",
        ],
    )
