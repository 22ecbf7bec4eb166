"""A key or a .env of the developer reaches neither the agent nor, through it, a live call."""

import json

import pytest

from tests.agents.stage import Scenario

_SHELL = {
    "OPENAI_API_KEY": "sk-live-developer",
    "ANTHROPIC_API_KEY": "sk-ant-developer",
    "AWS_SECRET_ACCESS_KEY": "aws-developer",
    "HTTPS_PROXY": "http://proxy.example:3128",
    "IS_SANDBOX": "1",
    "RUNFILES_DIR": "/nowhere",
    "BUILD_WORKSPACE_DIRECTORY": "/nowhere",
    "TEST_TARGET": "//x",
    "GIT_SSH_COMMAND": "ssh -i key",
    "NODE_OPTIONS": "--inspect",
    "LD_PRELOAD": "",
}
_ALLOWED = {
    "PATH", "HOME", "TMPDIR", "TMP", "TEMP", "LANG", "LC_ALL", "TZ", "PWD", "AGENT_REPLAY_FIXTURE", "AGENT_REPLAY_JOURNAL",
    # The interpreter's own coercion of the locale.
    "LC_CTYPE",
    # The runner's own, which names who leaves this machine.
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
}  # fmt: skip


def test_no_variable_of_the_shell_reaches_the_agent(recorded: Scenario) -> None:
    recorded.environment = _SHELL
    (recorded.directory / ".env").write_text("OPENAI_API_KEY=sk-live-file\n")
    recorded.agent_script = {"session/prompt": [{"tell_environment": 0}, {"normal": 0}]}
    outcome = recorded.run()
    assert outcome.code == 1
    told = json.loads((recorded.outputs / "agent.stderr.txt").read_text())
    assert set(told["environment"]) <= _ALLOWED
    assert told["environment"]["TZ"] == "UTC"
    assert told["environment"]["HTTPS_PROXY"].startswith("http://127.0.0.1:")
    assert told["files"] == []
    everything = b"".join(path.read_bytes() for path in recorded.outputs.rglob("*") if path.is_file())
    assert b"developer" not in everything
    assert b"sk-live" not in everything


@pytest.mark.parametrize("name", [".env", ".env.local", "sub/.env", ".netrc"])
def test_workspace_seed_with_a_credentials_file_is_refused(recorded: Scenario, name: str) -> None:
    path = recorded.fixture / "workspace" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("OPENAI_API_KEY=x\n")
    outcome = recorded.run()
    assert outcome.code == 2
    assert outcome.first_line.startswith(f"scenarios/hello/workspace/{name}: ")
    assert outcome.result["agent"]["starts"] == 0


def test_workspace_seed_with_a_key_is_refused(recorded: Scenario) -> None:
    path = recorded.fixture / "workspace" / "config.txt"
    path.parent.mkdir()
    key = "sk-" + "proj-A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6"
    path.write_text(f"key={key}\n")
    outcome = recorded.run()
    assert outcome.code == 2
    assert outcome.first_line.startswith("scenarios/hello/workspace/config.txt:1: a secret (")
    assert key not in outcome.text


def test_suite_says_which_variables_an_agent_gets(recorded: Scenario) -> None:
    recorded.variables = {"AGENT_HOME": "{home}/agent"}
    recorded.agent_script = {"session/prompt": [{"tell_environment": 0}, {"normal": 0}]}
    recorded.run()
    told = json.loads((recorded.outputs / "agent.stderr.txt").read_text())
    assert told["environment"]["AGENT_HOME"] == told["environment"]["HOME"] + "/agent"
