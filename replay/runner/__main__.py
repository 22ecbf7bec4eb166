"""What //:refresh and `python -m replay.runner` execute. Compiled at every start, so it holds nothing."""

import sys

from replay.runner.refresh import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
