"""python -m scenarios.reference_orchestrator --store DIRECTORY --config FILE"""

import sys

from scenarios.reference_orchestrator.main import main

sys.exit(main(sys.argv[1:]))
