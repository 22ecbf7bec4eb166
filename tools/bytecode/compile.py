"""compile SOURCE OUTPUT NAME…: writes the bytecode of each SOURCE, which tracebacks show as NAME, to OUTPUT.

Exit 1 and one line for a source that does not compile. Used by rules/private/bytecode.bzl.
"""

import py_compile
import sys
from itertools import batched


def main(arguments: list[str]) -> int:
    for source, output, name in batched(arguments, 3, strict=True):
        try:
            # optimize=0: what an interpreter without -O looks for.
            py_compile.compile(
                source,
                cfile=output,
                dfile=name,
                doraise=True,
                optimize=0,
                invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
            )
        except py_compile.PyCompileError as error:
            print(error.msg.rstrip(), file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
