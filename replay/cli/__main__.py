"""`python -m replay.cli`."""

import sys

from replay.cli.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
