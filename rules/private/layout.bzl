"""Which files of a package belong to which scenario. The same names as replay/scenario/layout.py."""

_ALWAYS = ["input.json", "requests.expected.jsonl", "stdout.expected.jsonl", "workspace.seed.json"]
_OVERRIDE = "replay.override.json"
_PINS = ["system-prompt.expected.md", "tool-schemas.expected.json"]
_SHELL_MARKS = " \t!\"#$&'()*;<>?[]`{|}"
_SEED = "workspace/"
_SEED_EXPECTED = "workspace.expected/"

def can_be_label(path):
    """Whether Bazel can name this file.

    Args:
      path: a path relative to the package.

    Returns:
      a bool. A file that Bazel cannot name reaches no test; the guard reports it.
    """
    return ":" not in path and "\\" not in path

def target_name(directory):
    """The name of a scenario's test: blanks and marks that a shell reads, which Bazel's own test script trips over, become "_".

    Args:
      directory: the scenario's directory.

    Returns:
      a target name.
    """
    return "".join(["_" if mark in _SHELL_MARKS else mark for mark in directory.elems()]) + "_test"

def package_tree(with_directories = False):
    """Every path below the calling package, whether a label can name it or not.

    Args:
      with_directories: whether directories are listed as well.

    Returns:
      a sorted list of paths relative to the package.
    """
    found = native.glob(["**"], allow_empty = True, exclude_directories = 0 if with_directories else 1)

    # glob itself puts a colon before "@", which would begin the name of a repository.
    return sorted([path[1:] if path.startswith(":@") else path for path in found if path])

def package_files():
    """Every file of the calling package that a label can name, as paths relative to it, sorted."""
    return [path for path in package_tree() if can_be_label(path)]

def scenario_names(paths):
    """The subdirectories that hold an input.json.

    Args:
      paths: what package_files() returned.

    Returns:
      a sorted list of directory names.
    """
    found = []
    for path in paths:
        directory, slash, rest = path.partition("/")
        if slash and rest == "input.json":
            found.append(directory)
    return found

def scenario_files(paths, directory, declares_override, pins):
    """The files that a scenario's test bundles; what is missing is for the test itself to report.

    Args:
      paths: what package_files() returned.
      directory: the scenario's directory, relative to the package.
      declares_override: whether replay.override.json takes part.
      pins: whether the expected prompt and tool schemas take part.

    Returns:
      a list of paths relative to the package.
    """
    prefix = directory + "/"
    return [
        path
        for path in paths
        if path.startswith(prefix) and _belongs(path[len(prefix):], declares_override, pins)
    ]

def _belongs(name, declares_override, pins):
    if name in _ALWAYS or name.startswith(_SEED) or name.startswith(_SEED_EXPECTED):
        return True
    if name == _OVERRIDE:
        return declares_override
    if name in _PINS:
        return pins
    return name.startswith("session.") and name.endswith(".jsonl") and "/" not in name

def place(name):
    """Where a scenario's file stands in its manifest.

    Args:
      name: a path relative to the scenario's directory.

    Returns:
      the manifest's key ("files", "workspace" or "workspace_expected") and the path below it.
    """
    if name.startswith(_SEED):
        return "workspace", name[len(_SEED):]
    if name.startswith(_SEED_EXPECTED):
        return "workspace_expected", name[len(_SEED_EXPECTED):]
    return "files", name
