"""What analysis tests look at: the manifest that a target would write, and the files that it would run with."""

def manifest_of(actions):
    """The manifest that one of `actions` writes.

    Args:
      actions: the actions of a target.

    Returns:
      a dict, or None if no action writes one.
    """
    for action in actions:
        for output in action.outputs.to_list():
            if output.basename.endswith(".manifest.json"):
                return json.decode(action.content)
    return None

def runfiles_below(target, directory):
    """The runfiles of `target` below a directory of this workspace.

    Args:
      target: a target.
      directory: such as "tests/rules/suite/plain".

    Returns:
      a sorted list of paths relative to the directory.
    """
    return sorted([
        file.short_path[len(directory) + 1:]
        for file in target[DefaultInfo].default_runfiles.files.to_list()
        if file.short_path.startswith(directory + "/")
    ])
