"""Which files of a package belong to which transport test. The same names as replay/scenario/transport_layout.py."""

_TRANSCRIPT = ".transcript.ndjson"
_EXPECTED = [".expected.json", ".expected.jsonl"]
_FOR_RECORDING = ["session.jsonl", "record.json"]
_SEED = "workspace/"

def split_transcript(name):
    """What the name of a transcript says.

    Args:
      name: a file name, such as "codex.transcript.ndjson" or "both.codex.transcript.ndjson".

    Returns:
      (variant, provider); None for a name that is no transcript's.
    """
    if "/" in name or not name.endswith(_TRANSCRIPT):
        return None
    parts = name.removesuffix(_TRANSCRIPT).split(".")
    if len(parts) > 2 or "" in parts:
        return None
    return parts[0], parts[-1]

def split_expected(name):
    """What the name of an expected file says.

    Args:
      name: a file name, such as "codex.projection.expected.json".

    Returns:
      (variant, what the subject writes), such as ("codex", "projection.json"); None for any other name.
    """
    for ending in _EXPECTED:
        if name.endswith(ending):
            parts = name.removesuffix(ending).split(".")
            if len(parts) == 2 and "/" not in name and "" not in parts:
                return parts[0], parts[1] + ending.removeprefix(".expected")
    return None

def _variant_of(name):
    found = split_transcript(name) or split_expected(name)
    if found:
        return found[0]
    variant, dot, rest = name.partition(".")
    return variant if dot and rest in _FOR_RECORDING else ""

def transport_variants(paths):
    """The tests of a package: every variant that has a transcript.

    Args:
      paths: what package_files() returned.

    Returns:
      a sorted list of (directory, variant).
    """
    found = {}
    for path in paths:
        directory, slash, name = path.partition("/")
        split = split_transcript(name)
        if slash and split:
            found[(directory, split[0])] = True
    return sorted(found)

def transport_files(names, directory, variant):
    """The files that the test of a variant bundles.

    Args:
      names: the files of the directory, as paths relative to it.
      directory: the scenario's directory, relative to the package.
      variant: the variant.

    Returns:
      a list of paths relative to the package: the variant's own files, and those of no variant.
    """
    return [
        directory + "/" + name
        for name in names
        # Which an editor or a test by hand may have left in the source tree.
        if "__pycache__/" not in name and
           _variant_of(name) in ["", variant] and name.partition(".")[2] not in _FOR_RECORDING
    ]

def transport_place(name):
    """Where a scenario's file stands in its manifest.

    Args:
      name: a path relative to the scenario's directory.

    Returns:
      the manifest's key ("files" or "workspace") and the path below it.
    """
    return ("workspace", name[len(_SEED):]) if name.startswith(_SEED) else ("files", name)
