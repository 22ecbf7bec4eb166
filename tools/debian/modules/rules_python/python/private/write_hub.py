"""Writes the BUILD files of a hub: one py_library for each installed distribution, with its own files and dependencies only.

Usage: write_hub.py SITE_PACKAGES, from the root of the repository. Labels are those of rules_python 1.x: @hub//name.
"""

import csv
import json
import pathlib
import re
import sys
from importlib.metadata import Distribution, distributions

from pip._vendor.packaging.requirements import Requirement

HEADER = '"""Written by write_hub.py."""\n\npackage(default_visibility = ["//visibility:public"])\n'


def normalise(name: str) -> str:
    return re.sub(r"[-_.]+", "_", name).lower()


def active_requirements(dist: Distribution, extras: set[str]) -> list[Requirement]:
    """The requirements that hold on this machine, for the distribution itself and the extras asked for."""
    found = []
    for text in dist.requires or []:
        requirement = Requirement(text)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in {"", *extras}):
            found.append(requirement)
    return found


def resolve(dists: dict[str, Distribution]) -> dict[str, list[str]]:
    """Names to the names of their dependencies. An extra counts when any distribution asks for it."""
    extras: dict[str, set[str]] = {name: set() for name in dists}
    while True:
        before = sum(map(len, extras.values()))
        edges: dict[str, list[str]] = {}
        for name, dist in dists.items():
            needed = set()
            for requirement in active_requirements(dist, extras[name]):
                target = normalise(requirement.name)
                if target in dists and target != name:
                    needed.add(target)
                    extras[target] |= requirement.extras
            edges[name] = sorted(needed)
        if sum(map(len, extras.values())) == before:
            return edges


def installed_files(dist: Distribution, site: pathlib.Path) -> list[str]:
    """Paths from the repository's root, with the bytecode that the distribution's own record does not know."""
    found = set()
    for entry, *_ in csv.reader((dist.read_text("RECORD") or "").splitlines()):
        # The record names scripts from a real site-packages; `pip install --target` puts them into it.
        path = site / re.sub(r"^(\.\./)+", "", entry)
        if not path.is_file() or "__pycache__" in path.parts:
            continue
        found.add(path.as_posix())
        found.update(
            cached.as_posix()
            for cached in path.parent.glob(f"__pycache__/{path.stem}.cpython-*.pyc")
            if path.suffix == ".py"
        )
    return sorted(found)


def library(name: str, files: list[str], deps: list[str]) -> str:
    sources = [file for file in files if file.endswith(".py")]
    data = [file for file in files if not file.endswith(".py")]
    return (
        f"\npy_library(\n    name = {json.dumps(name + '.dist')},\n    srcs = {json.dumps(sources)},\n    data = {json.dumps(data)},\n"
        f"    imports = [{json.dumps('site-packages')}],\n    deps = {json.dumps([f':{dep}.dist' for dep in deps])},\n)\n"
    )


def requirements(names: list[str]) -> str:
    labels = ", ".join(f'Label("//{name}")' for name in names)
    return f'"""Written by write_hub.py."""\n\nall_requirements = [str(label) for label in [{labels}]]\n'


def main(site_argument: str) -> None:
    site = pathlib.Path(site_argument)
    dists = {normalise(dist.name): dist for dist in distributions(path=[str(site)])}
    edges = resolve(dists)
    root = [HEADER]
    for name in sorted(dists):
        root.append(library(name, installed_files(dists[name], site), edges[name]))
        package = pathlib.Path(name)
        package.mkdir()
        aliases = "".join(
            f'\nalias(\n    name = "{alias}",\n    actual = "//:{name}.dist",\n)\n' for alias in (name, "pkg")
        )
        (package / "BUILD.bazel").write_text(HEADER + aliases, encoding="utf-8")
    # A BUILD file inside a wheel would cut its directory off from the root package.
    for stray in [*site.rglob("BUILD"), *site.rglob("BUILD.bazel")]:
        stray.unlink()
    pathlib.Path("BUILD.bazel").write_text("".join(root), encoding="utf-8")
    pathlib.Path("requirements.bzl").write_text(requirements(sorted(dists)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
