"""What a replay test imports: the standard library and orjson, whether or not a result is written."""

import subprocess
import sys

import pytest

from tests.agents.stage import Scenario

# Expensive, or a way to the world that the runner does not take.
_UNWANTED = (
    "asyncio",
    "subprocess",
    "pydantic",
    "httpx",
    "h11",
    "acp",
    "multiprocessing",
    "tempfile",
    "shutil",
)


def _imported(recorded: Scenario, **environment: str) -> set[str]:
    """Top-level modules that the runner's process imported."""
    code = (
        "import sys\n"
        "from replay.runner.main import main\n"
        "code = main()\n"
        "print('modules', *sorted({name.partition('.')[0] for name in sys.modules}))\n"
        "sys.exit(code)"
    )
    outcome = recorded.run_code(code, **environment)
    assert outcome.code == 0, outcome.text
    return set(outcome.text.strip().split("\n")[-1].split()[1:])


@pytest.mark.parametrize("outputs", [{"TEST_UNDECLARED_OUTPUTS_DIR": ""}, {}], ids=["bare", "with a result"])
def test_replay_path_is_the_standard_library_and_orjson(recorded: Scenario, outputs: dict[str, str]) -> None:
    modules = _imported(recorded, **outputs)
    bare = subprocess.run(
        [sys.executable, "-c", "import sys; print(*{name.partition('.')[0] for name in sys.modules})"],
        stdout=subprocess.PIPE, check=True, text=True,
    ).stdout.split()  # fmt: skip
    foreign = {name for name in modules - set(bare) if name not in sys.stdlib_module_names}
    assert foreign <= {"orjson", "replay"}
    assert not modules & set(_UNWANTED)
