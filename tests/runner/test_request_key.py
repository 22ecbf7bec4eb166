"""Request keys are the same in each run of the same thing, and other ones for any change."""

from typing import Any

import pytest

from replay.models.wire import WireRequest
from replay.runner.manifest import Rule
from replay.runner.request_key import make_key
from replay.runner.seam import SeamOrder
from replay.surface.personal import Redaction


class _Sandbox:
    def __init__(self, cwd: str) -> None:
        self.cwd = cwd

    def spellings(self) -> list[tuple[str, list[str]]]:
        return [("{{cwd}}", [self.cwd])]


def key_of(run: str = "a", rules: Any = (), redact: Any = list, **changes: Any) -> str:
    """The key in a run whose directory, ids and clock are those of `run`."""
    number = ord(run)
    cwd = f"/tmp/run-{number}/cwd"
    session = f"sess-9f{number}ab7c"
    sandbox: Any = _Sandbox(cwd)
    nothing: Any = None
    order = SeamOrder(nothing, nothing, nothing, sandbox, "s", rules, lambda: [session], redact)
    text = f"In {cwd} at 2030-01-02T03:04:{number % 60:02}Z as {session}, id 0f8fad5b-d9cb-469f-a165-{number:012}. Be kind."
    fields: dict[str, Any] = {
        "model": "m",
        "messages": [
            {"role": "system", "content": [{"type": "text", "text": text}]},
            {"role": "user", "content": [{"type": "text", "text": "go"}]},
            {"role": "tool", "content": [{"type": "tool-result", "toolCallId": f"call_{number}xyz", "content": []}]},
        ],
        "tools": [{"name": "read", "description": "Reads."}],
        "options": {"max_tokens": 5, "prompt_cache_key": session},
        "stream": True,
        "wants_usage": False,
    } | changes  # fmt: skip
    return make_key(order)(WireRequest(**fields))


def test_key_is_the_same_in_every_run() -> None:
    assert key_of("a") == key_of("b")
    assert key_of().startswith("sha256:") and len(key_of()) == 71


@pytest.mark.parametrize(
    "change",
    [
        {"model": "n"},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "go on"}]}]},
        {"tools": [{"name": "read", "description": "Writes."}]},
        {"tools": [{"description": "Reads.", "name": "read"}]},
        {"options": {"max_tokens": 6}},
    ],
)
def test_any_change_is_another_key(change: dict[str, Any]) -> None:
    assert key_of(**change) != key_of()


def test_how_the_reply_is_sent_and_marks_for_a_cache_are_no_part_of_it() -> None:
    assert key_of(stream=False, wants_usage=True) == key_of()
    marked = [{"name": "read", "description": "Reads.", "cache_control": {"type": "ephemeral"}}]
    assert key_of(tools=marked) == key_of()


def test_session_is_known_in_prose_from_the_moment_that_it_has_a_name() -> None:
    """No field tells this id, so only the driver can."""
    keys = []
    for session in ("sess-9f1ab7c", "sess-4d2cc01"):
        known: list[str] = []
        nothing: Any = None
        sandbox: Any = _Sandbox("/tmp/run/cwd")
        key = make_key(SeamOrder(nothing, nothing, nothing, sandbox, "s", (), lambda known=known: known))  # type: ignore[misc]
        message = {"role": "user", "content": [{"type": "text", "text": f"this is {session}, go"}]}
        request = WireRequest("m", [message], [], {}, True, False)
        before = key(request)
        known.append(session)
        keys.append((before, key(request)))
    (first, named), (second, named_again) = keys
    assert first != second and named == named_again


def test_suite_s_rules_apply() -> None:
    rules = [Rule("build [0-9]+", "{{build}}", "the day's build")]
    options = [{"user": f"build {number}"} for number in (1, 2)]
    assert key_of(rules=rules, options=options[0]) == key_of(rules=rules, options=options[1])
    assert key_of(options=options[0]) != key_of(options=options[1])


def test_machine_is_no_part_of_it() -> None:
    keys = set()
    for home, user, host in (("/data/homes/martina", "martina", "zeus-laptop"), ("/root", "root", "build")):
        text = f"You work in {home}/src for {user}@{host} ({user}@acme.io)."
        message = {"role": "system", "content": [{"type": "text", "text": text}]}
        redact = Redaction(homes=[home], user=user, host=host).redact
        keys.add(key_of(redact=redact, messages=[message]))
    assert len(keys) == 1
