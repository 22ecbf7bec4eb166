"""What a person can do about a fixture, in words that messages share: commands that exist, and what there is no command for."""

__all__ = ["BY_HAND", "make_by_hand", "refresh_command"]

BY_HAND = 'README of agent_replay, "Making a fixture"'


def refresh_command(scenario: str) -> str:
    """The command that rewrites the expected outputs of a scenario; its name may hold blanks."""
    is_plain = all(char.isalnum() or char in "-_.+/@%,=" for char in scenario)
    quoted = scenario if is_plain else "'" + scenario.replace("'", "'\\''") + "'"
    return f"bazel run //:refresh -- {quoted}"


def make_by_hand(scenario: str) -> str:
    """What to do about a recording that is not there."""
    return f"write a header and the chunks of each model call ({BY_HAND}), then {refresh_command(scenario)}"
