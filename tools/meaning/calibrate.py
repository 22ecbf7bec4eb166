"""calibrate [--wrong]: what comparing by meaning is worth on labelled pairs, on each part of them.

--wrong lists the pairs of the parts "tuned" and "development" that were judged wrongly. Those of "fresh" are shown by no
option: who has seen them cannot measure with them any more.
"""

import sys
from pathlib import Path

from replay.errors import ReplayError
from replay.trace.calibration import FRESH, Pair, measure, read_pairs, render
from replay.trace.embedding import TextModel
from replay.trace.meaning import compare_meaning
from replay.trace.similarity import load_model

TESTS = Path(__file__).parents[2] / "tests" / "trace"
FILES = {"meaning_pairs.jsonl": "", "meaning_fresh.jsonl": FRESH}


def main(arguments: list[str]) -> int:
    """Prints the tables. Returns the exit code."""
    if arguments not in ([], ["--wrong"]):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        pairs = [
            pair
            for name, part in FILES.items()
            for pair in read_pairs((TESTS / name).read_bytes(), name, part)
        ]
        model = load_model()
    except ReplayError as error:
        print(error.explained(), file=sys.stderr)
        return error.exit_code
    print(render(measure(pairs, model.similarity)))
    if arguments:
        show_wrong(pairs, model)
    return 0


def show_wrong(pairs: list[Pair], model: TextModel) -> None:
    """The pairs that get another verdict than their label's, but for the fresh ones."""
    for pair in pairs:
        if pair.part == FRESH:
            continue
        found = compare_meaning(pair.left, pair.right, model.similarity)
        if found.verdict != pair.verdict:
            print(f"\n{pair.id}: {found.verdict}, {'; '.join(found.reasons)}\n  {pair.left}\n  {pair.right}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
