"""What the directory of a transport scenario holds, by name. The same names as rules/private/transport_layout.bzl.

<variant>.transcript.ndjson              the transcript of a test with one provider
<variant>.<provider>.transcript.ndjson   one of several
<variant>.<surface>.expected.json        what the subject must write as that surface; .jsonl for lines
<variant>.session.jsonl, <variant>.record.json   what a recording is made from; no test reads them
workspace/, workspace.seed.json          the files of the workspace before the run
*.py, README.md                          the subject's own half of the scenario

A **variant** is what one test is named by, most often the provider's name; it has no dot.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

__all__ = [
    "TRANSCRIPT",
    "Surface",
    "expected_file",
    "is_model_file",
    "is_transport_file",
    "provider_of",
    "surface_of",
    "surface_of_file",
    "variant_of",
    "variants_of",
]

TRANSCRIPT: Final = ".transcript.ndjson"
_EXPECTED: Final = ".expected"
_KINDS: Final = (".json", ".jsonl")
_FOR_RECORDING: Final = ("session.jsonl", "record.json")


class Surface(NamedTuple):
    """One comparable output of a subject. `kind` is ".json" or ".jsonl"."""

    name: str
    kind: str

    @property
    def file(self) -> str:
        """The file that the subject writes."""
        return self.name + self.kind


def variant_of(file: str) -> str:
    """The variant that a file of a scenario belongs to, "" for a file of none."""
    if "/" in file or not (provider_of(file) or surface_of(file) or is_model_file(file)):
        return ""
    return file.partition(".")[0]


def provider_of(file: str) -> str:
    """The provider that a transcript must be of, by its name; "" for a file that is no transcript."""
    if "/" in file or not file.endswith(TRANSCRIPT):
        return ""
    parts = file.removesuffix(TRANSCRIPT).split(".")
    return parts[-1] if len(parts) <= 2 and all(parts) else ""


def surface_of(file: str) -> Surface | None:
    """The surface that an expected file holds; None for any other file."""
    for kind in _KINDS:
        if file.endswith(_EXPECTED + kind):
            parts = file.removesuffix(_EXPECTED + kind).split(".")
            is_one = len(parts) == 2 and all(parts) and "/" not in file
            return Surface(parts[1], kind) if is_one else None
    return None


def surface_of_file(file: str) -> Surface | None:
    """The surface that a subject writes as `file` ("projection.json"); None for a file that is none."""
    for kind in _KINDS:
        name = file.removesuffix(kind)
        if name != file and name and not set("./") & set(name):
            return Surface(name, kind)
    return None


def expected_file(variant: str, surface: Surface) -> str:
    """The fixture file that holds a surface of a variant."""
    return f"{variant}.{surface.name}{_EXPECTED}{surface.kind}"


def is_model_file(file: str) -> bool:
    """Whether a file says how a transcript of the scenario is recorded."""
    variant, dot, rest = file.partition(".")
    return bool(variant and dot) and rest in _FOR_RECORDING


def is_transport_file(file: str) -> bool:
    """Whether a path relative to the scenario's directory is one that commands write."""
    return bool(variant_of(file))


def variants_of(files: Iterable[str]) -> list[str]:
    """The variants that have a transcript, sorted. files: names relative to the scenario's directory."""
    return sorted({variant_of(file) for file in files if provider_of(file)})
