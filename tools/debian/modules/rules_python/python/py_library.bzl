"""py_library, from Bazel 7 itself."""

py_library = native.py_library
