"""third_party_suite: the scenarios of an agent that nobody here wrote, for one model API."""

load("//rules:defs.bzl", "acp_replay_suite", "replay_commands", "replay_options", "replay_rule")

# Agents tell the model where they are installed and what day it is. The normaliser knows dates with a time by itself.
_RULES = [
    replay_rule(
        pattern = "/[^\\s\"'`]*/node_modules\\b",
        placeholder = "{{node_modules}}",
        reason = "the agent names files of its own installation, which lies in Bazel's output base",
    ),
    replay_rule(
        pattern = "\\b20[0-9][0-9]-[01][0-9]-[0-3][0-9]\\b",
        placeholder = "{{date}}",
        reason = "the prompt says what day it is: 2026-11-30",
    ),
    replay_rule(
        pattern = "\\b(Mon|Tues?|Wed(nes)?|Thu(rs)?|Fri|Sat(ur)?|Sun)(day)?,? [A-Z][a-z]+ [0-9]+,? 20[0-9][0-9]\\b",
        placeholder = "{{date}}",
        reason = "the prompt says what day it is: Monday, November 30, 2026, or Mon Nov 30 2026",
    ),
    replay_rule(
        pattern = "\\((Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\\)",
        placeholder = "{{weekday}}",
        reason = "the prompt says what day it is: a time, and (Monday) after it",
    ),
    replay_rule(
        pattern = "http://127[.]0[.]0[.]1:[0-9]+",
        placeholder = "{{gateway}}",
        reason = "an error names the URL of the model, whose port is another one in each run",
    ),
]

def third_party_suite(name, agent, rules = [], options = None, **kwargs):
    """An acp_replay_suite whose tests run only when they are named: each fetches a whole agent.

    So that one agent's fixtures can be renewed without the others, the commands are made here as well.

    Args:
      name: the suite's name.
      agent: label of the acp_agent.
      rules: what else varies between two runs of this agent.
      options: what its comparison passes over.
      **kwargs: other attributes of acp_replay_suite.
    """
    acp_replay_suite(
        name = name,
        agent = agent,
        rules = _RULES + rules,
        options = options or replay_options(),
        commands = "//" + native.package_name(),
        tags = ["manual"],
        visibility = ["//scenarios/third_party:__subpackages__"],
        **kwargs
    )
    replay_commands(
        suites = [":" + name],
        tags = ["manual"],
    )
