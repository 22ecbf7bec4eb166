"""agent_replay: hermetic record and replay of AI agents. See ARCHITECTURE.md for the rooms."""
