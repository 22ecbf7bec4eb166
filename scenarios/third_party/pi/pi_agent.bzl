"""pi_agent: pi behind its ACP adapter, speaking one model API."""

load("//rules:defs.bzl", "acp_agent")

def pi_agent(name, model_api):
    """The acp_agent `name`.

    Args:
      name: the target's name.
      model_api: one of the gateway's wire formats; models.<model_api>.json is pi's configuration for it.
    """
    acp_agent(
        name = name,
        binary = "@agent_replay_pi//:pi-acp",
        data = ["@agent_replay_pi//:pi"],
        env = {
            # Else pi asks for its newest version when it starts.
            "PI_OFFLINE": "1",
            "PI_ACP_PI_COMMAND": "$(location @agent_replay_pi//:pi)",
        },
        home = {
            ".pi/agent/models.json": "models.{}.json".format(model_api),
            ".pi/agent/settings.json": "settings.json",
        },
        model_api = model_api,
        session_log = "gateway",
        tags = ["manual"],
        visibility = ["//scenarios/third_party:__subpackages__"],
    )
