"""What a trace test executes. A started script is compiled every time, so it holds nothing; the rest has bytecode."""

import gc
import sys


def start() -> int:
    # Collecting garbage while modules load, and once more at the exit, costs CPU and finds next to nothing.
    gc.disable()
    from replay.runner.trace_main import main

    code = main(sys.argv[1:])
    gc.freeze()
    return code


sys.exit(start())
