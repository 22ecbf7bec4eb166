"""calibrate [PAIRS.jsonl] [--wrong]: what comparing by meaning is worth on labelled pairs, on both halves of them.

--wrong lists the pairs of the half "tuned" that were judged wrongly. Those of the other half are shown by no option:
who has seen them cannot measure with them any more.
"""

import sys
from pathlib import Path

from replay.errors import ReplayError
from replay.trace.calibration import HALVES, Pair, half_of, measure, read_pairs, render
from replay.trace.embedding import TextModel
from replay.trace.meaning import compare_meaning
from replay.trace.similarity import load_model

PAIRS = Path(__file__).parents[2] / "tests" / "trace" / "meaning_pairs.jsonl"


def main(arguments: list[str]) -> int:
    """Prints the tables. Returns the exit code."""
    files = [argument for argument in arguments if argument != "--wrong"]
    file = Path(files[0]) if files else PAIRS
    try:
        pairs = read_pairs(file.read_bytes(), str(file) if files else file.name)
        model = load_model()
    except ReplayError as error:
        print(error.explained(), file=sys.stderr)
        return error.exit_code
    except OSError as error:
        print(f"{file}: {error.strerror}", file=sys.stderr)
        return 2
    print(render(measure(pairs, model.similarity)))
    if "--wrong" in arguments:
        show_wrong(pairs, model)
    return 0


def show_wrong(pairs: list[Pair], model: TextModel) -> None:
    """The pairs of the tuned half that get another verdict than their label's."""
    for pair in pairs:
        if half_of(pair.id) != HALVES[0]:
            continue
        found = compare_meaning(pair.left, pair.right, model.similarity)
        if found.verdict != pair.verdict:
            print(f"\n{pair.id}: {found.verdict}, {'; '.join(found.reasons)}\n  {pair.left}\n  {pair.right}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
