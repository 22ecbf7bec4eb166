"""transport_guard_test: every file below the package belongs to a transport scenario, and is well formed."""

load(":guard.bzl", "SUITE_ATTRS", "guard_attrs", "guard_providers", "guard_target")
load(":launch.bzl", "label_text")

def _transport_guard_test_impl(ctx):
    return guard_providers(
        ctx,
        "transport_guard",
        suite = ctx.attr.suite or label_text(ctx.label),
        commands = ctx.attr.commands,
        providers = ctx.attr.providers,
        inexpressible = json.decode(ctx.attr.inexpressible),
        surfaces = ctx.attr.surfaces,
    )

_transport_guard_test = rule(
    implementation = _transport_guard_test_impl,
    attrs = guard_attrs(
        Label("//replay/runner:transport_guard"),
        inexpressible = attr.string(
            doc = "Scenario to provider to why it cannot express it, as JSON.",
            default = "{}",
        ),
        providers = attr.string_list(
            doc = "The providers that every scenario has a transcript of, or a reason.",
        ),
        surfaces = attr.string_list(
            doc = "What every test compares, such as \"projection.json\".",
        ),
        **SUITE_ATTRS
    ),
    doc = "Checks that a package's transcripts are complete, claimed, canonical and free of secrets.",
    test = True,
)

def transport_guard_test(name, providers = [], inexpressible = {}, surfaces = [], suite = "", **kwargs):
    """Checks all transcripts of this package and what belongs to them; fails when run, never at loading.

    Args:
      name: the target's name.
      providers: the providers that every scenario has a transcript of.
      inexpressible: scenario to provider to the reason why it has none.
      surfaces: what every test compares, such as "projection.json".
      suite: the label of the suite that the guard belongs to.
      **kwargs: `commands`, and the common attributes of tests.
    """
    guard_target(
        name = name,
        rule = _transport_guard_test,
        providers = providers,
        inexpressible = json.encode(inexpressible),
        surfaces = surfaces,
        suite = suite,
        **kwargs
    )
