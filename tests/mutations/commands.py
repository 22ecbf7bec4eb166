"""What a person types: caching, a key in the shell, filters, repeats, shards, coverage, `bazel run`, a hang.

Besides the real scenarios there are two packages: `batch`, some scenarios in one sharded target, and `probe`, whose
agent says which keys are in its environment, or hangs.
"""

import json
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping

from tests.mutations.bazel import Bazel, Invocation, Test
from tests.mutations.packages import SCENARIOS, add_scenario, label_of, write_package
from tests.mutations.report import Report
from tests.mutations.work_tree import EXTRA, WorkTree

__all__ = ["check_caching", "check_commands", "check_first_run", "check_probes", "write_packages"]

ALL = "//scenarios/..."
BATCH = "batch"
BATCHED = ("handshake", "reject-extra-dirs", "text-turn", "tool-read")
SHARDS = 2
PROBE = "probe"
# A test's whole time in check_probes, in seconds.
TIMEOUT_SECONDS = 10

TEXT_TURN = f"//{SCENARIOS}:text-turn_test"
_KEYS = {"OPENAI_API_KEY": "stray", "ANTHROPIC_API_KEY": "stray"}
_AGENTS = "".join(
    f"""
acp_agent(
    name = "{name}_agent",
    testonly = True,
    args = ["{{sessions}}"{argument}],
    binary = "//tests/mutations:probe_agent",
    env = {env},
)
"""
    for name, argument, env in (
        ("probe", "", "{}"),
        ("keyed", "", '{"OPENAI_API_KEY": "on purpose"}'),
        ("hanging", ', "hang"', "{}"),
    )
)


def write_packages(tree: WorkTree) -> None:
    """Make `batch` and `probe`."""
    for name in BATCHED:
        add_scenario(tree, BATCH, name, name)
    write_package(
        tree, BATCH, pins=["text-turn"], attributes=f"    batched = True,\n    shard_count = {SHARDS},\n"
    )
    steps = [{"op": "initialize"}, {"op": "newSession"}, {"op": "prompt", "text": "Which keys do you have?"}]
    session = "{{sessionId}}"
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "no key"}}
    log = {"type": "session", "version": 0, "id": session, "createdAt": 0, "cwd": "{{cwd}}"}
    abilities = {"protocolVersion": 1, "agentCapabilities": {}, "authMethods": []}
    frames = [
        {"jsonrpc": "2.0", "id": 1, "result": abilities},
        {"jsonrpc": "2.0", "id": 2, "result": {"sessionId": session}},
        {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": session, "update": update}},
        {"jsonrpc": "2.0", "id": 3, "result": {"stopReason": "end_turn"}},
    ]
    for name in ("keys", "given-key", "hang"):
        directory = tree.extra / PROBE / name
        directory.mkdir(parents=True)
        (directory / "input.json").write_text(json.dumps({"steps": steps}) + "\n")
        (directory / "session.jsonl").write_text(_line(log))
        (directory / "stdout.expected.jsonl").write_text("".join(map(_line, frames)))
    attributes = """    per_scenario = {
        "given-key": {"agent": ":keyed_agent"},
        "hang": {"agent": ":hanging_agent"},
    },
    testonly = True,
"""
    write_package(tree, PROBE, agent=":probe_agent", more=_AGENTS, attributes=attributes)


def check_first_run(bazel: Bazel, report: Report) -> bool:
    """Whether everything passes as it is; nothing that follows means much otherwise."""
    run = bazel.call("test", ALL, f"//{EXTRA}/{BATCH}/...", label_of(PROBE, "keys_test"))
    wrong = [label for label, test in run.tests.items() if test.status != "PASSED"]
    got = f"{len(run.tests) - len(wrong)} passed, exit {run.code}"
    is_well = run.code == 0 and len(run.tests) > 30 and not wrong
    report.check("nothing", "every test passes", got, is_well, f"{wrong}\n{run.text[-3000:]}")
    _check_shards(report, run.tests.get(label_of(BATCH, "suite_batch_test")))
    return is_well


def check_caching(tree: WorkTree, bazel: Bazel, report: Report) -> None:
    """A second run, one after README changed, and one with keys in the shell: nothing runs again."""
    targets = (ALL, f"//{EXTRA}/{BATCH}/...", label_of(PROBE, "keys_test"))
    _check_cached(report, "a second run", bazel.call("test", *targets))
    readme = tree.keep("README.md")
    readme.write_bytes((readme.read_bytes() if readme.is_file() else b"") + b"\nOne more line.\n")
    _check_cached(report, "README.md changed", bazel.call("test", *targets))
    tree.restore()
    _check_cached(report, f"{' and '.join(_KEYS)} in the shell", bazel.call("test", *targets, env=_KEYS))


def check_probes(bazel: Bazel, report: Report) -> None:
    """Keys that are handed to the test on purpose stop at the runner; an agent that hangs is the runner's find."""
    began = time.monotonic()
    handed = [f"--test_env={name}" for name in _KEYS]
    targets = [label_of(PROBE, f"{name}_test") for name in ("keys", "given-key", "hang")]
    run = bazel.call("test", *handed, f"--test_timeout={TIMEOUT_SECONDS}", *targets, env=_KEYS)
    took = time.monotonic() - began
    keys, given, hang = (run.tests.get(target) for target in targets)
    _check_test(report, "keys handed to the test by --test_env", keys, "PASSED", "keys: passed", run)
    given_says = 'expected "no key", actual "OPENAI_API_KEY"'
    _check_test(report, "a key in the agent's own env (a counter-check)", given, "FAILED", given_says, run)
    what = f"an agent that hangs, with --test_timeout={TIMEOUT_SECONDS}"
    _check_test(report, what, hang, "FAILED", 'no answer to "session/prompt"', run)
    result = hang.attempts[0].result() if hang and hang.attempts else {}
    got = f"exit {result.get('exit_code')}: {result.get('first_line')}"
    report.check("result.json of the hang", "exit 3", got, result.get("exit_code") == 3)
    report.check("the time of that run", "some seconds", f"{took:.1f} s", took < TIMEOUT_SECONDS + 10)


def check_commands(bazel: Bazel, report: Report) -> None:
    """`bazel run`, --test_filter, --runs_per_test, coverage."""
    run = bazel.call("run", TEXT_TURN)
    said = next((line for line in run.text.split("\n") if line.startswith("text-turn:")), f"exit {run.code}")
    is_well = run.code == 0 and "passed" in said
    report.check("bazel run of one scenario", "text-turn: passed", said, is_well, run.text[-2000:])

    batch, handshake = label_of(BATCH, "suite_batch_test"), f"//{SCENARIOS}:handshake_test"
    run = bazel.call("test", "--test_filter=text-turn", TEXT_TURN, handshake, batch)
    ran = ", ".join(sorted(_cases(run.tests.get(batch))))
    is_well = run.code == 0 and ran == "text-turn"
    report.check("--test_filter=text-turn of a batch", "text-turn alone", ran, is_well, run.text[-2000:])
    what, says = "--test_filter=text-turn of another scenario", "does not match handshake: nothing ran"
    _check_test(report, what, run.tests.get(handshake), "PASSED", says, run)
    what = "--test_filter=text-turn:stdout"
    run = bazel.call("test", what, TEXT_TURN)
    _check_test(report, what, run.tests.get(TEXT_TURN), "PASSED", "passed (1 surface", run)

    run = bazel.call("test", "--runs_per_test=2", TEXT_TURN)
    test = run.tests.get(TEXT_TURN)
    runs = len(test.attempts) if test else 0
    is_well, got = run.code == 0 and runs == 2, f"{runs} runs, exit {run.code}"
    report.check("--runs_per_test=2", "2 runs passed", got, is_well, run.text[-2000:])

    what, says = "coverage of one scenario", "text-turn: passed"
    run = bazel.call("coverage", TEXT_TURN)
    _check_test(report, what, run.tests.get(TEXT_TURN), "PASSED", says, run)


def _check_cached(report: Report, what: str, run: Invocation) -> None:
    ran = [label for label, test in run.tests.items() if not test.is_cached]
    got = f"{len(run.tests) - len(ran)} of {len(run.tests)} cached, exit {run.code}"
    is_so = run.code == 0 and len(run.tests) > 30 and not ran
    report.check(what, "every test is cached", got, is_so, f"these ran: {ran}\n{run.text[-1500:]}")


def _check_test(
    report: Report, what: str, test: Test | None, status: str, says: str, run: Invocation
) -> None:
    if test is None:
        report.check(what, f"{status}: {says}", "no such test", False, run.text[-2000:])
        return
    is_so = test.status == status and says in test.log
    report.check(what, f"{status}: {says}", f"{test.status}: {test.first_line}", is_so, test.log)


def _check_shards(report: Report, test: Test | None) -> None:
    shares: Mapping[int, set[str]] = {
        attempt.shard: _cases(Test("", [attempt])) for attempt in (test.attempts if test else ())
    }
    got = "; ".join(f"shard {shard}: {', '.join(sorted(names))}" for shard, names in shares.items())
    together = [name for names in shares.values() for name in names]
    is_so = len(shares) == SHARDS and sorted(together) == sorted(BATCHED) and all(shares.values())
    report.check(f"a batch of {len(BATCHED)} in {SHARDS} shards", "each scenario in one shard", got, is_so)


def _cases(test: Test | None) -> set[str]:
    """The scenarios in a test's XML."""
    found: set[str] = set()
    for attempt in test.attempts if test else ():
        tree = ElementTree.parse(attempt.directory / "test.xml")
        found.update(
            suite.get("name", "") for suite in tree.iter("testsuite") if suite.find("testcase") is not None
        )
    return found


def _line(value: object) -> str:
    return json.dumps(value, separators=(",", ":")) + "\n"
