"""The Python rules under the names of rules_python 1.x."""

load("@bazel_tools//tools/python:toolchain.bzl", _py_runtime_pair = "py_runtime_pair")
load(":py_binary.bzl", _py_binary = "py_binary")
load(":py_info.bzl", _PyInfo = "PyInfo")
load(":py_library.bzl", _py_library = "py_library")
load(":py_runtime.bzl", _py_runtime = "py_runtime")
load(":py_runtime_info.bzl", _PyRuntimeInfo = "PyRuntimeInfo")
load(":py_test.bzl", _py_test = "py_test")

PyInfo = _PyInfo
PyRuntimeInfo = _PyRuntimeInfo
py_binary = _py_binary
py_library = _py_library
py_runtime = _py_runtime
py_runtime_pair = _py_runtime_pair
py_test = _py_test
