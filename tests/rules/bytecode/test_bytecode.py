"""The interpreter takes the bytecode that Bazel built, though the sources in the runfiles are links."""

import importlib.util
import traceback
from pathlib import Path

import tests.rules.bytecode.inner.deep as deep


def test_bytecode_in_runfiles_is_taken() -> None:
    path = Path(deep.__spec__.cached)
    assert path.name == "deep.cpython-314.pyc"
    assert path.is_file()
    # Bit 0: hash-based, bit 1: checked against the source. Only the first may be set.
    assert int.from_bytes(path.read_bytes()[4:8], "little") == 1


def test_bytecode_wins_over_a_source_that_would_not_compile(tmp_path: Path) -> None:
    source = tmp_path / "broken.py"
    source.symlink_to(Path(deep.__file__).parent.parent / "not_python.txt")
    cached = Path(importlib.util.cache_from_source(str(source)))
    cached.parent.mkdir()
    cached.symlink_to(deep.__spec__.cached)
    spec = importlib.util.spec_from_file_location("broken", source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.explode.__code__.co_filename == str(source)


def test_traceback_names_the_real_source() -> None:
    try:
        deep.explode()
    except RuntimeError as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
    assert Path(frame.filename).samefile(deep.__file__)
    assert "seen in the traceback" in (frame.line or "")
