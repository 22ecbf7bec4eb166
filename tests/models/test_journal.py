"""The journal file."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from replay.errors import UsageError
from replay.models.journal import append_entry, read_journal


def test_what_is_appended_is_read(tmp_path):
    path = str(tmp_path / "journal")
    assert read_journal(path) == []
    entries = [{"kind": "call", "n": 1}, {"kind": "diverged", "message": "a\nb\u2028c"}]
    for entry in entries:
        append_entry(path, entry)
    assert read_journal(path) == entries
    assert (tmp_path / "journal").stat().st_mode & 0o777 == 0o600


def test_each_entry_is_one_write_to_the_end(tmp_path, monkeypatch):
    writes = []
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: writes.append(data) or real(fd, data))
    append_entry(str(tmp_path / "journal"), {"a": 1})
    append_entry(str(tmp_path / "journal"), {"a": 2})
    assert writes == [b'{"a":1}\n', b'{"a":2}\n']


def test_writers_never_mix_their_lines(tmp_path):
    path = str(tmp_path / "journal")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: append_entry(path, {"n": n, "pad": "x" * 500}), range(200)))
    assert sorted(entry["n"] for entry in read_journal(path)) == list(range(200))


def test_line_that_is_no_entry_is_named(tmp_path):
    (tmp_path / "journal").write_bytes(b'{"a":1}\n{"b":')
    with pytest.raises(UsageError, match="journal:2: no journal entry"):
        read_journal(str(tmp_path / "journal"))


def test_file_that_cannot_be_used_is_named(tmp_path):
    with pytest.raises(UsageError, match="cannot be written"):
        append_entry(str(tmp_path / "no/journal"), {})
    with pytest.raises(UsageError, match="cannot be read"):
        read_journal(str(tmp_path))
