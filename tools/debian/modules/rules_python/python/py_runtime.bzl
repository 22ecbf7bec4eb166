"""py_runtime, from Bazel 7 itself."""

py_runtime = native.py_runtime
