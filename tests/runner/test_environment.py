"""The environment is read once, and an impossible number is a usage error."""

import os
import pwd

import pytest

from replay.errors import UsageError
from replay.runner.environment import Machine, read_environment, read_machine


def test_nothing_set_gives_a_run_outside_bazel() -> None:
    environment = read_environment({})
    assert (environment.shards, environment.shard, environment.timeout_seconds) == (1, 0, None)
    assert environment.temporary == "/tmp"


def test_variables_of_bazel_are_read() -> None:
    environment = read_environment(
        {
            "TEST_TMPDIR": "/t",
            "TEST_TIMEOUT": "60",
            "TEST_TOTAL_SHARDS": "4",
            "TEST_SHARD_INDEX": "3",
            "TESTBRIDGE_TEST_ONLY": "text-turn:stdout",
            "TESTBRIDGE_TEST_RUNNER_FAIL_FAST": "1",
            "TEST_SRCDIR": "/s",
        }
    )
    assert environment.timeout_seconds == 60.0
    assert (environment.shards, environment.shard) == (4, 3)
    assert environment.fail_fast
    assert environment.runfiles_dir == "/s"


@pytest.mark.parametrize("text", ["x", "-1", "1.5"])
def test_number_that_is_none_is_named(text: str) -> None:
    with pytest.raises(UsageError, match="TEST_TOTAL_SHARDS"):
        read_environment({"TEST_TOTAL_SHARDS": text})


def test_machine_is_what_the_system_says(monkeypatch: pytest.MonkeyPatch) -> None:
    account = pwd.getpwuid(os.getuid())
    # A shell may say anything.
    monkeypatch.setenv("USER", "other")
    monkeypatch.setenv("HOME", "/other")
    machine = read_machine()
    assert (machine.user, machine.homes[0], machine.host) == (
        account.pw_name,
        account.pw_dir,
        os.uname().nodename,
    )


def test_account_without_a_name_is_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 987654321)
    assert read_machine() == Machine(host=os.uname().nodename)
