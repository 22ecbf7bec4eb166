"""Recorders: what really passes between an orchestrator and a provider becomes a transcript.

    tee, http_tee   stand where the provider's executable stands, and pass on every byte unchanged
    passage         what passed, as it was, in order: a run's file, which never leaves the machine
    assemble        runs -> entries of a transcript, by protocol
    redaction       no value of a person, a machine or an account is left in them
    write           the transcript's file: whole, without a secret, or as it was

A run's file is raw. Only what has gone through redaction and the search for secrets is written as a transcript.
"""

__all__: list[str] = []
