"""trace_guard_test: every file of a trace suite belongs to it, and is well formed."""

load(":guard.bzl", "guard_attrs", "guard_providers", "guard_target")

def _trace_guard_test_impl(ctx):
    return guard_providers(ctx, "trace_guard", record = ctx.attr.record)

_trace_guard_test = rule(
    implementation = _trace_guard_test_impl,
    attrs = guard_attrs(
        Label("//replay/runner:trace_guard"),
        record = attr.string(
            doc = "The label of the target that records traces of this package, as messages write it.",
        ),
    ),
    doc = "Checks that a package's traces, snapshots and suite.json are sound, canonical, claimed and free of secrets.",
    test = True,
)

def trace_guard_test(name, record = "", **kwargs):
    """Checks all traces of this package and what belongs to them; fails when run, never at loading.

    Args:
      name: the target's name.
      record: the label of the trace_record target of this package, for messages.
      **kwargs: the common attributes of tests, without `flaky`.
    """
    guard_target(
        name = name,
        rule = _trace_guard_test,
        record = record,
        **kwargs
    )
