"""PyRuntimeInfo, from Bazel 7 itself."""

load("//python/private:native_providers.bzl", "native_py_runtime_info")

PyRuntimeInfo = native_py_runtime_info
