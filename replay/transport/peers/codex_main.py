"""Starts the codex peer; compiled at every start, so it holds nothing."""

from replay.transport.peers.codex import main

main()
