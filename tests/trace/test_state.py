"""State providers say the same for the same state, and something else for any other."""

import os
import sqlite3

import pytest
from hypothesis import given

from replay.errors import UsageError
from replay.trace import state
from replay.trace.state import DictState, FileTreeState, SqliteState, state_hash
from tests.trace.trace_values import JSON


def shuffled(value):
    """The same with every object's keys the other way round."""
    if isinstance(value, dict):
        return {key: shuffled(value[key]) for key in reversed(value)}
    return [shuffled(inner) for inner in value] if isinstance(value, list) else value


@given(JSON)
def test_hash_of_state_does_not_look_at_the_order_of_keys(value):
    assert state_hash(value) == state_hash(shuffled(value))


def test_hash_of_state_tells_types_and_orders_apart():
    values = [1, 1.0, True, "1", [1], [1, 2], [2, 1], {"a": 1}, {"a": 1.0}, {"a": None}, {}, [], None, ""]
    assert len({state_hash(value) for value in values}) == len(values)
    assert (
        state_hash({"b": 1, "a": 2})
        == "sha256:d3626ac30a87e6f7a6428233b3c68299976865fa5508e4267c5415c76af7a772"
    )


def test_dict_state_is_a_copy():
    memory = {"list": [1], 2: (3,)}
    provider = DictState(memory, "notes")
    seen = provider.snapshot()
    memory["list"].append(2)
    assert (provider.name, seen, provider.snapshot()["list"]) == ("notes", {"list": [1], "2": [3]}, [1, 2])


def test_file_tree_state_holds_what_lies_there_and_follows_nothing(tmp_path):
    root = tmp_path / "root"
    (root / "inner" / "empty").mkdir(parents=True)
    (root / "b.txt").write_text("text\n")
    (root / "a.bin").write_bytes(b"\xff\0")
    (root / "run").write_text("#!")
    (root / "run").chmod(0o755)
    (root / "long.txt").write_text("x" * 20_000)
    (root / "inner" / "skip.log").write_text("no")
    (root / ".git").mkdir()
    (root / ".git" / "HEAD").write_text("no")
    (root / "link").symlink_to(tmp_path)
    (root / "gone").symlink_to("nowhere")
    os.mkfifo(root / "pipe")
    (root / os.fsdecode(b"odd\xff")).write_text("")
    seen = FileTreeState(root, ignore=(".git", "*.log")).snapshot()
    assert list(seen) == [
        "a.bin",
        "b.txt",
        "gone",
        "inner/empty",
        "link",
        "long.txt",
        "odd\\xff",
        "pipe",
        "run",
    ]
    assert seen["b.txt"] == {
        "bytes": 5, "sha256": "b9e68e1bea3e5b19ca6b2f98b73a54b73daafaa250484902e09982e07a12e733", "text": "text\n",
    }  # fmt: skip
    assert (
        "text" not in seen["a.bin"] and "text" not in seen["long.txt"] and seen["run"]["executable"] is True
    )
    assert seen["inner/empty"] == {"directory": True}
    assert seen["link"] == {"link": str(tmp_path)} and seen["gone"] == {"link": "nowhere"}
    assert seen["pipe"] == {"special": "no regular file"}


def test_file_tree_state_of_too_many_files_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(state, "_MOST_FILES", 2)
    for name in "abc":
        (tmp_path / name).write_text("")
    with pytest.raises(UsageError, match="has more than 2 files"):
        FileTreeState(tmp_path).snapshot()


def test_sqlite_state_is_its_committed_rows_in_the_order_of_their_values(tmp_path):
    path = tmp_path / "odd name?#.db"
    provider = SqliteState(path)
    assert provider.snapshot() is None
    connection = sqlite3.connect(path)
    connection.executescript(
        "CREATE TABLE b (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, data BLOB, n REAL);"
        "CREATE TABLE \"a \"\"odd\"\"\" (x); INSERT INTO b VALUES (2, 'two', x'ff00', 1.5), (1, 'one', NULL, NULL);"
        "INSERT INTO b VALUES (3, CAST(x'80' AS TEXT), NULL, NULL)"
    )
    connection.commit()
    connection.execute("INSERT INTO b VALUES (9, 'not committed', NULL, NULL)")
    seen = provider.snapshot()
    connection.rollback()
    assert list(seen) == ['a "odd"', "b"]
    assert seen["b"] == {
        "columns": ["id", "name", "data", "n"],
        "rows": [
            [1, "one", None, None],
            [2, "two", {"$bytes": "/wA="}, 1.5],
            [3, {"$json": '"\\udc80"'}, None, None],
        ],
        "count": 3,
    }
    assert SqliteState(path, tables=["b"]).snapshot().keys() == {"b"}
    before = state_hash(seen)
    connection.execute("VACUUM")
    assert state_hash(provider.snapshot()) == before
    connection.execute("UPDATE b SET n = 2 WHERE id = 1")
    connection.commit()
    assert state_hash(provider.snapshot()) != before
    with connection:
        connection.executemany("INSERT INTO b (name) VALUES (?)", [(str(at),) for at in range(1200)])
    many = provider.snapshot()["b"]
    assert (len(many["rows"]), many["count"], len(many["sha256"])) == (1000, 1203, 64)
    connection.close()


def test_sqlite_state_does_not_depend_on_the_order_of_insertion(tmp_path):
    seen = []
    for at, rows in enumerate(([(1,), (2,)], [(2,), (1,)])):
        connection = sqlite3.connect(tmp_path / f"{at}.db")
        with connection:
            connection.execute("CREATE TABLE t (x)")
            connection.executemany("INSERT INTO t VALUES (?)", rows)
        connection.close()
        seen.append(SqliteState(tmp_path / f"{at}.db").snapshot())
    assert seen[0] == seen[1] == {"t": {"columns": ["x"], "rows": [[1], [2]], "count": 2}}


def test_sqlite_state_of_too_many_rows_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(state, "_MOST_READ_ROWS", 2)
    with sqlite3.connect(tmp_path / "d") as connection:
        connection.execute("CREATE TABLE t (x)")
        connection.executemany("INSERT INTO t VALUES (?)", [(1,), (2,), (3,)])
    connection.close()
    with pytest.raises(UsageError, match="the table 't' has more than 2 rows"):
        SqliteState(tmp_path / "d").snapshot()
