"""Tests of the attributes that acp_replay_suite gives its targets. Called in the package of the suite, after it."""

load("@bazel_skylib//lib:unittest.bzl", "loadingtest")

def attribute_tests(name):
    """Tests of the attributes that acp_replay_suite gives its targets.

    Args:
      name: prefix of the tests' names.
    """
    env = loadingtest.make(name)

    def check(case, target, attribute, expected):
        rule = native.existing_rule(target)
        actual = rule.get(attribute) if rule else None

        # Bazel hands lists back as tuples, and tags in an order of its own.
        if type(actual) == "tuple":
            actual = sorted(actual)
        loadingtest.equals(env, case, sorted(expected) if type(expected) == "list" else expected, actual)

    check("scenario_takes_size_of_its_own", "plain_test", "size", "large")
    check("scenario_tags_are_added", "plain_test", "tags", ["manual", "suite-tag", "exclusive", "block-network"])
    check("suite_tags_reach_the_others", "dot.ted_test", "tags", ["manual", "suite-tag", "block-network"])
    check("others_are_small", "dot.ted_test", "size", "small")
    check("scenario_takes_timeout_of_its_own", "pinned_test", "timeout", "eternal")
    check("scenario_takes_agent_of_its_own", "pinned_test", "agent", ":gateway_agent")
    check("others_take_the_agent_of_the_suite", "dot.ted_test", "agent", ":agent")
    check("scenario_takes_platforms_of_its_own", "pinned_test", "target_compatible_with", [str(Label("@platforms//:incompatible"))])
    check("guard_has_no_network", "suite_guard_test", "tags", ["manual", "suite-tag", "block-network"])
    check("batch_is_sharded", "batched_batch_test", "shard_count", 2)
    check("batch_is_medium", "batched_batch_test", "size", "medium")
    check("manual_suite_is_manual", "suite", "tags", ["manual"])
    check("suite_lists_everything", "suite", "tests", [
        ":dot.ted_test",
        ":größe-日本_test",
        ":pinned_test",
        ":plain_test",
        ":seeded_test",
        ":two_words_test",
        ":undeclared-override_test",
        ":unexpected_test",
        ":with-override_test",
        ":override-gone_test",
        ":suite_guard_test",
    ])
    check("batch_replaces_the_others", "batched", "tests", [":batched_batch_test", ":batched_guard_test"])
