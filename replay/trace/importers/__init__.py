"""Traces out of what other recordings hold: a session log, an ACP run, spans of OpenTelemetry. Pure: bytes in, traces out.

What a source does not say is absent from the trace, never guessed.
"""

__all__: list[str] = []
