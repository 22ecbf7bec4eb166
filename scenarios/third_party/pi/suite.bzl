"""pi_suite: what is the same for pi's four suites."""

load("//rules:defs.bzl", "replay_options")
load("//scenarios/third_party:suite.bzl", "third_party_suite")

def pi_suite(name):
    """The scenarios of this package against pi, which speaks the model API `name`.

    Args:
      name: the model API.
    """
    third_party_suite(
        name = name,
        agent = "//scenarios/third_party/pi:" + name,
        options = replay_options(
            floating = {
                "available_commands_update": "pi sends it when its own process has listed the commands, before or after the turn begins",
                "session_info_update": "it tells that the queue moved, on a timer beside the turn's own updates",
            },
            parallel_tools = "pi runs the tool calls of one reply at once",
        ),
    )
