"""What `bazel run //scenarios/transport:record` executes."""

import sys

from replay.runner.transport_record import main

sys.exit(main(sys.argv[1:]))
