"""Peers: what an orchestrator spawns or dials instead of a provider. One protocol a module, and thin.

A peer translates between a provider's wire and the frames of a transcript; which frame comes next, and whether an
outbound one is right, is the host's affair. A translator (translator.py) is pure: lines and frames in, values out. Its
edge owns the descriptors: stdio.py for the providers that are processes, HTTP and sockets beside the peers that need
them.
"""

from replay.transport.peers.translation import Outbound, Write

__all__ = ["Outbound", "Write"]
