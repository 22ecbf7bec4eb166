"""The first difference, and the words for it."""

import pytest

from replay.surface import ABSENT, first_difference, render_difference, unified
from replay.surface.arrange import arrange, float_updates, group_tools, merge_text


def update(kind, text=None, **more):
    content = {} if text is None else {"content": {"type": "text", "text": text}}
    return {"method": "session/update", "params": {"update": {"sessionUpdate": kind, **content, **more}}}


@pytest.mark.parametrize(
    ("expected", "actual", "line", "path", "left", "right"),
    [
        ([{"a": 1}], [{"a": 2}], 1, "$.a", 1, 2),
        ([{"a": None}], [{}], 1, "$.a", None, ABSENT),
        ([{}], [{"a": None}], 1, "$.a", ABSENT, None),
        ([{"a": True}], [{"a": 1}], 1, "$.a", True, 1),
        ([{"a": 0}], [{"a": False}], 1, "$.a", 0, False),
        ([{"a": "1"}], [{"a": 1}], 1, "$.a", "1", 1),
        ([{"a": [1, 2]}], [{"a": [1]}], 1, "$.a[1]", 2, ABSENT),
        ([{"a": [1]}], [{"a": [1, 3]}], 1, "$.a[1]", ABSENT, 3),
        ([{"x y": {"b": 1}}], [{"x y": {"b": 2}}], 1, '$["x y"].b', 1, 2),
        ([{"a": 1}, {"b": 1}], [{"a": 1}], 2, "$", {"b": 1}, ABSENT),
        ([{"a": 1}], [{"a": 1}, {"b": 1}], 2, "$", ABSENT, {"b": 1}),
        ([{"a": {}}], [{"a": []}], 1, "$.a", {}, []),
    ],
)
def test_the_first_difference_is_a_line_a_path_and_two_values(expected, actual, line, path, left, right):
    found = first_difference(expected, actual, "stdout")
    assert found == ("stdout", line, path, left, right)
    assert (type(found.expected), type(found.actual)) == (type(left), type(right))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ([], []),
        ([{"a": 1, "b": 2}], [{"b": 2, "a": 1}]),
        ([{"a": 1}], [{"a": 1.0}]),
        (["\ud800"], ["\ud800"]),
    ],
)
def test_what_is_no_difference(left, right):
    assert first_difference(left, right) is None
    assert unified(left, left) == ""


def test_an_added_line_is_the_difference_and_not_what_it_pushed_away():
    expected = [update("plan"), update("agent_message_chunk", "DONE")]
    actual = [update("plan"), update("tool_call"), update("agent_message_chunk", "DONE")]
    assert first_difference(expected, actual, "stdout") == ("stdout", 2, "$", ABSENT, update("tool_call"))
    assert first_difference(actual, expected, "stdout") == ("stdout", 2, "$", update("tool_call"), ABSENT)
    assert render_difference(first_difference(expected, actual, "stdout")).startswith(
        "stdout:2 $: unexpected line {"
    )
    assert render_difference(first_difference(actual, expected, "stdout")).startswith(
        "stdout:2 $: missing line {"
    )


def test_the_sentence_shows_short_values_whole():
    found = first_difference([{"text": "DONE"}], [{"text": "DONE!"}], "stdout")
    assert render_difference(found) == 'stdout:1 $.text: expected "DONE", actual "DONE!"'
    found = first_difference([{"text": None}], [{}], "session")
    assert render_difference(found) == "session:1 $.text: expected null, actual absent"


def test_of_long_texts_the_sentence_shows_the_neighbourhood_of_the_difference():
    head = "x" * 5000
    found = first_difference([{"text": f"{head} RED end"}], [{"text": f"{head} BLUE end"}], "stdout")
    sentence = render_difference(found)
    assert "RED end" in sentence and "BLUE end" in sentence
    assert len(sentence) < 300


def test_the_diff_shows_lines_around_and_of_a_line_only_what_differs():
    frames = [{"id": number, "result": {"a": 1, "b": [1, 2, 3], "text": "same"}} for number in range(20)]
    changed = [*frames]
    changed[10] = {"id": 10, "result": {"a": 1, "b": [1, 9, 3], "text": "same"}}
    diff = unified(frames, changed)
    assert diff.startswith("--- expected\n+++ actual\n@@ line 9 @@\n")
    assert "-      2,\n+      9,\n" in diff
    assert '"id":8' in diff and '"id":12' in diff and '"id":7' not in diff
    assert diff.count("\n") < 20


def test_the_diff_is_bounded_and_says_how_much_is_left():
    diff = unified([{"a": number} for number in range(500)], [], max_lines=10)
    assert diff.count("\n") == 9
    assert diff.endswith("more lines")


def test_the_diff_of_long_strings_is_cut_to_their_difference():
    diff = unified([{"t": "y" * 9000 + "1"}], [{"t": "y" * 9000 + "2"}])
    assert 'y1"' in diff and 'y2"' in diff
    assert len(diff) < 700


def test_floating_updates_go_to_the_end_and_keep_their_own_order():
    frames = [
        update("available_commands_update", n=1),
        {"id": 1},
        update("available_commands_update", n=2),
        update("plan"),
    ]
    assert float_updates(frames, ["available_commands_update"]) == [
        frames[1],
        frames[3],
        frames[0],
        frames[2],
    ]
    assert float_updates(float_updates(frames, ["plan"]), ["plan"]) == float_updates(frames, ["plan"])


def test_adjacent_text_chunks_of_one_message_merge_and_others_do_not():
    chunk = "agent_message_chunk"
    frames = [update(chunk, "a"), update(chunk, "b"), update("agent_thought_chunk", "c"), update(chunk, "d", messageId="m"), update(chunk, "e")]  # fmt: skip
    assert merge_text(frames) == [update(chunk, "ab"), *frames[2:]]
    assert merge_text(merge_text(frames)) == merge_text(frames)


def test_updates_of_parallel_tools_keep_their_order_for_each_call_only():
    def tool(kind, call, status):
        return update(kind, toolCallId=call, status=status)

    a1, a2 = tool("tool_call", "a", "pending"), tool("tool_call_update", "a", "completed")
    b1, b2 = tool("tool_call", "b", "pending"), tool("tool_call_update", "b", "completed")
    text = update("agent_message_chunk", "x")
    assert group_tools([b1, a1, a2, b2, text, b2, a2]) == [a1, a2, b1, b2, text, a2, b2]
    assert group_tools([a2, a1]) == [a2, a1]
    assert group_tools(group_tools([b1, a1, text])) == group_tools([b1, a1, text])


def test_what_floats_does_not_part_what_belongs_together():
    chunk, usage = update("agent_message_chunk", "a"), update("usage_update")
    tools = [update("tool_call", toolCallId=name) for name in "ba"]
    options = {"floating": [{"kind": "usage_update"}], "merge_text": "why", "parallel_tools": "why"}
    frames = [chunk, usage, chunk, tools[0], usage, tools[1]]
    assert arrange("stdout", frames, options) == [
        update("agent_message_chunk", "aa"),
        tools[1],
        tools[0],
        usage,
        usage,
    ]
    assert arrange("stdout", frames, {}) == frames
