"""How the cost of replays grows with their number: `bazel run //tools/bench/scale`."""
