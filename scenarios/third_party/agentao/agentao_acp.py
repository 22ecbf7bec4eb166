"""Starts agentao as an ACP agent, as `python -m agentao.acp` does."""

from agentao.acp.__main__ import main

if __name__ == "__main__":
    main()
