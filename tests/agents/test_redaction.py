"""What an agent says of its machine is in no fixture, and a fixture is green on any other machine."""

import json
import os
import pwd
import subprocess
from typing import Any

import pytest

from tests.agents.stage import Outcome, Scenario

_MACHINES = {
    "a person's": ("/data/homes/martina", "martina", "zeus-laptop"),
    "another's": ("/Users/karla", "karla", "k-mac-book.local"),
    "a container": ("/root", "root", "build"),
    "a service": ("/var/lib/agent", "agent", "localhost"),
    "a word": ("/home/zebra", "zebra", "zebra"),
}
_CODE = """
import sys
from replay.runner import main, refresh
from replay.runner.environment import Machine
main.read_machine = refresh.read_machine = lambda: Machine(({home!r},), {user!r}, {host!r})
sys.exit({call})
"""


def _run(scenario: Scenario, home: str, user: str, host: str, *, refresh: bool = False) -> Outcome:
    """A run on a machine that is told by argument."""
    manifest = str(scenario.directory / "manifest.json")
    call = f"refresh.main(['--manifest', {manifest!r}, '--all'])" if refresh else "main.main()"
    code = _CODE.format(home=home, user=user, host=host, call=call)
    return scenario.run_code(code, BUILD_WORKSPACE_DIRECTORY=str(scenario.directory))


def _tell(scenario: Scenario, home: str, user: str, host: str) -> None:
    """Let the agent say where it is, its name and host in two pieces, and call its session after both."""
    words = f"I am {user}@{host}, in {home}/src:\n-rw-r--r-- 1 {user} {user} 5 x\nHOSTNAME={host}\nAsk "
    pieces = [words[:9], words[9:], f"m.{user}@acme.io now."]
    scenario.agent_script = {
        "session/new": [{"new_as": f"{user}@{host}-"}],
        "session/prompt": [{"say": pieces}, {"normal": 0}],
    }


def _files(scenario: Scenario) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in scenario.fixture.rglob("*") if path.is_file()}


@pytest.mark.parametrize("first", _MACHINES)
def test_fixture_of_one_machine_is_green_on_every_other(scenario: Scenario, first: str) -> None:
    _tell(scenario, *_MACHINES[first])
    outcome = _run(scenario, *_MACHINES[first], refresh=True)
    assert outcome.code == 0, outcome.text
    before = _files(scenario)
    said = [json.loads(line) for line in before["stdout.expected.jsonl"].splitlines()]
    texts = [frame["params"]["update"]["content"]["text"] for frame in said if "params" in frame]
    assert "".join(texts[:3]) == (
        "I am user@host, in /home/user/src:\n-rw-r--r-- 1 user user 5 x\nHOSTNAME=host\nAsk user@example.com now."
    )
    for machine in _MACHINES.values():
        _tell(scenario, *machine)
        outcome = _run(scenario, *machine)
        assert outcome.code == 0, (machine, outcome.text)
        assert _run(scenario, *machine, refresh=True).text == "hello: unchanged\n"
    assert _files(scenario) == before


def test_fixture_that_a_person_wrote_may_name_people(scenario: Scenario) -> None:
    """What the model said stays as it stands, both sides are compared without it, and its words are no names."""
    scenario.answers = ["Write to karla@acme.io in /home/karla/x or on zebra."]
    assert scenario.refresh().code == 0
    log = (scenario.fixture / "session.jsonl").read_bytes()
    stdout = (scenario.fixture / "stdout.expected.jsonl").read_bytes()
    assert b"karla" in log and b"karla" not in stdout and b"zebra" in stdout
    for machine in _MACHINES.values():
        outcome = _run(scenario, *machine)
        assert outcome.code == 0, (machine, outcome.text)
        assert _run(scenario, *machine, refresh=True).text == "hello: unchanged\n"
    assert (scenario.fixture / "session.jsonl").read_bytes() == log


def test_directories_of_the_run_may_lie_in_the_home(recorded: Scenario) -> None:
    home = recorded.directory
    recorded.agent_script = {"session/prompt": [{"tell_place": 0}, {"normal": 0}]}
    assert _run(recorded, str(home), home.name, "zeus-laptop", refresh=True).code == 0
    text = (recorded.fixture / "stdout.expected.jsonl").read_text()
    assert "in {{cwd}}/a" in text and "/home/user" not in text
    outcome = recorded.run()
    assert outcome.code == 0, outcome.text


def _may_rename_host() -> bool:
    command = ["unshare", "-u", "hostname", "zeus-laptop"]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not _may_rename_host(), reason="this account gets no UTS namespace of its own")
def test_fixture_of_one_host_is_green_on_another(scenario: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real thing: the agent asks the system, and so does the runner."""
    run: Any = subprocess.run
    host = "zeus-laptop"

    def elsewhere(command: list[str], **options: Any) -> Any:
        script = f'hostname {host} && exec "$0" "$@"'
        return run(["unshare", "-u", "sh", "-c", script, *command], **options)

    monkeypatch.setattr("tests.agents.stage.subprocess.run", elsewhere)
    scenario.agent_script = {"session/prompt": [{"tell_machine": 0}, {"normal": 0}]}
    outcome = scenario.refresh()
    assert outcome.code == 0, outcome.text
    text = (scenario.fixture / "stdout.expected.jsonl").read_text()
    assert '"user@"' in text and '"host in /home/user on host."' in text
    assert pwd.getpwuid(os.getuid()).pw_dir not in text
    host = "hera-station"
    outcome = scenario.run()
    assert outcome.code == 0, outcome.text
    assert scenario.refresh("hello").text == "hello: unchanged\n"
    # No name of this machine: that both runs pass is not because nobody looks.
    scenario.agent_script = {"session/prompt": [{"say": ["root@", "zeus-laptop"]}, {"normal": 0}]}
    assert scenario.run().code == 1


def test_redactor_is_imported_only_where_there_is_something(recorded: Scenario) -> None:
    code = (
        "import sys\n"
        "from replay.runner.main import main\n"
        "code = main()\n"
        "print('redactor', 'replay.surface.redact' in sys.modules)\n"
    )
    assert recorded.run_code(code).text.endswith("redactor False\n")
    recorded.agent_script = {"session/prompt": [{"say": ["in /root/x"]}, {"normal": 0}]}
    assert recorded.run_code(code).text.endswith("redactor True\n")
