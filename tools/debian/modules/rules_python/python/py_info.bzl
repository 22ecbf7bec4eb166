"""PyInfo, from Bazel 7 itself."""

load("//python/private:native_providers.bzl", "native_py_info")

PyInfo = native_py_info
