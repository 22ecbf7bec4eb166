"""The guard over a trace suite: one sentence for each thing that is wrong, and none for a sound one."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from replay.errors import UsageError
from replay.runner.trace_guard import TraceTree, check_trace_tree, trace_tree
from replay.scenario.tree import Tree
from replay.trace.blobs import MemoryBlobs
from replay.trace.codec import write_trace
from replay.trace.snapshot import Snapshot, write_snapshot
from tests.trace_agents.stage import WEATHER, tool

STORE = MemoryBlobs()
LONG = WEATHER._replace(
    trace_id="long", steps=(tool(1, "weather", {"city": "Bern"}, "rain. " * 10_000),), final_answer=None
)
SOUND = {
    "traces/weather.json": write_trace(WEATHER),
    "traces/long.json": write_trace(LONG, STORE),
    **{f"traces/blobs/{digest.removeprefix('sha256:')}": data for digest, data in STORE.held.items()},
    "snapshots/weather/after.json": write_snapshot(Snapshot("after", memory={"a": 1})),
    "sample.json": b'{"schema": 1, "traces": [{"trace_id": "long"}, {"trace_id": "weather"}]}\n',
    "suite.json": b'{"schema": 1, "categories": {"lookup": {"threshold": 0.9}}}\n',
}
[BLOB] = [name for name in SOUND if "/blobs/" in name]


def check(files: dict[str, bytes], *more: str, subpackages: tuple[str, ...] = ()) -> list[str]:
    directories = {
        "/".join(path.split("/")[:depth]) + "/" for path in files for depth in range(1, path.count("/") + 1)
    }
    tree = Tree(
        "shop", "//shop:guard_test", (), (), (), [*sorted({*files, *directories}), *more], subpackages, files
    )
    return [error.explained() for error in check_trace_tree(TraceTree(tree, "//shop:agent_test.record"))]


def test_sound_suite_has_no_finding() -> None:
    assert check(SOUND) == []


CASES: list[tuple[str, Callable[[dict[str, bytes]], Any], str]] = [
    (
        "name",
        lambda f: (
            f.update({"traces/other.json": f.pop("traces/weather.json")})
            or f.pop("snapshots/weather/after.json")
        ),
        'shop/traces/other.json $.trace_id: says "weather", and the file is called "other"',
    ),
    ("broken", lambda f: f.update({"traces/weather.json": b"{"}), "shop/traces/weather.json:1"),
    ("empty", lambda f: f.update({"traces/weather.json": b""}), "shop/traces/weather.json: is empty"),
    (
        "form",
        lambda f: f.update({"traces/weather.json": f["traces/weather.json"].replace(b"  ", b" ")}),
        "is not in canonical form",
    ),
    (
        "ends",
        lambda f: f.update({"traces/weather.json": f["traces/weather.json"].replace(b"\n", b"\r\n")}),
        "the line ends with CR LF instead of LF",
    ),
    ("blob missing", lambda f: f.pop(BLOB), "is missing; shop/traces/long.json refers to it"),
    ("blob edited", lambda f: f.update({BLOB: b"sun"}), "holds other bytes than its name says"),
    ("blob orphan", lambda f: f.pop("traces/long.json"), "is a blob that no trace refers to"),
    (
        "stray",
        lambda f: f.update({"traces/notes.txt": b"x\n"}),
        "is neither a trace (traces/<trace_id>.json) nor a blob",
    ),
    ("stray below", lambda f: f.update({"traces/a/b.json": b"{}\n"}), "is neither a trace"),
    ("stray top", lambda f: f.update({"suite.json.orig": b"{}\n"}), "is a file that nothing claims"),
    (
        "snapshot of none",
        lambda f: f.update({"snapshots/gone/a.json": b"{}\n"}),
        "holds snapshots of no trace",
    ),
    ("snapshot stray", lambda f: f.update({"snapshots/a.json": b"{}\n"}), "is no snapshot"),
    ("snapshot broken", lambda f: f.update({"snapshots/weather/after.json": b"{}\n"}), "is no snapshot"),
    (
        "snapshot label",
        lambda f: f.update({"snapshots/weather/before.json": f.pop("snapshots/weather/after.json")}),
        'says "after", and the file is called "before.json"',
    ),
    ("aside", lambda f: f.update({".replay-write-back/new/x": b"x"}), "a write-back was killed here"),
    (
        "suite",
        lambda f: f.update({"suite.json": b'{"schema": 1, "treshold": 1}\n'}),
        "shop/suite.json:1 $.treshold",
    ),
    (
        "suite of none",
        lambda f: f.update({"suite.json": b'{"schema": 1, "traces": {"nope": {"skip": "x"}}}\n'}),
        "there is no such trace",
    ),
    (
        "sample of none",
        lambda f: f.update({"sample.json": f["sample.json"].replace(b"long", b"short")}),
        'shop/sample.json:1 $.traces[0].trace_id: says why "short" was chosen, and there is no such trace',
    ),
    (
        "sample twice",
        lambda f: f.update({"sample.json": f["sample.json"].replace(b"long", b"weather")}),
        'shop/sample.json:1 $.traces[1].trace_id: explains "weather" twice',
    ),
    ("sample broken", lambda f: f.update({"sample.json": b"{"}), "shop/sample.json:1"),
    ("sample of nothing", lambda f: f.update({"sample.json": b"{}"}), "is no explanation of a sample"),
    (
        "sample without traces",
        lambda f: f.update({"sample.json": b'{"schema": 1}'}),
        'shop/sample.json:1 $: has no list "traces"',
    ),
    (
        "sample without an id",
        lambda f: f.update({"sample.json": b'{"schema": 1, "traces": [{}]}'}),
        'shop/sample.json:1 $.traces[0]: names no "trace_id"',
    ),
    (
        "sample of tomorrow",
        lambda f: f.update({"sample.json": b'{"schema": 2, "traces": []}'}),
        "shop/sample.json:1 $.schema: is of schema 2, this version reads 1",
    ),
    (
        "secret in a sample",
        lambda f: f.update(
            {
                "sample.json": f["sample.json"]
                + b" " * 4
                + b"sk-ant-"
                + b"api03-Zx9Yw8Vu7Ts6Rq5Po4Nm3Lk2Ji1Hg0Fe"
            }
        ),
        "looks like a secret (Anthropic API key)",
    ),
    (
        "secret",
        lambda f: f.update(
            {
                "traces/weather.json": write_trace(
                    WEATHER._replace(final_answer="sk-ant-" + "api03-Zx9Yw8Vu7Ts6Rq5Po4Nm3Lk2Ji1Hg0Fe")
                )
            }
        ),
        "looks like a secret (Anthropic API key)",
    ),
]


@pytest.mark.parametrize(
    ("change", "sentence"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_guard_tells(change: Callable[[dict[str, bytes]], Any], sentence: str) -> None:
    files = dict(SOUND)
    change(files)
    found = check(files)
    assert any(sentence in one for one in found), found
    assert all("fix:" in one for one in found), found


def test_every_mistake_of_a_suite_is_told() -> None:
    suite = b'{"schema": 1, "threshold": 2,\n"allowed_drop": "much", "categories": {"lookup": {"answer": "maybe"}}}\n'
    found = [one.split(":", 1)[1] for one in check(SOUND | {"suite.json": suite})]
    assert [one.partition(": ")[0] for one in found] == [
        "1 $.threshold",
        "2 $.allowed_drop",
        "2 $.categories.lookup.answer",
    ]


def test_broken_trace_is_one_finding_whatever_the_suite_says_of_it() -> None:
    suite = b'{"schema": 1, "categories": {"lookup": {}}, "traces": {"weather": {"skip": "why"}}}\n'
    files = SOUND | {"suite.json": suite, "traces/weather.json": b"{\n", "traces/long.json": b"[]\n"}
    assert [one.partition(":")[0].removesuffix(" $") for one in check(files) if "/blobs/" not in one] == [
        "shop/traces/long.json",
        "shop/traces/weather.json",
    ]


def test_guard_reads_what_belongs_to_the_suite_and_nothing_else() -> None:
    paths = [*SOUND, "agent.py", "traces/__pycache__/a.pyc"]
    manifest = {
        "version": 1,
        "kind": "trace_guard",
        "package": "shop",
        "label": "//shop:guard_test",
        "record": "",
        "tree": paths,
        "subpackages": [],
        "files": {path: f"_main/shop/{path}" for path in paths},
    }
    found = trace_tree(orjson.dumps(manifest), lambda place: SOUND[place.removeprefix("_main/shop/")])
    assert found.tree.files == SOUND
    assert "agent.py" in found.tree.paths and not check_trace_tree(found)


def test_suite_that_names_what_is_not_there_is_told() -> None:
    suite = b'{"schema": 1, "categories": {"nope": {"threshold": 1}}, "traces": {"gone": {"skip": "why"}}}\n'
    found = check(SOUND | {"suite.json": suite})
    assert [one.partition(": ")[0] for one in found] == [
        "shop/suite.json $.traces.gone",
        "shop/suite.json $.categories.nope",
        "shop/suite.json $.categories",
    ]


def test_nested_package_is_told() -> None:
    found = check(SOUND, subpackages=("traces/old",))
    assert any("a nested BUILD file makes this directory a package of its own" in one for one in found)


def test_no_trace_is_refused() -> None:
    with pytest.raises(UsageError, match="there is no trace to check"):
        check({"suite.json": b"{}"})
