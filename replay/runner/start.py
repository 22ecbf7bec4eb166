"""What a test target executes. A started script is compiled every time, so it holds nothing; the rest has bytecode."""

import sys

from replay.runner.main import main

sys.exit(main())
