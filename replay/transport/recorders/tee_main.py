"""The program of the tee."""

import sys

from replay.transport.recorders.tee import main

sys.exit(main(sys.argv[1:]))
