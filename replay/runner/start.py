"""What a test target executes. A started script is compiled every time, so it holds nothing; the rest has bytecode."""

import gc
import sys


def start() -> int:
    # Collecting garbage while modules load, and once more at the exit, costs 11 ms of CPU and finds next to nothing.
    gc.disable()
    from replay.runner.main import main

    code = main()
    gc.freeze()
    return code


sys.exit(start())
