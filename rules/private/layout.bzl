"""Which files of a package belong to which scenario. The same names as replay/scenario/layout.py."""

_ALWAYS = ["input.json", "requests.expected.jsonl", "stdout.expected.jsonl", "workspace.seed.json"]
_EXECUTABLE = "workspace.executable.txt"
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

def package_tree(with_directories = False, directory = ""):
    """Every path below the calling package, whether a label can name it or not.

    Args:
      with_directories: whether directories are listed as well.
      directory: the one directory that matters, so that a package of many tests is not read for each; others may be there.

    Returns:
      a sorted list of paths relative to the package.
    """
    is_plain = directory and not [step for step in directory.split("/") if step in ["", ".", ".."]]
    found = native.glob(
        [directory + "/**" if is_plain else "**"],
        allow_empty = True,
        exclude_directories = 0 if with_directories else 1,
    )

    # glob itself puts a colon before "@", which would begin the name of a repository.
    return sorted([path[1:] if path.startswith(":@") else path for path in found if path])

def package_files(directory = ""):
    """Every file of the calling package that a label can name, as paths relative to it, sorted.

    Args:
      directory: the one directory that matters; others may be there.

    Returns:
      a list of paths.
    """
    return [path for path in package_tree(directory = directory) if can_be_label(path)]

def files_below(paths):
    """The files of each subdirectory, in one pass: a pass for each of n scenarios would cost n times n.

    Args:
      paths: what package_files() returned.

    Returns:
      a dict: directory to a list of paths relative to it.
    """
    found = {}
    for path in paths:
        directory, slash, name = path.partition("/")
        if slash:
            found.setdefault(directory, []).append(name)
    return found

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

def scenario_files(names, directory, declares_override, pins, modes):
    """The files that a scenario's test bundles; what is missing is for the test itself to report.

    Args:
      names: the files of the directory, as paths relative to it.
      directory: the scenario's directory, relative to the package.
      declares_override: whether replay.override.json takes part.
      pins: whether the expected prompt and tool schemas take part.
      modes: whether it takes part which files of the workspace are executable.

    Returns:
      a list of paths relative to the package.
    """
    return [directory + "/" + name for name in names if _belongs(name, declares_override, pins, modes)]

def _belongs(name, declares_override, pins, modes):
    if name in _ALWAYS or name.startswith(_SEED) or name.startswith(_SEED_EXPECTED):
        return True
    if name == _OVERRIDE:
        return declares_override
    if name in _PINS:
        return pins
    if name == _EXECUTABLE:
        return modes
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
