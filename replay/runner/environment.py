"""The one door to the process environment: what Bazel, or a developer's shell, says about this run, and on what machine.

Nothing else in the runner looks at os.environ, or asks who sits where. Source of the names: Bazel's test encyclopedia.
An absent variable is an empty string; only `timeout_seconds` can be absent as None.
"""

import os
import pwd
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from replay.errors import UsageError

__all__ = ["Environment", "Machine", "read_environment", "read_machine"]


class Machine(NamedTuple):
    """What a process can tell of the machine and the account it runs as, and no fixture may say."""

    homes: Sequence[str] = ()
    """The account's home directory in each of its spellings."""
    user: str = ""
    host: str = ""


class Environment(NamedTuple):
    """A snapshot of the variables that a runner honours. Paths are absolute or empty."""

    manifest: str = ""
    """rlocation path of the manifest (AGENT_REPLAY_MANIFEST), or a file name."""
    schema: str = ""
    """The ACP schema's table where it does not lie beside replay/acp (AGENT_REPLAY_SCHEMA)."""
    temporary: str = "/tmp"
    """Where the sandboxes go: TEST_TMPDIR, else TMPDIR."""
    outputs: str = ""
    xml: str = ""
    premature_exit: str = ""
    shard_status: str = ""
    shards: int = 1
    shard: int = 0
    only: str = ""
    """--test_filter: a pattern over `scenario` or `scenario:surface`."""
    fail_fast: bool = False
    warnings: str = ""
    infrastructure: str = ""
    timeout_seconds: float | None = None
    target: str = ""
    runfiles_dir: str = ""
    runfiles_manifest: str = ""
    workspace: str = ""
    """The source tree of a `bazel run` (BUILD_WORKSPACE_DIRECTORY)."""
    working: str = ""
    """Where the person stood who typed `bazel run` (BUILD_WORKING_DIRECTORY)."""


def read_environment(source: Mapping[str, str]) -> Environment:
    """The environment of this run. Raises UsageError where a number is none."""
    get = source.get
    return Environment(
        manifest=get("AGENT_REPLAY_MANIFEST", ""),
        schema=get("AGENT_REPLAY_SCHEMA", ""),
        temporary=get("TEST_TMPDIR") or get("TMPDIR") or "/tmp",
        outputs=get("TEST_UNDECLARED_OUTPUTS_DIR", ""),
        xml=get("XML_OUTPUT_FILE", ""),
        premature_exit=get("TEST_PREMATURE_EXIT_FILE", ""),
        shard_status=get("TEST_SHARD_STATUS_FILE", ""),
        shards=_count(source, "TEST_TOTAL_SHARDS", 1),
        shard=_count(source, "TEST_SHARD_INDEX", 0),
        only=get("TESTBRIDGE_TEST_ONLY", ""),
        fail_fast=get("TESTBRIDGE_TEST_RUNNER_FAIL_FAST") == "1",
        warnings=get("TEST_WARNINGS_OUTPUT_FILE", ""),
        infrastructure=get("TEST_INFRASTRUCTURE_FAILURE_FILE", ""),
        timeout_seconds=float(_count(source, "TEST_TIMEOUT", 0)) or None,
        target=get("TEST_TARGET", ""),
        runfiles_dir=get("RUNFILES_DIR") or get("TEST_SRCDIR", ""),
        runfiles_manifest=get("RUNFILES_MANIFEST_FILE", ""),
        workspace=get("BUILD_WORKSPACE_DIRECTORY", ""),
        working=get("BUILD_WORKING_DIRECTORY", ""),
    )


def read_machine() -> Machine:
    """This machine. An account that is in no list of accounts has neither name nor home."""
    host = os.uname().nodename
    try:
        account = pwd.getpwuid(os.getuid())
    except KeyError:
        return Machine(host=host)
    homes = dict.fromkeys((account.pw_dir, os.path.realpath(account.pw_dir))) if account.pw_dir else ()
    return Machine(tuple(homes), account.pw_name, host)


def _count(source: Mapping[str, str], name: str, default: int) -> int:
    text = source.get(name, "")
    if not text:
        return default
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < 0:
        raise UsageError(f'{name} is "{text}", not a count')
    return value
