"""What a replay costs: `bazel run //tools/bench`."""
