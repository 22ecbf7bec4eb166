"""The runner as a test started it up to commit 957e00c: a py_binary over hundreds of files, and protobuf for its result."""

import gc
import sys


def start() -> int:
    """What was measured before: without the collector, and everything imported that was imported then."""
    gc.disable()
    from replay.proto import result_pb2  # noqa: F401
    from replay.runner.main import main

    code = main()
    gc.freeze()
    return code


sys.exit(start())
