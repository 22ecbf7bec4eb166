"""Starts the acp peer; compiled at every start, so it holds nothing."""

from replay.transport.peers.acp import main

main()
