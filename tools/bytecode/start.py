"""start.py RUNFILES BUNDLE MODULE ARGUMENT…: runs main() of MODULE, which lies in BUNDLE with all that it imports.

One file in the place of hundreds, since each of them costs a sandbox a link and the interpreter a search. What no bundle
can hold, native code, is found below RUNFILES. tools/bytecode/bundle.py writes bundles. The interpreter is started with -I
and -S: it takes nothing from the environment, and no `site` has run. Exit code: what main() returns.

A started script is compiled every time, so this one is short.
"""

# pathlib costs more than all that is done with paths here.
# ruff: noqa: PTH100

import gc
import marshal
import os
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

type Piece = tuple[int, int]
"""Where something lies in the body of a bundle, and how long it is."""
type Modules = dict[str, tuple[str, bool, Piece]]
"""Module -> its file, whether it is a package, its marshalled code."""


class Bundle:
    """Finds and loads modules, as an entry of sys.meta_path."""

    def __init__(
        self, path: str, descriptor: int, body: int, modules: Modules, data: dict[str, Piece]
    ) -> None:
        self.path = path
        self.descriptor = descriptor
        self.body = body
        self.modules = modules
        self.data = data

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if (found := self.modules.get(name)) is None:
            return None
        loader: Any = self
        spec = ModuleSpec(name, loader, origin=f"{self.path}/{found[0]}", is_package=found[1])
        spec.has_location = True
        return spec

    def create_module(self, spec: ModuleSpec) -> None:
        """As any module is."""

    def exec_module(self, module: ModuleType) -> None:
        exec(marshal.loads(self._read(self.modules[module.__name__][2])), module.__dict__)

    def get_data(self, path: str) -> bytes:
        """A file that is no module, by its path beside one. Raises FileNotFoundError."""
        try:
            return self._read(self.data[path.removeprefix(f"{self.path}/")])
        except KeyError:
            raise FileNotFoundError(path) from None

    def _read(self, piece: Piece) -> bytes:
        offset, size = piece
        return os.pread(self.descriptor, size, self.body + offset)


def start(runfiles: str, path: str, module: str) -> None:
    """Run the module and end the process, unless it ends it itself."""
    # Collecting garbage while modules load finds next to nothing.
    gc.disable()
    # Only what is imported is read: a test needs two thirds of its bundle.
    descriptor = os.open(path, os.O_RDONLY)
    size = int.from_bytes(os.read(descriptor, 8), "little")
    tag, roots, modules, data = marshal.loads(os.read(descriptor, size))
    if tag != sys.implementation.cache_tag:
        found = f"{path} is for {tag}, and {sys.executable} is {sys.implementation.cache_tag}"
        sys.exit(f"{found}: give the build one version of Python")
    sys.path[:0] = [f"{runfiles}/{root}" for root in roots]
    sys.meta_path.insert(0, Bundle(path, descriptor, 8 + size, modules, data))
    main = __import__(module, fromlist=["main"]).main
    gc.freeze()
    gc.enable()
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    # Taking the modules apart again is left to the system.
    os._exit(code or 0)


if __name__ == "__main__":
    RUNFILES, BUNDLE = map(os.path.abspath, sys.argv[1:3])
    MODULE = sys.argv[3]
    RELAUNCH = [sys.executable, "-I", "-S", "-B", os.path.abspath(sys.argv[0]), RUNFILES, BUNDLE]
    """With a module's name at its end: what runs another module of the bundle in a process of its own."""
    os.environ["RUNFILES_DIR"] = RUNFILES
    del sys.argv[1:4]
    start(RUNFILES, BUNDLE, MODULE)
