"""Reports: the same bytes for the same verdict, read back whole, and nothing in them that acts on who reads them."""

import re
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.errors import FixtureError, ReplayError
from replay.trace.report import Group, Reason, Report, TraceResult
from replay.trace.report_console import render_console
from replay.trace.report_html import render_html
from replay.trace.report_json import read_report, render_json
from replay.trace.report_junit import render_junit
from replay.trace.statistics import Rate
from replay.trace.suite import Suite, read_suite
from replay.trace.verdict import judge
from tests.trace.suite_values import make_trace, replayed

EVIL = "<script>alert(1)</script>\"'&\x1b[31m\x00\u202e\ud800"
SUITE = read_suite(
    orjson.dumps(
        {
            "schema": 1,
            "threshold": 0.6,
            "allowed_drop": 0.1,
            "budgets": {"steps": {"over_baseline": 0.4}},
            "categories": {"search": {"threshold": 0.9}},
            "traces": {"s9": {"skip": "gone"}},
        }
    ),
    "suite.json",
)


def report_of(failing: int = 2, previous: Report | None = None) -> Report:
    traces = [make_trace(f"s{number}", "search", agent_version="1") for number in range(10)]
    runs = [
        replayed(
            trace, make_trace(trace.trace_id, "search", calls=("find", "read"), final_answer=f"{number}")
        )
        if number < failing
        else replayed(trace)
        for number, trace in enumerate(traces)
    ]
    return judge(SUITE, runs, previous, name="//x:suite")


REPORT = report_of(3, report_of(2))
BAD = {
    "empty": (b"", "report.json: is empty"),
    "cut": (render_json(REPORT)[:200], "report.json:11: is not JSON: unexpected end of data at column 14"),
    "a list": (b"[]", "report.json:1 $: must be an object, not []"),
    "a suite": (b'{"schema": 1}', 'report.json:1 $: is no report: it must say "schema": 1 and hold "traces"'),
    "later": (b'{"schema": 9, "traces": []}', "report.json:1 $.schema: is schema 9, this reader knows schema 1"),
    "no rate": (b'{"schema": 1, "traces": []}', "report.json:1 $.overall: must be an object, not nothing"),
    "no trace": (b'{"schema": 1, "traces": [3]}', "report.json:1 $.traces[0]: must be an object, not 3"),
    "no id": (b'{"schema": 1, "traces": [{}]}', "report.json:1 $.traces[0].trace_id: is missing: a result is that of a trace"),
    "status": (
        b'{"schema": 1, "traces": [{"trace_id": "t", "status": "ok"}]}',
        'report.json:1 $.traces[0].status: must be one of passed, failed, skipped, not "ok"',
    ),
    "twice": (
        b'{"schema": 1, "traces": [{"trace_id": "t", "status": "passed"},\n{"trace_id": "t", "status": "passed"}]}',
        'report.json:2 $.traces[1].trace_id: "t" is also an earlier trace',
    ),
    "history": (
        b'{"schema": 1, "traces": [{"trace_id": "t", "status": "passed", "history": "PX"}]}',
        'report.json:1 $.traces[0].history: must be at most 20 of the letters P, F and M, not "PX"',
    ),
    "more passed than there were": (
        b'{"schema": 1, "traces": [], "overall": {"passed": 3, "total": 2}}',
        "report.json:1 $.overall.passed: must be a whole number from 0 to 2, not 3",
    ),
    "metric": (
        b'{"schema": 1, "traces": [{"trace_id": "t", "status": "passed", "metrics": {"steps": {"actual": "1"}}}]}',
        'report.json:1 $.traces[0].metrics.steps.actual: must be a number from 0, not "1"',
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_report_is_one_sentence_with_its_place(name: str) -> None:
    data, sentence = BAD[name]
    with pytest.raises(FixtureError) as raised:
        read_report(data, "report.json")
    assert str(raised.value) == sentence


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_any_change_of_a_report_is_read_or_refused(data: Any) -> None:
    document = orjson.loads(render_json(REPORT))
    paths = list(places(document, ()))
    *parents, last = data.draw(st.sampled_from(paths))
    inner = document
    for part in parents:
        inner = inner[part]
    inner[last] = data.draw(st.sampled_from([None, True, -1, 1e99, "x", [], {}, [[]]]))
    try:
        read_report(orjson.dumps(document), "report.json")
    except ReplayError as error:
        assert error.where.path


def places(value: Any, path: tuple[Any, ...]) -> Any:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in inside:
        yield (*path, key)
        yield from places(inner, (*path, key))


def test_a_report_is_read_back_whole_and_members_that_are_not_known_are_passed_over() -> None:
    data = render_json(REPORT)
    assert read_report(data, "report.json") == REPORT
    later = orjson.loads(data) | {"newer": 1}
    later["traces"][0]["newer"] = {}
    assert read_report(orjson.dumps(later), "report.json") == REPORT


@pytest.mark.parametrize("render", [render_json, render_junit, render_html, render_console])
def test_the_same_report_gives_the_same_bytes(render: Any) -> None:
    assert render(report_of(3, report_of(2))) == render(REPORT)


def test_the_console_says_first_what_broke() -> None:
    first, *rest = render_console(REPORT, "//x:suite").splitlines()
    assert first == (
        "//x:suite: failed (threshold of search, drop): 6 of 9 traces passed, 67 % (35 % to 88 %), 60 % asked for; newly failed: s2"
    )
    assert rest[0].startswith('  threshold of "search" fails: 6 of 9 passed')
    assert any("s2 (search), newly failed" in line for line in rest)
    assert len(rest) < 25
    assert render_console(report_of(0)).splitlines() == [
        "//x:suite: passed: 9 of 9 traces passed, 100 % (70 % to 100 %), 60 % asked for",
        '  threshold of "search" holds, not surely: 9 of 9 passed, 100 % (95 % interval 70 % to 100 %), 90 % asked for; '
        "the threshold lies within: 9 traces cannot tell",
        "  note: 1 trace not judged: the suite says so",
    ]


def test_junit_has_a_case_for_each_trace_and_each_condition() -> None:
    root = ElementTree.fromstring(render_junit(REPORT))
    suites = {suite.get("name"): suite for suite in root}
    assert suites["conditions"].get("failures") == "2"
    search = suites["search"]
    assert [search.get(key) for key in ("tests", "failures", "errors", "skipped")] == ["10", "3", "0", "1"]
    assert len(search.findall("testcase")) == 10
    failure = search.find("testcase/failure")
    assert failure is not None and failure.text is not None and "answer:" in failure.text


def evil_report() -> Report:
    traces = [
        TraceResult(
            EVIL.replace("\ud800", ""), EVIL, "failed", (Reason("answer", EVIL),), (Reason("trace", EVIL),)
        ),
    ]
    group = Group("", Rate(0, 1), 1.0)
    return Report(
        EVIL, EVIL, group, (Group(EVIL, Rate(0, 1)),), (), tuple(traces), None, {"agent": EVIL}, (EVIL,), EVIL
    )


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


@pytest.mark.parametrize(
    "report", [REPORT, evil_report(), judge(Suite(), [])], ids=["report", "evil", "empty"]
)
def test_the_page_needs_nothing_and_runs_nothing(report: Report) -> None:
    text = render_html(report).decode()
    page = _Page()
    page.feed(text)
    assert not {tag for tag, _ in page.tags} & {
        "script",
        "link",
        "img",
        "iframe",
        "object",
        "embed",
        "form",
        "base",
    }
    for _, attributes in page.tags:
        assert not [key for key in attributes if key.startswith("on") or key in ("href", "src", "action")]
    assert "http" not in text.replace("http-equiv", "") and "url(" not in text and "@import" not in text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", text)


def test_no_renderer_lets_a_text_act() -> None:
    report = evil_report()
    console = render_console(report)
    assert all(line.isprintable() for line in console.splitlines())
    ElementTree.fromstring(render_junit(report))


def test_a_page_of_served_runs_that_changed_nothing_draws_no_cloud() -> None:
    report = judge(Suite(), [replayed(make_trace("a"), strategy="exact")])
    assert "as the baselines, trace by trace" in render_html(report).decode()
    assert "over its budget" in render_html(REPORT).decode()
