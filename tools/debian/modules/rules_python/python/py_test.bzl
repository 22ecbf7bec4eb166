"""py_test, from Bazel 7 itself."""

py_test = native.py_test
