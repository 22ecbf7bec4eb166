"""Bad inputs: a good scenario (`base/`) with one thing wrong, a directory a case beside `<case>.expected`.

Files of a case stand in for those of the base. `recipe.json` makes what should not be committed: bytes that an editor
or a scanner would trip over, huge files, links. Its keys are files, its values null (no such file), a link, an empty
directory, or a list of parts: text, {"hex"}, {"repeat", "times"}, {"base": a file of the base}.
"""

import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["ROOT", "Case", "build", "cases"]

ROOT = Path(__file__).parent


class Case(NamedTuple):
    """One bad input. `expected` is the sentence that every check must say about it."""

    name: str
    directory: Path
    expected: str


def cases(root: Path = ROOT) -> list[Case]:
    """All cases below `root`, sorted by name; one without its `.expected` file has an empty sentence."""
    found = []
    for directory in sorted(root.glob("*/*/")):
        kind = directory.parent.name
        if kind in ("__pycache__", "base"):
            continue
        sentence = (
            directory.with_suffix(".expected")
            if not directory.suffix
            else directory.parent / (directory.name + ".expected")
        )
        text = sentence.read_text(encoding="utf-8") if sentence.exists() else ""
        found.append(Case(f"{kind}/{directory.name}", directory, text.removesuffix("\n")))
    return found


def build(case: Case, target: Path, root: Path = ROOT) -> None:
    """Make what `case` describes in `target`, which must not exist, out of the base in `root`."""
    shutil.copytree(root / "base", target)
    shutil.copytree(case.directory, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("recipe.json"))
    recipe = case.directory / "recipe.json"
    if recipe.exists():
        for name, value in json.loads(recipe.read_text(encoding="utf-8")).items():
            _make(target / name, value, root)


def _make(path: Path, value: Any, root: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if value is None:
        path.unlink()
    elif isinstance(value, dict) and "link" in value:
        path.symlink_to(value["link"])
    elif isinstance(value, dict):
        path.mkdir()
    else:
        path.write_bytes(b"".join(_part(part, root) for part in value))


def _part(part: Any, root: Path) -> bytes:
    if isinstance(part, str):
        return part.encode()
    if "hex" in part:
        return bytes.fromhex(part["hex"])
    if "base" in part:
        return (root / "base" / part["base"]).read_bytes()
    text: str = part["repeat"]
    return text.encode() * int(part["times"])
