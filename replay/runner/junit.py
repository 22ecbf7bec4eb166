"""JUnit XML as Bazel reads it: a test suite a scenario, a test case a surface and one for consumption.

Written by hand: `xml.sax.saxutils` costs 29 ms of import, and the escaping is three characters and the
controls that XML 1.0 cannot hold.
"""

from collections.abc import Iterator, Sequence

from replay.runner.result import FAILED, UNKNOWN, Result

__all__ = ["render_junit"]

_FORBIDDEN = {code: "�" for code in range(32) if code not in (9, 10, 13)} | {
    0xFFFE: "�",
    0xFFFF: "�",
    **dict.fromkeys(range(0xD800, 0xE000), "�"),
}
_ATTRIBUTE = str.maketrans(
    {
        "&": "&amp;",
        "<": "&lt;",
        ">": "&gt;",
        '"': "&quot;",
        "\n": "&#10;",
        "\r": "&#13;",
        "\t": "&#9;",
    }
)
_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def render_junit(results: Sequence[Result]) -> bytes:
    """The whole XML file. A run that ended before its surfaces were judged has one case, "run"."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>"]
    for result in results:
        lines.extend(_suite(result))
    lines.append("</testsuites>")
    return ("\n".join(lines) + "\n").translate(_FORBIDDEN).encode()


def _suite(result: Result) -> Iterator[str]:
    broken = result.error is not None or bool(result.fault)
    failures = len(result.failed_cases)
    count = len(result.cases) + broken
    yield (
        f"  <testsuite{_attribute('name', result.scenario)}{_attribute('tests', count)}"
        f"{_attribute('failures', failures)}{_attribute('errors', int(broken))}"
        f"{_attribute('time', _seconds(result.timing.total))}>"
    )
    if broken:
        yield _open_case(result, "run", result.timing.agent)
        text = result.fault or "\n".join([result.first_line, *result.evidence])
        kind = "fault" if result.fault else type(result.error).__name__
        yield f"      <error{_attribute('message', result.first_line)}{_attribute('type', kind)}>{_text(text)}</error>"
        yield "    </testcase>"
    for case in result.cases:
        yield _open_case(result, case.surface, 0.0 if broken else result.timing.total / max(1, count))
        if case.verdict == FAILED:
            body = "\n".join([case.message, *case.diff])
            yield (
                f"      <failure{_attribute('message', case.message)}{_attribute('type', case.surface)}>"
                f"{_text(body)}</failure>"
            )
        elif case.verdict == UNKNOWN:
            yield f"      <skipped{_attribute('message', case.message or 'the run ended before')}/>"
        yield "    </testcase>"
    yield "  </testsuite>"


def _open_case(result: Result, name: str, milliseconds: float) -> str:
    return (
        f"    <testcase{_attribute('classname', result.scenario)}{_attribute('name', name)}"
        f"{_attribute('time', _seconds(milliseconds))}>"
    )


def _seconds(milliseconds: float) -> str:
    return f"{milliseconds / 1000:.3f}"


def _attribute(name: str, value: object) -> str:
    return f' {name}="{str(value).translate(_ATTRIBUTE)}"'


def _text(value: str) -> str:
    return value.translate(_TEXT)
