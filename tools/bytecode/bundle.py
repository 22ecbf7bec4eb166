"""bundle OUTPUT ROOTS FILE NAME…: writes the bytecode of each Python FILE and the bytes of each other one to OUTPUT.

NAME is the path from which a module has its name, and which tracebacks show. ROOTS are directories of a runfiles tree,
joined by colons, with packages that are not in the bundle. Exit 1 and one line for a source that does not compile.
Used by rules/private/py_program.bzl, read by start.py.

A bundle is eight bytes, little-endian, with the length of its index, the index, and a body: what the index names by its
offset in the body and its size. The index is marshalled, as bytecode is: the tag of the interpreter, ROOTS,
module -> (NAME, whether it is a package, place of its code), NAME -> place of a file that is no module.
"""

import marshal
import sys
from itertools import batched
from pathlib import Path

_LENGTH_BYTES = 8

type Modules = dict[str, tuple[str, bool, bytes]]


def main(output: str, roots: str, *arguments: str) -> int:
    """Write the bundle. The process's exit code."""
    modules: Modules = {}
    data: dict[str, bytes] = {}
    for file, name in batched(arguments, 2, strict=True):
        content = Path(file).read_bytes()
        if not name.endswith(".py"):
            data[name] = content
            continue
        try:
            # optimize=0: what an interpreter without -O runs.
            code = compile(content, name, "exec", dont_inherit=True, optimize=0)
        except SyntaxError as error:
            print(f"{name}:{error.lineno}: {error.msg}", file=sys.stderr)
            return 1
        module = name.removesuffix("/__init__.py").removesuffix(".py").replace("/", ".")
        modules[module] = (name, name.endswith("/__init__.py"), marshal.dumps(code))
    _add_packages(modules)
    Path(output).write_bytes(_encode([root for root in roots.split(":") if root], modules, data))
    return 0


def _add_packages(modules: Modules) -> None:
    """A directory without an __init__.py is a package as well."""
    nothing = marshal.dumps(compile("", "", "exec"))
    for module in [*modules]:
        while module := module.rpartition(".")[0]:
            modules.setdefault(module, (f"{module.replace('.', '/')}/", True, nothing))


def _encode(roots: list[str], modules: Modules, data: dict[str, bytes]) -> bytes:
    body = bytearray()

    def place(piece: bytes) -> tuple[int, int]:
        body.extend(piece)
        return len(body) - len(piece), len(piece)

    found = {name: (file, is_package, place(code)) for name, (file, is_package, code) in modules.items()}
    beside = {name: place(content) for name, content in data.items()}
    # Format 2 has no references, which would depend on what else in this process holds a value.
    index = marshal.dumps((sys.implementation.cache_tag, roots, found, beside), 2)
    return len(index).to_bytes(_LENGTH_BYTES, "little") + index + body


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
