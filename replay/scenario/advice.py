"""What a person can do about a fixture, in words that messages share."""

__all__ = ["accept_command", "elsewhere", "make_recording", "record_command", "refresh_command"]

_BY_HAND = 'README of agent_replay, "Making a fixture"'


def accept_command(scenario: str, commands: str = "//") -> str:
    """The command that takes what a failed test left for right; its name may hold blanks.

    commands: the package in which the commands stand.
    """
    return f"bazel run {commands}:accept -- {_quoted(scenario)}"


def record_command(scenario: str, commands: str = "//") -> str:
    """The command that makes a scenario's recording again; its name may hold blanks.

    commands: the package in which the commands stand.
    """
    return f"bazel run {commands}:record -- {_quoted(scenario)}"


def refresh_command(scenario: str, commands: str = "//") -> str:
    """The command that rewrites the expected outputs of a scenario; its name may hold blanks.

    commands: the package in which the commands stand.
    """
    return f"bazel run {commands}:refresh -- {_quoted(scenario)}"


def elsewhere(advice: str, commands: str) -> str:
    """What a core advises, which knows no package, with the commands in the package `commands`."""
    return advice.replace("bazel run //:", f"bazel run {commands}:")


def _quoted(scenario: str) -> str:
    is_plain = all(char.isalnum() or char in "-_.+/@%,=" for char in scenario)
    return scenario if is_plain else "'" + scenario.replace("'", "'\\''") + "'"


def make_recording(scenario: str) -> str:
    """What to do about a recording that is not there."""
    return (
        f"record it: {record_command(scenario)}\n"
        f"or write a header and the chunks of each model call ({_BY_HAND}), then {refresh_command(scenario)}"
    )
