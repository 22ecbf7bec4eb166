"""Says in which file its code was compiled, and from what."""


def explode() -> None:
    raise RuntimeError("seen in the traceback")
