"""What goes wrong: one sentence each, for a person."""

__all__ = ["OrchestratorError", "ProviderError", "StoreError", "WorkspaceError"]


class OrchestratorError(Exception):
    """Anything that this orchestrator reports; what else escapes is a fault of its own."""


class ProviderError(OrchestratorError):
    """A provider did not start, did not answer the handshake, or said something that its protocol forbids."""


class StoreError(OrchestratorError):
    """The event store is in use by another writer, is of another version, or was asked to break an invariant."""


class WorkspaceError(OrchestratorError):
    """The workspace cannot be snapshot or restored."""
