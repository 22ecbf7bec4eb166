"""transport_replay_suite: every transcript of a package as a test, and the guard over all of them."""

load(":layout.bzl", "files_below", "package_files", "target_name")
load(":replay_suite.bzl", "naming_problem", "own_attributes")
load(":scenarios.bzl", "scenarios_name", "scenarios_of")
load(":transport_guard_test.bzl", "transport_guard_test")
load(":transport_layout.bzl", "transport_files", "transport_variants")
load(":transport_test.bzl", "transport_target")

# Attributes of transport_replay_test that its guard has no use for.
_OF_TESTS = ["args", "data", "env", "exit_seconds", "interleave", "max_orders", "order_surfaces", "real_time"]

def transport_replay_suite(
        name,
        subject,
        providers = [],
        inexpressible = {},
        surfaces = [],
        per_scenario = {},
        **kwargs):
    """Makes `<scenario>_<variant>_test` of every variant, `<name>_guard_test`, and the test_suite `<name>`.

    A scenario is a directory of this package, a variant what stands before the first dot of its transcripts: most often
    a provider. The subject learns both from AGENT_REPLAY_SCENARIO and AGENT_REPLAY_VARIANT. For replay_commands it also
    makes `<name>.scenarios`, which collects the tests and is of no other use.

    Args:
      name: the suite's name.
      subject: label of the executable that plays every scenario.
      providers: the providers that every scenario has a transcript of; the guard names each that is missing.
      inexpressible: scenario to a dict of provider to the reason why its protocol cannot express it.
      surfaces: what every test compares, such as "projection.json": its variant needs the expected file.
      per_scenario: scenario, or scenario/variant, to a dict of attributes of its own: `tags` (added to the suite's), and
        `subject`, `size`, `interleave`, `order_surfaces`, … (in place of the suite's).
      **kwargs: what transport_replay_test takes besides, passed to every test: `data`, `args`, `env`, `interleave`,
        `max_orders`, `order_surfaces`, `real_time`, `exit_seconds`, `commands`, and the common attributes of tests.
    """
    suite = "//{}:{}".format(native.package_name(), name)
    paths = package_files()
    files = files_below(paths)
    found = transport_variants(paths)
    guard = name + "_guard_test"
    tests = {}
    for directory, variant in found:
        test = target_name("{}_{}".format(directory, variant))
        if test in tests:
            fail("{}: two targets would be called {}; rename one of the scenario directories".format(suite, repr(test)))
        tests[test] = (directory, variant)
    problem = naming_problem({directory: True for directory, _ in found}.keys(), tests.keys() + [guard, scenarios_name(name)])
    if problem:
        fail("{}: {}".format(suite, problem))
    known = {directory: True for directory, _ in found} | {directory + "/" + variant: True for directory, variant in found}
    for key in per_scenario:
        if key not in known:
            fail("{}: attribute \"per_scenario\" has {}, which has no transcript; write one of {}".format(suite, repr(key), ", ".join(sorted(known))))
    fits = {}
    for test, (directory, variant) in tests.items():
        attributes = own_attributes(
            own_attributes(dict(kwargs, subject = subject), per_scenario.get(directory, {})),
            per_scenario.get(directory + "/" + variant, {}),
        )
        fits[test] = attributes.get("target_compatible_with")
        transport_target(
            name = test,
            srcs = transport_files(files[directory], directory, variant),
            scenario = directory,
            variant = variant,
            suite = suite,
            **attributes
        )
    transport_guard_test(
        name = guard,
        providers = providers,
        inexpressible = inexpressible,
        surfaces = surfaces,
        suite = suite,
        **{key: value for key, value in kwargs.items() if key not in _OF_TESTS}
    )
    scenarios_of(name, fits)
    native.test_suite(
        name = name,
        tests = [":" + test for test in tests.keys() + [guard]],
        # Without it a wildcard would find the tests through the suite.
        tags = [tag for tag in kwargs.get("tags") or [] if tag == "manual"],
        visibility = kwargs.get("visibility"),
        testonly = kwargs.get("testonly"),
    )
