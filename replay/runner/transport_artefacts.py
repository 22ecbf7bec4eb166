"""What a play of a transport test leaves in the undeclared outputs.

<transcript>.status.json     what became of each transcript, written by the host
<transcript>.frames.ndjson   every frame of both directions, written by the host
subject.stdout.txt, subject.stderr.txt
actual/                      the surfaces, under the names of their fixture files: copy them over to accept
result.json, result.pb       the verdict
order-<n>/                   the same of an order that fails where the recorded one does not
"""

import os

from replay.runner.manifest import ScenarioSpec
from replay.runner.transport_play import Play
from replay.runner.transport_surfaces import encode_surface

__all__ = ["surface_files", "write_play"]


def write_play(directory: str, spec: ScenarioSpec, play: Play, *, with_surfaces: bool) -> list[str]:
    """Leave the evidence of a play in `directory`; the names of all that is there, relative to it."""
    for name, output in (("subject.stdout.txt", play.run.stdout), ("subject.stderr.txt", play.run.stderr)):
        if output.count:
            _write(directory, name, output.text())
    if with_surfaces:
        for name, data in surface_files(spec, play).items():
            _write(directory, f"actual/{name}", data)
    with os.scandir(directory) as entries:
        return sorted(f"{entry.name}/" if entry.is_dir() else entry.name for entry in entries)


def surface_files(spec: ScenarioSpec, play: Play) -> dict[str, bytes]:
    """The surfaces of a play as files of the fixture."""
    from replay.scenario.transport_layout import expected_file, surface_of_file

    files = {}
    for file, values in play.actual.surfaces.items():
        name = spec.expected.get(file)
        if name is None:
            surface = surface_of_file(file)
            if surface is None:
                continue
            name = expected_file(spec.variant, surface)
        files[name] = encode_surface(values, file)
    return files


def _write(directory: str, name: str, data: bytes) -> None:
    path = os.path.join(directory, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)
