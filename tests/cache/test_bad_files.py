"""Files that are damaged, of another kind or made to harm: one sentence each, with the file and what to do."""

import gzip
from collections.abc import Callable
from compression import zstd
from pathlib import Path

import pytest

from replay.cache import stream
from replay.cache.build_event_stream_pb2 import BuildEvent
from replay.cache.spawn_pb2 import ExecLogEntry
from replay.cli.main import main
from tests.cache.logs import Log, delimited, events

GOOD = events({"//a:x_test": {}})
EVENTS = delimited(GOOD)
LINE = b'{"id":{"started":{}},"started":{"uuid":"u"}}\n'


def log(*entries: ExecLogEntry) -> bytes:
    """A log with these entries after those of a run."""
    made = Log()
    made.entries += entries
    return made.packed()


def whole_log() -> bytes:
    made = Log()
    made.test("//a:x_test", made.input_set([made.file("a")]))
    return made.packed()


def in_disorder(**entry: object) -> bytes:
    return log(ExecLogEntry(id=2, **entry))  # type: ignore[arg-type]


BAD: dict[str, tuple[bytes | None, str]] = {
    "no file": (None, "cannot be read: No such file or directory"),
    "empty": (b"", "is empty: Bazel writes it in the course of the run"),
    "text": (b"hello\n", "is neither an execution log in compact form nor a file of build events"),
    "zeros": (bytes(100), "is neither an execution log in compact form nor a file of build events"),
    "a profile": (gzip.compress(b"{}"), "is packed with gzip, as a profile of Bazel is (--profile)"),
    "a profile, unpacked": (b'{"otherData":{},"traceEvents":[]}', "is a profile of Bazel (--profile)"),
    "an execution log in JSON": (b'{\n  "commandArgs": ["a"],\n', "is an execution log in JSON form"),
    "other JSON": (b'{"a": 1}', "is JSON, and neither build events nor an execution log"),
    "zstd of nothing": (zstd.compress(b""), "holds no entry, not even that of the run"),
    "zstd of text": (zstd.compress(b"\x05hello"), "entry 1 at byte 0 is no message of Bazel's"),
    "a log cut off in its frame": (whole_log()[:-9], "is cut off at byte"),
    "a log cut off in its header": (whole_log()[:5], "is cut off at byte 0 of what it unpacks to: the zstd stream has no end"),
    "a log with a damaged frame": (zstd.compress(b"\x02\x08\x01" * 999)[:-4] + b"\xff\xff\xff\xff", "is damaged after byte"),
    "a log cut off in an entry": (zstd.compress(delimited(Log().entries)[:-3]), "entry 1 has"),
    "a log cut off in a length": (zstd.compress(delimited(Log().entries) + b"\x80"), "a length has no end"),
    "a length too long": (zstd.compress(b"\xff\xff\xff\xff\xff\x01"), "the length at byte 0 is longer than any of Bazel's"),
    "an entry too large": (zstd.compress(b"\xff\xff\xff\x7f"), "claims 268435455 bytes; at most 67108864 are read"),
    "a set of an entry that is not there": (in_disorder(input_set={"input_ids": [9]}), "entry 2 names entry 9, which is none of those before it"),
    "a set that holds itself": (in_disorder(input_set={"transitive_set_ids": [2]}), "entry 2 names entry 2"),
    "runfiles of a set that is not there": (in_disorder(runfiles_tree={"input_set_id": 7}), "entry 2 names entry 7"),
    "symlinks to what is not there": (in_disorder(symlink_entry_set={"direct_entries": {"a": 5}, "transitive_set_ids": [6]}), "entry 2 names entry 5"),
    "an action of inputs that are not there": (in_disorder(spawn={"input_set_id": 8}), "entry 2 names entry 8"),
    "an action of an output that is not there": (in_disorder(spawn={"outputs": [{"output_id": 4}]}), "entry 2 names entry 4"),
    "a log without tests": (log(), "holds no test, so nothing can be compared with it"),
    "events cut off": (EVENTS[:-2], "is cut off at byte"),
    "events with a damaged one": (EVENTS + b"\x04\xff\xff\xff\xff", "is no message of Bazel's"),
    "events of a set that is not there": (delimited([*GOOD, BuildEvent(named_set_of_files={"file_sets": [{"id": "9"}]})]), "names the set of files 9, which is none of those before it"),
    "JSON events cut off": (LINE + LINE[:20], "cut off within an event"),
    "JSON events with another line": (LINE + b'["a"]}\n', "no event of Bazel's"),
    "JSON events with a list": (LINE + b"[]\n", "no event of Bazel's"),
    "JSON events with a value of another type": (LINE + b'{"id":{"testResult":{"label":7}}}\n', "no event of Bazel's: "),
    "JSON events nested too deep": (LINE + b'{"id":' * 5000 + b"1" + b"}" * 5000 + b"\n", "no event of Bazel's"),
    "JSON events that are no UTF-8": (LINE + b'{"id":"\xff"}\n', "no event of Bazel's"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_file_is_one_sentence(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    data, said = BAD[name]
    path = tmp_path / "given"
    if data is not None:
        path.write_bytes(data)
    assert main(["cache-explain", str(path), str(path)]) == 2
    first, *rest = capfd.readouterr().err.removesuffix("\n").split("\n")
    assert first.startswith(str(path)) and said in first
    assert rest and rest[0].startswith("    fix: ")


@pytest.mark.parametrize(
    ("limit", "value", "data", "said"),
    [
        ("MAX_CONTENT_BYTES", 1 << 20, zstd.compress(bytes(4 << 20)), "unpacks to more than 1 MiB"),
        ("MAX_MESSAGES", 1000, zstd.compress(bytes(4 << 20)), "holds 1000 messages or more"),
        ("MAX_MESSAGES", 1, LINE * 3, "holds more than 1 lines"),
        ("MAX_MESSAGE_BYTES", 100, LINE + b" " * 2000, "the event of line 2 at byte"),
    ],
)
def test_file_made_to_harm_is_bounded(
    limit: str, value: int, data: bytes, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    monkeypatch.setattr(stream, limit, value)
    path = tmp_path / "given"
    path.write_bytes(data)
    assert main(["cache-explain", str(path), str(path)]) == 2
    assert said in capfd.readouterr().err


def damaged(data: bytes) -> list[bytes]:
    return [data[:at] + bytes((data[at] ^ 0x55,)) + data[at + 1 :] for at in range(0, len(data), 3)]


@pytest.mark.parametrize(
    "made",
    [
        lambda: [zstd.compress(one) for one in damaged(zstd.decompress(whole_log()))],
        lambda: damaged(EVENTS),
        lambda: damaged(LINE * 2),
    ],
    ids=["log", "events", "lines"],
)
def test_no_damaged_byte_is_a_fault_of_ours(made: Callable[[], list[bytes]], tmp_path: Path) -> None:
    path = tmp_path / "given"
    for data in made():
        path.write_bytes(data)
        assert main(["cache-explain", str(path), str(path)]) in (0, 2)


def test_log_whose_files_are_made_of_each_other_ends(tmp_path: Path) -> None:
    logs = []
    for name in ("old", "new"):
        made = Log()
        outputs = [made.file(f"bazel-out/k8/bin/{number}", name) for number in range(60)]
        inputs = made.input_set(outputs)
        for output in outputs:
            made.spawn("//a:a", "Copy", inputs, output)
        made.test("//a:x_test", inputs)
        logs.append(made.write(tmp_path / name))
    assert main(["cache-explain", *logs]) == 0
