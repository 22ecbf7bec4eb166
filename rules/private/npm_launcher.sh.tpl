#!/bin/sh
# Node and node_modules lie beside this file in a runfiles tree, or in the one that `bazel run` makes.
here=${0%/*}
[ ! -d "$0.runfiles/%{repository}" ] || here=$0.runfiles/%{repository}
exec %{interpreter}"$here/%{program}" "$@"
