"""Bazel 7's own providers under private names: a file cannot export a global under the name that it has already."""

native_py_info = PyInfo
native_py_runtime_info = PyRuntimeInfo
