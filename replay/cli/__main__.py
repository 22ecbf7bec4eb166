"""`python -m replay.cli`, and `bazel run`, which starts a program elsewhere than the person who typed it stands."""

import os
import sys

from replay.cli.main import main

if __name__ == "__main__":
    os.chdir(os.environ.get("BUILD_WORKING_DIRECTORY", "."))
    sys.exit(main(sys.argv[1:]))
