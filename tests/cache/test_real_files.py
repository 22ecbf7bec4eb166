"""What Bazel 7.7.1 wrote in two runs of a workspace of three tests, in real/.

Between the runs the source of a genrule changed, whose output two tests read, and --test_env=COLOUR=blue came to all. Of the
build events those were left out that hold the machine's command line; the bytes of the others are as they were but for
paths, which were replaced by others of their length.
"""

from compression import zstd
from pathlib import Path
from typing import Any

import orjson
import pytest

from replay.cache.event_difference import explain_events
from replay.cache.log_difference import explain_logs
from replay.cache.reason import Kind
from replay.cache.run_report import report_run

REAL = Path(__file__).parent / "real"
FORMS = ("binary", "json")


def unpacked(tmp_path: Path, name: str) -> str:
    path = tmp_path / name
    path.write_bytes(zstd.decompress((REAL / f"{name}.zst").read_bytes()))
    return str(path)


def test_logs_name_the_source_and_the_variable() -> None:
    logs = (str(REAL / f"{name}.execution_log.zst") for name in "ab")
    explanation = explain_logs(*logs)
    told = {
        group.tests: [(reason.kind, reason.name, reason.made) for reason in group.reasons]
        for group in explanation.groups
    }
    colour = (Kind.ENVIRONMENT, "COLOUR", ())
    source = (Kind.INPUT, "source.txt", ("bazel-out/k8-fastbuild/bin/made.txt",))
    assert told == {("//:one_test", "//:two_test"): [colour, source], ("//:other_test",): [colour]}


@pytest.mark.parametrize("form", FORMS)
def test_events_name_the_option(form: str, tmp_path: Path) -> None:
    explanation = explain_events(*(unpacked(tmp_path, f"{name}.events.{form}") for name in "ab"))
    [group] = explanation.groups
    assert [(reason.kind, reason.name, reason.before, reason.after) for reason in group.reasons] == [
        (Kind.OPTION, "--test_env", "", "COLOUR=blue")
    ]
    assert len(group.tests) == 3


def test_both_forms_of_events_are_one_report(tmp_path: Path) -> None:
    one, other = (report_run(unpacked(tmp_path, f"b.events.{form}")) for form in FORMS)
    assert one == other
    assert (one.tests, one.ran, one.failed, one.is_whole) == (3, 3, (), True)
    assert one.seconds_ran > 0 and one.wall_seconds > 0


def test_unknown_fields_of_real_events_are_most_of_them(tmp_path: Path) -> None:
    """The JSON form would refuse a field that it does not know, if it were not told to pass it over."""
    line: dict[str, Any] = orjson.loads(
        Path(unpacked(tmp_path, "a.events.json")).read_bytes().split(b"\n")[0]
    )
    assert "workspaceDirectory" in line["started"]
