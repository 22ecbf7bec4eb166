"""Starts the opencode peer; compiled at every start, so it holds nothing."""

from replay.transport.peers.opencode import main

main()
