"""What the files of replay/ import and call, read from their source. Nothing is imported."""

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import replay

__all__ = [
    "ROOT",
    "Import",
    "Source",
    "closure",
    "foreign",
    "imports_of",
    "is_ours",
    "room_of",
    "sources",
    "ways_to_the_world",
]

# Not resolved: that would leave the runfiles, and read files that nobody declared.
ROOT = Path(replay.__file__).parent.parent
# Clock, environment, chance, network, processes, threads, files. ruff's banned-api says the same and can be silenced.
WORLD = frozenset(
    (
        *("datetime", "time", "zoneinfo"),
        *("locale", "os", "platform", "sys"),
        *("random", "secrets", "uuid"),
        *("http", "select", "selectors", "socket", "ssl", "urllib"),
        *("asyncio", "multiprocessing", "queue", "signal", "subprocess", "threading"),
        *("fcntl", "io", "logging", "pathlib", "shutil", "tempfile"),
    )
)
WORLDLY_CALLS = frozenset(("breakpoint", "input", "open", "print"))


class Import(NamedTuple):
    """One imported module; `is_lazy` inside a function."""

    name: str
    line: int
    is_lazy: bool


class Source(NamedTuple):
    """One parsed file of replay/."""

    module: str
    path: Path
    tree: ast.Module

    @property
    def room(self) -> str:
        return room_of(self.module)


def room_of(module: str) -> str:
    """ "script" for replay.script.lane, "" for replay itself."""
    return module.split(".")[1] if "." in module else ""


@cache
def sources() -> dict[str, Source]:
    """Every module of replay/, by its dotted name."""
    found = {}
    for path in sorted((ROOT / "replay").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[module] = Source(module, path, ast.parse(path.read_bytes(), str(path)))
    return found


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def imports_of(source: Source, *, with_types: bool = False) -> list[Import]:
    """What a module imports when it runs; with_types adds what only a type checker sees."""
    return list(_imports(source.tree, False, with_types))


def _imports(node: ast.AST, is_lazy: bool, with_types: bool) -> Iterator[Import]:
    if is_type_checking(node) and not with_types:
        for other in getattr(node, "orelse", []):
            yield from _imports(other, is_lazy, with_types)
        return
    if isinstance(node, ast.Import):
        yield from (Import(alias.name, node.lineno, is_lazy) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        assert node.module and not node.level, f"line {node.lineno}: a relative import"
        for alias in node.names:
            # `from replay.scenario import layout` imports a module, `from replay.script import Lane` a name of one.
            inner = f"{node.module}.{alias.name}"
            yield Import(inner if inner in sources() else node.module, node.lineno, is_lazy)
    is_inside = is_lazy or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
    for child in ast.iter_child_nodes(node):
        yield from _imports(child, is_inside, with_types)


def is_ours(name: str) -> bool:
    return name == "replay" or name.startswith("replay.")


def ways_to_the_world(checked: Iterable[Source]) -> list[str]:
    """Where modules import or call what leads outside the process's own values."""
    found = []
    for source in checked:
        for one in imports_of(source):
            if one.name.partition(".")[0] in WORLD:
                found.append(f"{source.module}:{one.line} imports {one.name}")
        for node in ast.walk(source.tree):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in WORLDLY_CALLS
            ):
                found.append(f"{source.module}:{node.lineno} calls {node.func.id}")
    return found


def closure(start: Iterable[str], *, lazily: bool, without: frozenset[str] = frozenset()) -> dict[str, str]:
    """Every module that importing `start` imports, each with one that imports it; with packages on the way.

    without: modules that are taken for never imported.
    """
    found = dict.fromkeys(start, "")
    waiting = list(found)
    while waiting:
        module = waiting.pop()
        if module not in sources():
            continue
        wanted = [one.name for one in imports_of(sources()[module]) if lazily or not one.is_lazy]
        wanted += [name.rpartition(".")[0] for name in (module, *wanted) if "." in name and is_ours(name)]
        for name in wanted:
            if name not in found and name not in without:
                found[name] = module
                waiting.append(name)
    return found


def foreign(modules: Mapping[str, str]) -> dict[str, str]:
    """Top-level packages of others among them -> who imports them."""
    names = {name.partition(".")[0]: by for name, by in modules.items() if not is_ours(name)}
    return {name: by for name, by in names.items() if name not in sys.stdlib_module_names}
