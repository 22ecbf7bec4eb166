"""A suite's relaxations (surface/arrange.py), where a run is judged and where it is written.

Nothing of it is imported for a suite that has none.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from replay.errors import FixtureError
from replay.runner.surfaces import encode_lines
from replay.scenario.load import decode_lines

if TYPE_CHECKING:
    from replay.runner.manifest import Manifest
    from replay.surface import Json

__all__ = ["arranged", "kept", "kept_file", "unmet_ignores"]


def arranged(manifest: Manifest, name: str, values: list[Json]) -> list[Json]:
    """A surface as it is compared, on either side."""
    others = manifest.options.others
    if not others:
        return values
    from replay.surface.arrange import arrange

    return arrange(name, values, others)


def kept(manifest: Manifest, name: str, committed: Sequence[Json], actual: Sequence[Json]) -> Sequence[Json]:
    """A surface as it is written: lines that differ by nothing but what is ignored stay as they are committed."""
    listed = _ignored(manifest)
    if not listed:
        return actual
    from replay.surface.ignore import Ignored

    return Ignored(listed).kept(name, committed, actual)


def kept_file(manifest: Manifest, surface: str, before: bytes | None, after: bytes) -> bytes:
    """The same for the file of a surface; one that is not there, or holds no lines, keeps nothing."""
    if before is None or not _ignored(manifest):
        return after
    try:
        return encode_lines(kept(manifest, surface, decode_lines(before, ""), decode_lines(after, "")))
    except FixtureError:
        return after


def unmet_ignores(manifest: Manifest, *sides: Mapping[str, Sequence[Json]]) -> list[str]:
    """A sentence for each ignored path at which nothing stands on any of the sides, surface -> lines each."""
    listed = _ignored(manifest)
    if not listed:
        return []
    from replay.surface.ignore import Ignored

    names = dict.fromkeys(name for side in sides for name in side)
    return Ignored(listed).unmet(
        {name: [row for side in sides for row in side.get(name, ())] for name in names}
    )


def _ignored(manifest: Manifest) -> Sequence[Any]:
    return manifest.options.others.get("ignored") or ()
