"""The record command as a person uses it, against a scripted provider: what it writes, says and refuses."""

import json
import re
from pathlib import Path

import pytest

from tests.models.provider import Answer, Provider, broken, refusal, said, tool
from tests.runner.recorder import KEY, Tree


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path, logs_itself=False)


@pytest.fixture(params=[True, False], ids=["logs-itself", "gateway-log"])
def either(tmp_path: Path, request) -> Tree:
    return Tree(tmp_path, logs_itself=request.param)


@pytest.fixture
def logging_tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def rows(tree: Tree, name: str) -> list[dict]:
    return [json.loads(line) for line in tree.files(name)["session.jsonl"].splitlines()]


def texts(tree: Tree, name: str) -> list[str]:
    """The texts of the model's blocks, one a block."""
    chunks = [row["data"]["chunk"] for row in rows(tree, name) if row["type"] == "assistant/chunk"]
    return [
        chunk["block"].get("text") or chunk["block"]["arguments"]
        for chunk in chunks
        if chunk["type"] == "block-end"
    ]


def test_text_turn_is_recorded_and_its_refresh_changes_nothing(either: Tree) -> None:
    either.add("hello", "say hello")
    with Provider(said("Hel", "lo", " there.")) as provider:
        outcome = either.record("hello", upstream=provider.url + "/v1")
    assert outcome.code == 0, outcome
    assert re.search(r"hello: wrote session\.jsonl \(\+\d+ -0\), wrote stdout", outcome.out) or re.search(
        r"hello: wrote stdout\.expected\.jsonl \(\+\d+ -0\), wrote session", outcome.out
    )
    assert re.fullmatch(r"hello: 1 call, 10 tokens in, 3 out, \d+\.\d s\n", outcome.err)
    assert texts(either, "hello") == ["Hello there."]
    provenance = rows(either, "hello")[0]["provenance"]
    assert provenance["kind"] == "recorded" and provenance["model"] == "agent-model"
    assert provenance["agent"] == {"name": "live-agent", "version": "1.2.3"}
    assert provenance["tool"].startswith("agent_replay ") and provenance["cwdPolicy"] == "fresh"
    before = either.files("hello")
    assert either.refresh("hello").out == "hello: unchanged\n"
    assert either.files("hello") == before


def test_same_words_recorded_again_are_a_zero_byte_diff(either: Tree) -> None:
    either.add("hello", "say hello")
    with Provider(said("Hi.", cached=0, timing=1.5), said("Hi.", cached=9, timing=77.25)) as provider:
        assert either.record("hello", upstream=provider.url).code == 0
        before = either.files("hello")
        log = either.fixture("hello") / "session.jsonl"
        # As if it had been recorded on another day.
        log.write_bytes(
            re.sub(rb'"capturedAt":"[0-9-]+"', b'"capturedAt":"2020-01-01"', before["session.jsonl"])
        )
        before = either.files("hello")
        outcome = either.record("hello", upstream=provider.url)
    assert outcome.out == "hello: unchanged\n", outcome
    assert either.files("hello") == before
    assert b"77.25" not in b"".join(before.values())


def test_other_words_are_another_recording(tree: Tree) -> None:
    tree.add("hello", "say hello")
    with Provider(said("Hi."), said("Ho.")) as provider:
        tree.record("hello", upstream=provider.url)
        first = rows(tree, "hello")[0]["provenance"]["checksum"]
        assert tree.record("hello", upstream=provider.url).code == 0
    assert rows(tree, "hello")[0]["provenance"]["checksum"] != first
    assert texts(tree, "hello") == ["Ho."]


def test_tool_turn_is_recorded_with_what_the_tool_minted_as_a_reference(either: Tree) -> None:
    either.add("mint", "make an id")

    def repeat(seen) -> Answer:
        minted = seen[-1].body["messages"][-1]["content"].split()[2]
        return said("It is ", minted[:9], minted[9:20], minted[20:], ".")

    with Provider(tool("mint", "{", "}"), repeat) as provider:
        outcome = either.record("mint", upstream=provider.url)
    assert outcome.code == 0, outcome
    arguments, text = texts(either, "mint")
    assert arguments == "{}"
    assert text.startswith("It is {{fromRequest:made\\ id:\\ (") and text.endswith(")}}.")
    assert either.refresh("mint").out == "mint: unchanged\n"


def test_paths_of_the_run_that_are_cut_over_deltas_are_placeholders(either: Tree) -> None:
    either.add("where", "where are you")

    def repeat(seen) -> Answer:
        path = seen[-1].body["messages"][-1]["content"].removeprefix("cwd: ")
        return said(path[:7], path[7:30], path[30:] + "/a.txt")

    with Provider(tool("where", "{}"), repeat) as provider:
        outcome = either.record("where", upstream=provider.url)
    assert outcome.code == 0, outcome
    assert texts(either, "where")[1] == "{{cwd}}/a.txt"
    assert b"agent_replay-" not in b"".join(either.files("where").values())
    assert either.refresh("where").out == "where: unchanged\n"


def test_machine_that_the_model_repeats_is_in_no_file(either: Tree) -> None:
    either.add("who", "who are you")

    def repeat(seen) -> Answer:
        asked = seen[-1].body["messages"][-1]["content"]
        return said(asked[:3], asked[3:7], asked[7:])

    with Provider(tool("who", "{}"), repeat) as provider:
        outcome = either.record("who", upstream=provider.url)
        told = provider.seen[-1].body["messages"][-1]["content"]
    assert outcome.code == 0, outcome
    assert texts(either, "who")[1] == "user@host:/home/user/x"
    assert told.encode() not in b"".join(either.files("who").values())
    assert told.partition(":")[0].encode() not in b"".join(either.files("who").values())
    assert either.refresh("who").out == "who: unchanged\n"


def test_uuid_that_the_model_makes_up_is_its_word(either: Tree) -> None:
    either.add("made-up", "make an id up")
    with Provider(said("1b4e28ba-2fa1-11d2-883f-0016d3cca427")) as provider:
        assert either.record("made-up", upstream=provider.url).code == 0
    assert texts(either, "made-up") == ["1b4e28ba-2fa1-11d2-883f-0016d3cca427"]
    assert either.refresh("made-up").out == "made-up: unchanged\n"


@pytest.mark.parametrize("answer", [refusal(429, "slow down"), broken("Hel", "lo")], ids=["status", "broken"])
def test_failure_that_the_script_expects_is_recorded(tree: Tree, answer: Answer) -> None:
    tree.add("fails", steps=[{"op": "promptExpectError", "text": "hello"}])
    with Provider(answer) as provider:
        outcome = tree.record("fails", upstream=provider.url)
    assert outcome.code == 0, outcome
    [ending] = [row["data"]["outcome"] for row in rows(tree, "fails") if row["type"] == "call/end"]
    assert ending["kind"] == "failed"
    assert tree.refresh("fails").out == "fails: unchanged\n"


def test_failure_that_an_agent_tells_in_other_words_at_its_replay_is_refused(logging_tree: Tree) -> None:
    # It logs "HTTP 429: slow down", is served that as the provider's words, and logs "HTTP 500: HTTP 429: …".
    logging_tree.add("fails", steps=[{"op": "promptExpectError", "text": "hello"}])
    with Provider(refusal(429, "slow down")) as provider:
        outcome = logging_tree.record("fails", upstream=provider.url)
    assert outcome.code == 1 and "the agent logs another model stream than it was served" in outcome.out
    assert list(logging_tree.files("fails")) == ["input.json"]


def test_failure_that_nobody_expects_is_not_recorded(tree: Tree) -> None:
    tree.add("fails", "hello")
    with Provider(refusal(401, f"no such key: {KEY}")) as provider:
        outcome = tree.record("fails", upstream=provider.url)
    assert outcome.code != 0
    assert "call 1 failed at the provider: no such key: [key]" in outcome.out
    assert "nothing was written" in outcome.out
    assert list(tree.files("fails")) == ["input.json"]


def test_failure_that_an_agent_keeps_to_itself_does_not_replace_a_fixture(tree: Tree) -> None:
    tree.add("hello", "say hello")
    tree.agent["env"] = {"AGENT_QUIET": "1"}
    with Provider(said("Hi."), refusal(401, "no such key"), refusal(401, "no such key")) as provider:
        assert tree.record("hello", upstream=provider.url).code == 0
        before = tree.files("hello")
        outcome = tree.record("hello", upstream=provider.url)
        assert outcome.code == 1
        assert "the provider refused the last call, and the agent did not say so" in outcome.out
        assert "call 1 failed at the provider: no such key" in outcome.out
        assert tree.files("hello") == before
        assert tree.record("hello", "--keep-failure", upstream=provider.url).code == 0
    assert tree.files("hello") != before
    assert tree.refresh("hello").out == "hello: unchanged\n"


def test_dead_upstream_is_one_sentence_and_the_fixture_stays(tree: Tree) -> None:
    tree.add("hello", "say hello")
    with Provider(said("Hi.")) as provider:
        tree.record("hello", upstream=provider.url)
        url = provider.url
    before = tree.files("hello")
    outcome = tree.record("hello", upstream=url)
    assert outcome.code == 2
    assert f"{url} does not answer: Connection refused" in outcome.out
    assert "Traceback" not in outcome.out + outcome.err
    assert tree.files("hello") == before


def test_key_is_in_no_file_and_on_no_console(tree: Tree) -> None:
    tree.add("hello", "say hello")
    with Provider(said("Hi.")) as provider:
        outcome = tree.record("hello", "--outputs", "out", upstream=provider.url)
        assert provider.seen[0].headers["authorization"] == f"Bearer {KEY}"
    assert outcome.code == 0
    assert KEY not in outcome.out + outcome.err
    for path in tree.directory.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path


def test_key_that_the_model_repeats_is_not_written(either: Tree) -> None:
    either.add("leak", "say it")
    with Provider(said("It is ", KEY[:10], KEY[10:], ".")) as provider:
        outcome = either.record("leak", upstream=provider.url)
    assert KEY not in outcome.out + outcome.err
    assert KEY.encode() not in b"".join(either.files("leak").values())


def test_key_in_the_prompt_is_refused(tree: Tree) -> None:
    tree.add("leak", f"my key is {KEY}")
    with Provider(said("Thanks.")) as provider:
        outcome = tree.record("leak", upstream=provider.url)
    assert outcome.code == 2, outcome
    assert "scenarios/leak/input.json" in outcome.out and KEY not in outcome.out
    assert list(tree.files("leak")) == ["input.json"]


def test_missing_key_is_said_before_anything_runs(tree: Tree) -> None:
    tree.add("hello", "say hello")
    tree.variables = {}
    outcome = tree.record("hello", upstream="https://provider.invalid/v1")
    assert outcome.code == 2
    assert (
        "there is no key for https://provider.invalid/v1: OPENAI_API_KEY or AGENT_REPLAY_KEY is not set"
        in outcome.out
    )


def test_own_key_wins_and_other_model_is_asked(tree: Tree) -> None:
    tree.add("hello", "say hello")
    tree.variables["AGENT_REPLAY_KEY"] = "other"
    with Provider(said("Hi.")) as provider:
        assert tree.record("hello", "--model", "big", upstream=provider.url).code == 0
    assert provider.seen[0].headers["authorization"] == "Bearer other"
    assert provider.seen[0].body["model"] == "big"
    assert rows(tree, "hello")[0]["provenance"]["model"] == "big"
    assert tree.refresh("hello").out == "hello: unchanged\n"


def test_earlier_turns_are_kept_and_later_ones_recorded(either: Tree) -> None:
    either.add("turns", "one", "two", "three")
    with Provider(said("A."), said("B."), said("C."), said("D."), said("E.")) as provider:
        assert either.record("turns", upstream=provider.url).code == 0
        outcome = either.record("turns", "--from-turn", "2", upstream=provider.url)
        asked = provider.seen[3].body["messages"]
    assert outcome.code == 0, outcome
    assert "2 calls" in outcome.err and "3 calls" not in outcome.err
    assert texts(either, "turns") == ["A.", "D.", "E."]
    assert [message["content"] for message in asked[1:]] == ["one", "A.", "two"]
    assert either.refresh("turns").out == "turns: unchanged\n"


def test_earlier_turns_keep_their_references(either: Tree) -> None:
    either.add("mint", "make an id", "thanks")

    def repeat(seen) -> Answer:
        return said("It is ", seen[-1].body["messages"][-1]["content"].split()[2], ".")

    with Provider(tool("mint", "{}"), repeat, said("Bye."), said("Ciao.")) as provider:
        assert either.record("mint", upstream=provider.url).code == 0
        before = texts(either, "mint")
        assert either.record("mint", "--from-turn", "2", upstream=provider.url).code == 0
    assert texts(either, "mint") == [*before[:2], "Ciao."]


def test_from_turn_needs_a_recording(tree: Tree) -> None:
    tree.add("hello", "say hello")
    outcome = tree.record("hello", "--from-turn", "2", upstream="http://127.0.0.1:9")
    assert outcome.code == 2 and "leave --from-turn out" in outcome.out


def test_several_at_once_end_with_a_table(tree: Tree) -> None:
    for name in ("a", "b", "c"):
        tree.add(name, "say hello")
    with Provider(*(said("Hi.") for _ in range(3))) as provider:
        outcome = tree.record("--all", "--jobs", "2", upstream=provider.url)
    assert outcome.code == 0, outcome
    table = outcome.out.splitlines()[-5:]
    assert table[0].split() == ["scenario", "outcome", "calls", "tokens", "in", "tokens", "out", "seconds"]
    assert re.fullmatch(r"3 scenarios +3 written +3 +30 +9 +\d+\.\d", table[-1])
    assert sorted(line.split(":")[0] for line in outcome.err.splitlines()) == ["a", "b", "c"]
    assert tree.processes() == []


def test_one_that_fails_does_not_stop_the_others(tree: Tree) -> None:
    for name in ("a", "b"):
        tree.add(name, "say hello")
    with Provider(refusal(500, "no"), said("Hi.")) as provider:
        outcome = tree.record("a", "b", upstream=provider.url)
    assert outcome.code != 0
    assert list(tree.files("a")) == ["input.json"] and "session.jsonl" in tree.files("b")
    assert "1 written, 1 failed" in outcome.out


def test_only_stale_takes_what_was_never_recorded(tree: Tree) -> None:
    tree.add("a", "say hello")
    tree.add("b", "say hello")
    with Provider(said("Hi."), said("Hi.")) as provider:
        assert tree.record("a", upstream=provider.url).code == 0
        outcome = tree.record("--only-stale", upstream=provider.url)
        assert outcome.out.startswith("b: wrote"), outcome
        assert tree.record("--only-stale", upstream=provider.url).out == "no scenario is stale\n"


def test_agent_that_does_not_say_what_it_speaks_is_refused(logging_tree: Tree) -> None:
    logging_tree.add("hello", "say hello")
    logging_tree.agent = {"model_api": ""}
    outcome = logging_tree.record("hello", upstream="http://127.0.0.1:9")
    assert outcome.code == 2
    assert "does not say which API it speaks" in outcome.out and "live_api" in outcome.out


def test_mistakes_are_sentences(logging_tree: Tree) -> None:
    logging_tree.add("hello", "say hello")
    for arguments, sentence in (
        (["nobody"], 'there is no scenario "nobody"'),
        ([], "name a scenario, or say --all"),
    ):
        outcome = logging_tree.record(*arguments, upstream="http://127.0.0.1:9")
        assert outcome.code == 2 and sentence in outcome.err and "Traceback" not in outcome.err
    outcome = logging_tree.record("hello", upstream="nonsense")
    assert outcome.code == 2 and '"nonsense" is no base URL of a provider' in outcome.out


def test_scenario_without_a_session_is_recorded(either: Tree) -> None:
    fixture = either.add("größe 2")
    (fixture / "input.json").write_text('{"steps":[{"op":"initialize"}]}')
    with Provider() as provider:
        outcome = either.record("größe 2", upstream=provider.url)
    assert outcome.code == 0, outcome
    assert [row["type"] for row in rows(either, "größe 2")] == ["session"]
    assert either.refresh("größe 2").out == "größe 2: unchanged\n"
