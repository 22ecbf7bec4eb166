"""Transport replay: transcripts of a provider's process or socket, played to a real orchestrator (design 1).

The core (transcript, placeholder, matcher, profile, engine, interleave, mechanical, status) is pure: no I/O, clock, thread.
Modules are imported by name where they are needed; a peer starts often and needs few.
"""

__all__: list[str] = []
