"""py_binary, from Bazel 7 itself."""

py_binary = native.py_binary
