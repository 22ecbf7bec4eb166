"""Tests of py_bytecode."""

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

def bytecode_tests(name):
    """Tests of py_bytecode.

    Args:
      name: the name of the test_suite.
    """
    _bytecode_lies_beside_its_source_test(
        name = "bytecode_lies_beside_its_source_test",
        target_under_test = "//tests/rules/bytecode:package.bytecode",
    )
    native.test_suite(
        name = name,
        tests = [":bytecode_lies_beside_its_source_test"],
    )
