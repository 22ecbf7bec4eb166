"""Who may connect to the host, and which transcript each connection plays."""

import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from replay.errors import DivergenceError, FixtureError, UsageError
from replay.transport.host import Host, load
from replay.transport.link import Link
from replay.transport.message import Diverged
from replay.transport.status import CONSUMED, DIVERGED
from replay.transport.transcript import write_transcript
from tests.transport.host_run import CLAUDE, CODEX, Make, ask, exchange, leave, take, transcript


def test_two_transcripts_of_one_protocol_are_told_apart_by_name(host: Make) -> None:
    running = host(transcript(*exchange(1), name="left"), transcript(*exchange(2), name="right"))
    right, left = Link.dial(running.path, CODEX, "right"), Link.dial(running.path, CODEX, "left")
    take(right, 2)
    take(left, 1)
    running.wait_for("answer 2")
    assert [leave(link) for link in (left, right)] == [None, None]
    assert [status.outcome for status in running.finish()] == [CONSUMED, CONSUMED]


def test_label_of_both_transcripts_needs_the_transcripts_name(host: Make) -> None:
    running = host(transcript(*exchange(1), name="left"), transcript(*exchange(1), name="right"))
    with pytest.raises(UsageError, match='stands in several transcripts: "left", "right"'):
        running.hold("answer 1")
    running.hold("answer 1", "right")
    take(Link.dial(running.path, CODEX, "left"), 1)
    with pytest.raises(UsageError, match='no transcript is called "middle"; there are "left", "right"'):
        running.release("answer 1", "middle")


def test_one_transcript_that_diverges_leaves_the_other_alone(host: Make) -> None:
    running = host(transcript(*exchange(1), name="left"), transcript(*exchange(2), name="right"))
    left, right = Link.dial(running.path, CODEX, "left"), Link.dial(running.path, CODEX, "right")
    left.send(ask(3))
    assert isinstance(left.receive(), Diverged) and left.receive() is None
    take(right, 2)
    leave(right)
    assert [status.outcome for status in running.finish()] == [DIVERGED, CONSUMED]


@pytest.mark.parametrize(
    ("protocol", "name", "sentence"),
    [
        (CODEX, "", "several transcripts are that"),
        (CODEX, "middle", 'no transcript is that: "left"'),
        (CLAUDE, "", "no transcript is that"),
    ],
)
def test_peer_without_a_transcript_is_refused_and_found(
    protocol: str, name: str, sentence: str, host: Make
) -> None:
    running = host(transcript(*exchange(1), name="left"), transcript(*exchange(2), name="right"))
    with pytest.raises(DivergenceError, match=sentence):
        Link.dial(running.path, protocol, name)
    statuses = running.finish()
    assert statuses[0].outcome == DIVERGED and sentence in str(statuses[0].finding)


def test_one_connection_more_than_recorded_is_refused(host: Make) -> None:
    running = host(transcript(*exchange(1)))
    take(Link.dial(running.path, CODEX), 1)
    with pytest.raises(DivergenceError, match="once more"):
        Link.dial(running.path, CODEX)
    with pytest.raises(DivergenceError, match="once more"):
        Link.dial(running.path, CODEX)


def test_hosts_of_one_process_do_not_meet(host: Make) -> None:
    one, two = host(transcript(*exchange(1))), host(transcript(*exchange(2)))
    assert one.path != two.path
    take(Link.dial(two.path, CODEX), 2)
    take(Link.dial(one.path, CODEX), 1)


def test_socket_is_of_its_owner_and_goes_with_the_host(tmp_path: Path) -> None:
    with Host([transcript(*exchange(1))], workspace=tmp_path) as running:
        directory = Path(running.path).parent
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
        assert running.environment() == {"AGENT_REPLAY_TRANSPORT": running.path}
    assert not directory.exists()
    with pytest.raises(UsageError, match="no host listens"):
        Link.dial(running.path, CODEX)


def test_socket_path_that_no_system_takes_is_explained(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 120)
    deep.mkdir()
    with (
        pytest.raises(UsageError, match=r"the socket's path has \d+ bytes"),
        Host([transcript(*exchange(1))], workspace=tmp_path, directory=deep),
    ):
        pass
    assert list(deep.iterdir()) == []


def test_transcripts_come_from_files_too(tmp_path: Path) -> None:
    file = tmp_path / "codex.transcript.ndjson"
    file.write_bytes(write_transcript(transcript(*exchange(1))))
    with Host([file], workspace=tmp_path) as running:
        take(link := Link.dial(running.path, CODEX, "codex"), 1)
        leave(link)
        [status] = running.finish()
    assert status.outcome == CONSUMED and status.transcript == str(file)
    with pytest.raises(FixtureError, match="cannot be read"):
        load(tmp_path / "absent.ndjson")


@pytest.mark.parametrize(
    ("transcripts", "options", "sentence"),
    [
        ([], {}, "a host needs a transcript"),
        (["codex"], {"clock": "fast"}, '"virtual" or "real", not "fast"'),
        (["codex", "codex"], {}, 'two transcripts are called "codex"'),
        (["codex"], {"orders": {"claude": 1}}, 'an order is given for "claude"'),
        (["codex", "other"], {"status_file": "x"}, "a status file is for one transcript"),
    ],
)
def test_arguments_that_cannot_be_right_are_refused(
    transcripts: Sequence[str], options: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=sentence):
        Host([transcript(*exchange(1), name=name) for name in transcripts], workspace=tmp_path, **options)


def test_host_that_does_not_run_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="use it as a context manager"):
        Host([transcript(*exchange(1))], workspace=tmp_path).hold("answer 1")
