"""Starts the cursor peer; compiled at every start, so it holds nothing."""

from replay.transport.peers.cursor import main

main()
