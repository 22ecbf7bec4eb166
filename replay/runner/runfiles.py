"""Runfiles: canonical rlocation paths made absolute, without the bazel-runfiles package (66 ms of import).

Three forms of a tree are read: a directory (RUNFILES_DIR, TEST_SRCDIR), a manifest file
(RUNFILES_MANIFEST_FILE, also when RUNFILES_MANIFEST_ONLY=1), and outside Bazel a source tree that stands for
the main repository. An absolute path is its own location. Source: Bazel's runfiles design.
"""

import os

from replay.errors import UsageError

__all__ = ["Runfiles", "runfiles_directory"]


class Runfiles:
    """Where the files of this run lie. `source_tree` answers for `_main/…` where Bazel gave no tree."""

    __slots__ = ("_entries", "directory", "manifest", "source_tree")

    def __init__(self, directory: str = "", manifest: str = "", source_tree: str = "") -> None:
        self.directory = directory
        self.manifest = manifest
        self.source_tree = source_tree
        self._entries: dict[str, str] | None = None

    def locate(self, rlocation: str) -> str:
        """The absolute path of one file. Raises UsageError for a path that nothing provides."""
        if os.path.isabs(rlocation):
            return rlocation
        if self.directory:
            path = os.path.join(self.directory, rlocation)
            if os.path.lexists(path):
                return os.path.abspath(path)
        if self.manifest:
            found = self._from_manifest(rlocation)
            if found:
                return found
        if self.source_tree:
            return os.path.join(self.source_tree, rlocation.partition("/")[2])
        raise UsageError(
            f'"{rlocation}" is not among the runfiles',
            fix="run the target with bazel test or bazel run; by hand, set RUNFILES_DIR to its .runfiles tree",
        )

    def _from_manifest(self, rlocation: str) -> str:
        if self._entries is None:
            with open(self.manifest, encoding="utf-8") as lines:
                self._entries = dict(_entry(line) for line in lines)
        found = self._entries.get(rlocation, "")
        if found:
            return found
        # A directory artefact has one entry for itself, none for what lies below it.
        head, _, tail = rlocation.rpartition("/")
        while head:
            if head in self._entries:
                return os.path.join(self._entries[head], tail)
            head, _, step = head.rpartition("/")
            tail = f"{step}/{tail}"
        return ""


def runfiles_directory(said: str, program: str) -> str:
    """The absolute runfiles tree: what Bazel `said`, else the one that the file `program` lies in; "" for none."""
    if said:
        return os.path.abspath(said)
    head, found, _ = os.path.abspath(program).partition(".runfiles/")
    return head + ".runfiles" if found else ""


def _entry(line: str) -> tuple[str, str]:
    """One line of a runfiles manifest; a leading blank marks the escaped form."""
    line = line.rstrip("\n")
    if not line.startswith(" "):
        name, _, path = line.partition(" ")
        return name, path
    name, _, path = line[1:].partition(" ")
    name = name.replace("\\s", " ").replace("\\n", "\n").replace("\\b", "\\")
    return name, path.replace("\\n", "\n").replace("\\b", "\\")
