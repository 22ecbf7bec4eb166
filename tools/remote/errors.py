"""What went wrong, as one sentence for a person: what, where, what to do."""


class RemoteError(Exception):
    """A cache or an executor could not be started, stopped or asked. Its text is the whole message."""

    code = 1


class UnfitError(RemoteError):
    """This machine cannot have one. The exit code is the one of a test that is skipped."""

    code = 77
