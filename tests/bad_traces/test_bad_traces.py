"""Each bad trace, and each bad recording that should become one, is one sentence with its place.

A case is a file beside `<case>.expected`; its directory says what reads it. `blobs` are what the traces refer to.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from replay.errors import FixtureError
from replay.trace.blobs import DirectoryBlobs
from replay.trace.codec import read_trace
from replay.trace.importers.acp_run import import_acp_run
from replay.trace.importers.otel import import_otel
from replay.trace.importers.session_log import import_session_log

ROOT = Path(__file__).parent
BLOBS = DirectoryBlobs(ROOT / "blobs")
LEAST = 60

READERS: Mapping[str, Callable[[bytes, str], object]] = {
    "acp": import_acp_run,
    "otlp": import_otel,
    "session": import_session_log,
    "trace": lambda data, place: read_trace(data, place, BLOBS, strict=True),
}
CASES = [path for path in sorted(ROOT.glob("*/*.json*")) if path.parent.name in READERS]


def refusal(path: Path, data: bytes) -> FixtureError:
    with pytest.raises(FixtureError) as caught:
        READERS[path.parent.name](data, path.name)
    return caught.value


def test_there_are_enough_cases_and_each_says_what_it_expects():
    assert len(CASES) >= LEAST
    sentences = {path.with_suffix(".expected") for path in CASES}
    assert sentences == set(ROOT.glob("*/*.expected"))
    assert len({path.read_text(encoding="utf-8") for path in sentences}) == len(sentences)


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_what_is_wrong_is_one_sentence_with_its_place(path):
    error = refusal(path, path.read_bytes())
    said = str(error).replace(str(ROOT), "")
    assert said + "\n" == path.with_suffix(".expected").read_text(encoding="utf-8")
    assert error.exit_code == 2 and "\n" not in said


@pytest.mark.parametrize(
    "path", [path for path in CASES if path.parent.name == "trace"], ids=lambda path: path.stem
)
def test_a_trace_is_refused_in_any_layout(path):
    # What cannot be laid out anew is refused before anything is looked at.
    import json

    try:
        data = json.dumps(json.loads(path.read_bytes())).encode()
    except ValueError:
        return
    if path.stem != "repeated-key":
        assert refusal(path, data).what == refusal(path, path.read_bytes()).what
