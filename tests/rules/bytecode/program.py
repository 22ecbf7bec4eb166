"""A program in a bundle: says as JSON what a program of ours asks of the world around it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import h11
import orjson

import tests.rules.bytecode.inner.deep as deep


def main() -> int:
    """The first argument says what to do; the exit code is the number of the arguments."""
    match sys.argv[1:]:
        case ["fail"]:
            deep.explode()
        case ["exit"]:
            sys.exit("told to")
        case ["again"]:
            again: list[str] = sys.modules["__main__"].__dict__["RELAUNCH"]
            return subprocess.run([*again, __name__, "once", "more"], check=False, cwd="/").returncode
    loader: Any = deep.__loader__
    read = loader.get_data
    try:
        read(str(Path(deep.__file__).with_name("absent.txt")))
    except FileNotFoundError as error:
        absent = str(error)
    facts = {
        "arguments": sys.argv[1:],
        "path": sys.path,
        "modules": {module.__name__: module.__file__ for module in (deep, h11, orjson)},
        "beside": read(str(Path(deep.__file__).parent.with_name("not_python.txt"))).decode(),
        "absent": absent,
        "has_site": "site" in sys.modules,
    }
    print(json.dumps(facts))
    return len(sys.argv) - 1
