"""A compact execution log, read once from front to back: its tests, what made their inputs, and what those inputs are.

Which fields are read stands in spawn.proto. An entry that names another one by number stands behind it, so that every set
of inputs becomes a group of `Inputs` as it comes, and nothing is flattened. A kind of entry that is not known here is
passed over, and one input of the same name for whoever names it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from replay.cache.inputs import Inputs
from replay.cache.spawn_pb2 import Digest, ExecLogEntry
from replay.cache.stream import read_entries, spelled
from replay.errors import FixtureError, Location

__all__ = ["Action", "ExecutionLog", "TargetRun", "read_log", "rename_outputs", "renaming"]

_OUTPUT: Final = re.compile(r"bazel-out/([^/\s:]+)/")
_TEST: Final = "TestRunner"
_TEST_SETUP: Final = ("test-setup.sh", "tw.exe")
_UNKNOWN: Final = ("(an input of a kind that is not known here)", "unknown")


class TargetRun(NamedTuple):
    """One test of a run: a shard, and which run of --runs_per_test, counted from 0 where there are several."""

    label: str
    shard: str
    run: str

    def __str__(self) -> str:
        more = [f"shard {self.shard}"] if self.shard else []
        more += [f"run {self.run}"] if self.run else []
        return f"{self.label} ({', '.join(more)})" if more else self.label


class Action(NamedTuple):
    """One executed action. `data` is its spawn as it stands in the log, which is far smaller than when it is decoded."""

    data: bytes
    inputs: int
    """The number of its inputs, of Inputs.group."""
    outputs: tuple[str, ...]
    """The paths that it declares, sorted."""

    @property
    def spawn(self) -> ExecLogEntry.Spawn:
        """The decoded spawn."""
        return ExecLogEntry.Spawn.FromString(self.data)


class ExecutionLog(NamedTuple):
    """What one run executed. What its action cache answered is in no log."""

    path: str
    hash_function: str
    tests: Mapping[TargetRun, list[Action]]
    """In the order of execution: several attempts of a flaky test."""
    makers: Mapping[str, Action]
    """Output -> the action that made it; the tests' own outputs are not among them."""
    directories: frozenset[str]
    """The names of output directories below bazel-out: "k8-fastbuild", "k8-opt-exec-ST-…"."""

    def maker(self, path: str) -> Action | None:
        """What made a file, or the directory that it is in."""
        while path.startswith("bazel-out/"):
            if path in self.makers:
                return self.makers[path]
            path = path.rpartition("/")[0]
        return None


def renaming(before: frozenset[str], after: frozenset[str]) -> dict[str, str]:
    """Output directories of the second log by what they are called in the first, where it is plain which is which.

    Another compilation mode or CPU renames the directory and so every path; without this all inputs would differ.
    """
    found: dict[str, str] = {}
    for is_exec in (False, True):
        one, other = (
            sorted(name for name in mine - theirs if ("-exec" in name) == is_exec)
            for mine, theirs in ((before, after), (after, before))
        )
        if len(one) == len(other):
            found |= dict(zip(other, one, strict=True))
    return found


def read_log(path: str, inputs: Inputs, renamed: Mapping[str, str] | None = None) -> ExecutionLog:
    """Read a log. renamed: output directories to call by another name. Raises FixtureError."""
    reader = _Reader(path, inputs, renamed or {})
    for number, entry in enumerate(read_entries(path), start=1):
        try:
            reader.take(entry)
        except KeyError as error:
            raise FixtureError(
                f"entry {number} names entry {error.args[0]}, which is none of those before it",
                Location(path),
                "make the log again; one that Bazel wrote to its end names only what it holds",
            ) from None
    if not reader.has_entries:
        raise FixtureError(
            "holds no entry, not even that of the run",
            Location(path),
            "let the run come to its end, and take the file after it",
        )
    return reader.log()


class _Reader:
    """The tables of one log: its numbers of entries to leaves and groups."""

    def __init__(self, path: str, inputs: Inputs, renamed: Mapping[str, str]) -> None:
        self._path = path
        self._inputs = inputs
        self._renamed = renamed
        self._hash_function = ""
        self._leaves: dict[int, int] = {}
        self._groups: dict[int, int] = {0: inputs.group((), ())}
        self._paths: dict[int, str] = {}
        self._tests: dict[TargetRun, list[Action]] = {}
        self._makers: dict[str, Action] = {}
        self._directories: set[str] = set()
        self.has_entries = False

    def log(self) -> ExecutionLog:
        """What was read."""
        return ExecutionLog(
            self._path, self._hash_function, self._tests, self._makers, frozenset(self._directories)
        )

    def take(self, entry: ExecLogEntry) -> None:
        """Take in one entry. Raises KeyError with the number of an entry that is not there."""
        match entry.WhichOneof("type"):
            case "file":
                self._put_leaf(entry.id, entry.file.path, _identity(entry.file.digest))
            case "input_set":
                held = entry.input_set
                self._groups[entry.id] = self._group(held.input_ids, held.transitive_set_ids)
            case "spawn":
                self._take_spawn(entry.spawn)
            case "runfiles_tree":
                self._groups[entry.id] = self._runfiles(entry.runfiles_tree)
            case "directory":
                self._put_directory(entry.id, entry.directory)
            case "unresolved_symlink":
                link = entry.unresolved_symlink
                self._put_leaf(entry.id, link.path, f"symlink to {link.target_path}")
            case "symlink_entry_set":
                self._groups[entry.id] = self._symlinks(entry.symlink_entry_set)
            case "invocation":
                self._hash_function = entry.invocation.hash_function_name
            case _:
                if entry.id:
                    self._leaves[entry.id] = self._inputs.leaf(*_UNKNOWN)
        self.has_entries = True

    def _put_leaf(self, number: int, path: str, identity: str) -> None:
        path = self._named(path)
        self._paths[number] = path
        self._leaves[number] = self._inputs.leaf(path, identity)

    def _put_directory(self, number: int, directory: ExecLogEntry.Directory) -> None:
        path = self._named(directory.path)
        files = (
            self._inputs.leaf(f"{path}/{spelled(file.path)}", _identity(file.digest))
            for file in directory.files
        )
        self._paths[number] = path
        # The directory itself is one of its leaves: an empty one is not the same as none.
        self._groups[number] = self._inputs.group((self._inputs.leaf(f"{path}/", "directory"), *files), ())

    def _group(self, items: Iterable[int], groups: Iterable[int]) -> int:
        leaves, parts = [], [self._groups[number] for number in groups]
        for number in items:
            if number in self._leaves:
                leaves.append(self._leaves[number])
            else:
                parts.append(self._groups[number])
        return self._inputs.group(leaves, parts)

    def _symlinks(self, links: ExecLogEntry.SymlinkEntrySet) -> int:
        leaves = [
            self._inputs.leaf(f"(runfiles)/{path}", f"symlink to {self._target(number)}")
            for path, number in links.direct_entries.items()
        ]
        return self._inputs.group(leaves, [self._groups[number] for number in links.transitive_set_ids])

    def _target(self, number: int) -> str:
        """What a symlink of runfiles leads to, with its content, since the content is what a test sees."""
        if number in self._leaves:
            path, identity = self._inputs.leaf_of(self._leaves[number])
            return f"{path}, {identity}"
        return f"{self._paths.get(number, 'a tree')}, content {self._groups[number]}"

    def _runfiles(self, tree: ExecLogEntry.RunfilesTree) -> int:
        path = self._named(tree.path)
        marks = [(f"{path}/", "runfiles tree, legacy" if tree.legacy_external_runfiles else "runfiles tree")]
        marks += [(f"{path}/{empty}", "empty file of the runfiles tree") for empty in tree.empty_files]
        if tree.HasField("repo_mapping_manifest"):
            marks.append((f"{path}/_repo_mapping", _identity(tree.repo_mapping_manifest.digest)))
        parts = [self._groups[tree.input_set_id], self._groups[tree.symlinks_id]]
        if tree.root_symlinks_id:
            below = self._inputs.leaf(f"{path}/", "symlinks at its root")
            parts.append(self._inputs.group((below,), (self._groups[tree.root_symlinks_id],)))
        return self._inputs.group((self._inputs.leaf(*mark) for mark in marks), parts)

    def _take_spawn(self, spawn: ExecLogEntry.Spawn) -> None:
        outputs = tuple(sorted(self._outputs(spawn)))
        action = Action(spawn.SerializeToString(), self._groups[spawn.input_set_id], outputs)
        if spawn.mnemonic != _TEST:
            self._makers |= dict.fromkeys(outputs, action)
        elif any(arg.endswith(_TEST_SETUP) for arg in spawn.args[:2]):
            # The other actions of a test only pack what it left.
            self._tests.setdefault(_key(spawn), []).append(action)

    def _outputs(self, spawn: ExecLogEntry.Spawn) -> Iterator[str]:
        for output in spawn.outputs:
            if output.output_id:
                yield self._paths[output.output_id]
            elif output.invalid_output_path:
                yield self._named(output.invalid_output_path)

    def _named(self, path: str) -> str:
        """The path, its output directory as the other log calls it."""
        path = spelled(path)
        if not path.startswith("bazel-out/"):
            return path
        _, name, *rest = path.split("/", 2)
        if not rest:
            return path
        self._directories.add(name)
        return f"bazel-out/{self._renamed[name]}/{rest[0]}" if name in self._renamed else path


def rename_outputs(text: str, renamed: Mapping[str, str]) -> str:
    """A text of an action with its output directories as the other log calls them."""
    if not renamed:
        return text
    return _OUTPUT.sub(lambda found: f"bazel-out/{renamed.get(found[1], found[1])}/", text)


def _key(spawn: ExecLogEntry.Spawn) -> TargetRun:
    env = {one.name: one.value for one in spawn.env_vars}
    return TargetRun(
        spelled(spawn.target_label), env.get("TEST_SHARD_INDEX", ""), env.get("TEST_RUN_NUMBER", "")
    )


def _identity(digest: Digest) -> str:
    if not digest.hash:
        return "empty file"
    return f"{digest.hash} ({digest.size_bytes} bytes)"
