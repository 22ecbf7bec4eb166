"""The text model, from the files of a package: once in a process, and without a network.

The package is wordllama. Only two files of it are read, its code is not run: that needs three compiled libraries, and
has none of its own for every Python. So a wheel for any Python and any processor serves.
"""

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from replay.errors import UsageError

if TYPE_CHECKING:
    from replay.trace.embedding import TextModel

__all__ = ["INSTALL", "PACKAGE", "load_model"]

PACKAGE = "wordllama"
INSTALL = (
    'of a test, meaning = ["@<your hub>//wordllama"]; of the command, bazel run @agent_replay//tools/meaning:replay; '
    "without Bazel, pip install --no-deps --only-binary :all: --python-version 3.13 --target DIR "
    "wordllama==0.4.0.post1, and DIR on PYTHONPATH"
)
_VOCABULARY = ("tokenizers", "l2_supercat_tokenizer_config.json")
_WEIGHTS = ("weights", "l2_supercat_256.safetensors")


@cache
def load_model() -> TextModel:
    """The model. Raises UsageError where the package is not there, FixtureError where its files are others."""
    spec = find_spec(PACKAGE)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        try:
            vocabulary = Path(place, *_VOCABULARY).read_bytes()
            weights = Path(place, *_WEIGHTS).read_bytes()
        except FileNotFoundError:
            continue
        # Late: who asks for no model shall not pay for one.
        from replay.trace.embedding import TextModel

        return TextModel(vocabulary, weights)
    raise UsageError(
        f"comparing by meaning needs the package {PACKAGE} with its weights, and it is not there", fix=INSTALL
    )
