"""Starts the claude peer; compiled at every start, so it holds nothing."""

from replay.transport.peers.claude import main

main()
