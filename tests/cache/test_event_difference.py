"""Two files of build events: what they hold is explained, and what they do not hold is said."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from replay.cache.build_event_stream_pb2 import BuildEvent
from replay.cache.event_difference import explain_events
from replay.cache.reason import Explanation, Kind, Reason
from tests.cache.logs import events, write_events

LABEL = "//acp:hello_test"
RAN = {LABEL: {"execution_info": {"strategy": "linux-sandbox"}}}


def explained(tmp_path: Path, before: Sequence[BuildEvent], after: Sequence[BuildEvent]) -> Explanation:
    return explain_events(write_events(tmp_path / "a.bep", before), write_events(tmp_path / "b.bep", after))


def only_reason(explanation: Explanation) -> Reason:
    [group] = explanation.groups
    [reason] = group.reasons
    return reason


@pytest.mark.parametrize(
    ("result", "cache"),
    [
        ({"cached_locally": True}, "local action cache"),
        ({"execution_info": {"strategy": "disk cache hit", "cached_remotely": True}}, "disk cache"),
        ({"execution_info": {"strategy": "remote cache hit", "cached_remotely": True}}, "remote cache"),
        ({"execution_info": {"strategy": "remote", "cached_remotely": True}}, "remote cache"),
    ],
)
def test_hit_is_told_by_the_cache_that_answered(
    tmp_path: Path, result: dict[str, object], cache: str
) -> None:
    assert explained(tmp_path, events(RAN), events({LABEL: result})).hits == {cache: [LABEL]}


@pytest.mark.parametrize(
    ("option", "value", "effects"),
    [
        ("test_env", "A=b", ["TEST_RUNNER"]),
        ("test_arg", "-v", ["TEST_RUNNER"]),
        ("test_timeout", "100", ["UNKNOWN"]),
        ("compilation_mode", "opt", ["AFFECTS_OUTPUTS", "ACTION_COMMAND_LINES"]),
        ("remote_default_exec_properties", "OSFamily=Linux", ["UNKNOWN"]),
        ("an_option_of_the_future", "1", []),
    ],
)
def test_option_that_differs_is_the_reason(
    tmp_path: Path, option: str, value: str, effects: list[str]
) -> None:
    reason = only_reason(explained(tmp_path, events(RAN), events(RAN, {option: (value, effects)})))
    assert reason[:4] == (Kind.OPTION, f"--{option}", "", value)


@pytest.mark.parametrize(
    ("option", "effects"),
    [
        ("test_output", ["TEST_RUNNER", "TERMINAL_OUTPUT", "EXECUTION"]),
        ("curses", ["TERMINAL_OUTPUT"]),
        ("build_event_json_file", ["AFFECTS_OUTPUTS"]),
        ("jobs", ["HOST_MACHINE_RESOURCE_OPTIMIZATIONS", "EXECUTION"]),
    ],
)
def test_option_that_is_in_no_key_is_no_reason(tmp_path: Path, option: str, effects: list[str]) -> None:
    reason = only_reason(explained(tmp_path, events(RAN), events(RAN, {option: ("1", effects)})))
    assert reason.name == "nothing that build events hold differs"
    assert "--execution_log_compact_file" in reason.fix


def changed(made: list[BuildEvent], **fields: object) -> list[BuildEvent]:
    """The events with one field of one payload set, named payload__field."""
    for name, value in fields.items():
        payload, _, field = name.partition("__")
        for event in made:
            if event.HasField(payload):
                setattr(getattr(event, payload), field, value)
    return made


@pytest.mark.parametrize(
    ("fields", "kind", "name", "before", "after"),
    [
        ({"started__build_tool_version": "8.0.0"}, Kind.OPTION, "version of Bazel", "7.7.1", "8.0.0"),
        ({"started__command": "coverage"}, Kind.OPTION, "command", "test", "coverage"),
        ({"configuration__mnemonic": "k8-opt"}, Kind.DIRECTORY, "bazel-out", "k8-fastbuild", "k8-opt"),
    ],
)
def test_what_differs_of_the_run_is_the_reason(
    tmp_path: Path, fields: dict[str, object], kind: Kind, name: str, before: str, after: str
) -> None:
    reason = only_reason(explained(tmp_path, events(RAN), changed(events(RAN), **fields)))
    assert reason[:4] == (kind, name, before, after)


def test_file_of_the_target_is_named(tmp_path: Path) -> None:
    before, after = (
        events(RAN, files={"acp/hello/input.json": digest, "same": "1"}) for digest in ("old", "new")
    )
    assert only_reason(explained(tmp_path, before, after))[:4] == (
        Kind.INPUT,
        "acp/hello/input.json",
        "old",
        "new",
    )


def test_timeout_of_the_target_is_named(tmp_path: Path) -> None:
    after = events(RAN)
    for event in after:
        if event.HasField("completed"):
            event.completed.test_timeout.FromSeconds(100)
    assert only_reason(explained(tmp_path, events(RAN), after))[:4] == (Kind.TIMEOUT, "", "60 s", "100 s")


NO_CACHE = {"disk_cache": ("", ["UNKNOWN"])}
NOT_LOOKED = {"cache_test_results": ("0", ["UNKNOWN"])}
READER = {**NO_CACHE, "remote_cache": ("http://cache", []), "remote_upload_local_results": ("0", [])}
DEAF = {**NO_CACHE, "remote_cache": ("http://cache", []), "remote_accept_cached": ("0", [])}


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (events(RAN, NO_CACHE), events(RAN), "A stored nothing: it had no cache"),
        (events(RAN), events(RAN, NO_CACHE), "B asked no cache but that of its own output base"),
        (events(RAN), events(RAN, NOT_LOOKED), "B did not look for a result: --nocache_test_results"),
        (events(RAN), events(RAN, tags=["external"]), "B did not look for a result: the tag external"),
        (events(RAN), events(RAN, DEAF), "B did not look for a result: --noremote_accept_cached"),
        (events(RAN, READER), events(RAN), "A stored nothing: --noremote_upload_local_results"),
        (events({LABEL: {"status": "FAILED"}}), events(RAN), "A stored nothing: the test was FAILED there"),
        (
            events(RAN),
            events(RAN, {"disk_cache": ("/other", [])}),
            "the runs have different caches: --disk_cache",
        ),
        (events({"//acp:old_test": {}}), events(RAN), "A has no such test"),
    ],
)
def test_equal_runs_are_explained_by_the_cache(
    tmp_path: Path, before: list[BuildEvent], after: list[BuildEvent], said: str
) -> None:
    reason = only_reason(explained(tmp_path, before, after))
    assert (reason.kind, reason.name) == (Kind.CACHE, said)


def test_what_events_do_not_hold_and_where_tests_ran_is_noted(tmp_path: Path) -> None:
    after = events({LABEL: {"execution_info": {"strategy": "remote"}}})
    for made, user in ((after, "you"), (before := events(RAN), "me")):
        made.append(BuildEvent(workspace_status={"item": [{"key": "STABLE_USER", "value": user}]}))
    notes = explained(tmp_path, before, after).notes
    assert "hold no inputs" in notes[0]
    assert "by linux-sandbox and B by remote" in notes[1]
    assert "STABLE_USER" in notes[2]


def test_secret_of_an_option_is_not_shown(tmp_path: Path) -> None:
    header = "x-build-key=sk-ant-api03-" + "q7Zr9TfKx2LmW8vBnY4c" * 4
    reason = only_reason(explained(tmp_path, events(RAN), events(RAN, {"test_env": (header, [])})))
    assert reason.after == "(a secret, not shown)"
