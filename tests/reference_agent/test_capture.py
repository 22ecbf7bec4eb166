"""Cutting output: the same bytes give the same preview, however they arrive and wherever the rest is kept."""

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from scenarios.reference_agent.tools.capture import Capture

PREVIEW_BYTES = 256


def preview(directory: Path, pieces: list[bytes]) -> tuple[str, bytes | None]:
    file = directory / "spill" / "call-1.txt"
    capture = Capture(file, PREVIEW_BYTES, 1_000_000)
    for piece in pieces:
        capture.feed(piece)
    capture.close()
    return capture.preview().replace(str(file), "FILE"), file.read_bytes() if file.exists() else None


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\ufffd"), min_size=1, max_size=900)


@given(text=TEXT, size=st.integers(1, 300))
def test_borders_of_pieces_do_not_matter(text: str, size: int) -> None:
    data = text.encode("utf-8", "replace")
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        whole, kept = preview(Path(one), [data])
        cut, kept_in_pieces = preview(Path(two), pieces)
    assert (whole, kept) == (cut, kept_in_pieces)
    assert kept == (data if len(data) > PREVIEW_BYTES else None)
    assert "\ufffd" not in whole


def test_cut_goes_between_lines() -> None:
    with tempfile.TemporaryDirectory() as directory:
        text, _ = preview(Path(directory), [b"".join(b"line %d\n" % number for number in range(100))])
    lines = text.splitlines()
    assert all(line.startswith(("line ", "[")) for line in lines)
    assert (lines[0], lines[-1]) == ("line 0", "line 99")


def test_one_long_line_keeps_its_ends() -> None:
    with tempfile.TemporaryDirectory() as directory:
        text, _ = preview(Path(directory), ["ä".encode() * 1000])
    head, note, tail = text.split("\n")
    assert (set(head), set(tail)) == ({"ä"}, {"ä"})
    assert note == "[1744 of 2000 bytes left out here; all of it: FILE]"
