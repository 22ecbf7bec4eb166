"""How a manifest becomes a target: the shared program under the target's name, and the manifest in its environment.

The executable is a symlink to the program. The start-up script of a py_program, as that of a py_binary, looks for its
files in "<argv[0]>.runfiles" and in the ".runfiles" directory around argv[0], before it follows the link if it does.
Each of them is the target's own tree, under `bazel test` and `bazel run` alike, and it holds the program's runfiles as
well. A worker elsewhere may get a copy instead of a link: that changes nothing.
"""

def rlocation_path(ctx, file):
    """The canonical path of a file below a runfiles root.

    Args:
      ctx: the rule context.
      file: a File of any repository.

    Returns:
      a string such as "_main/scenarios/acp/text-turn/input.json".
    """
    if file.short_path.startswith("../"):
        return file.short_path[len("../"):]
    return ctx.workspace_name + "/" + file.short_path

def label_text(label):
    """A label as a person types it: "//pkg:name" in the main repository.

    Args:
      label: a Label.

    Returns:
      a string.
    """
    text = str(label)
    return text[len("@@"):] if text.startswith("@@//") else text

def write_manifest(ctx, manifest):
    """The file `<target>.manifest.json`.

    Args:
      ctx: the rule context.
      manifest: a dict.

    Returns:
      a File.
    """
    file = ctx.actions.declare_file(ctx.label.name + ".manifest.json")
    ctx.actions.write(file, json.encode(manifest) + "\n")
    return file

def refuse_flaky(ctx):
    """Fails for a test that says it is flaky."""
    if ctx.attr.flaky:
        fail(("{}: attribute \"flaky\" is True, but a replay has no chance in it to be flaky about; remove it, and " +
              "declare what varies with rules = [replay_rule(…)]").format(label_text(ctx.label)))

def launch(ctx, program, manifest, runfiles):
    """The providers of a target that runs `program` over `manifest`.

    Args:
      ctx: the rule context of a test or of another executable rule.
      program: the target of the shared program (an executable).
      manifest: a File, made by write_manifest.
      runfiles: what the program needs besides its own and the manifest.

    Returns:
      a list with DefaultInfo, RunEnvironmentInfo and the output group "manifest".
    """
    executable = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.symlink(
        output = executable,
        target_file = program[DefaultInfo].files_to_run.executable,
        is_executable = True,
    )
    own = ctx.runfiles(files = [manifest])
    return [
        DefaultInfo(
            executable = executable,
            runfiles = own.merge_all([program[DefaultInfo].default_runfiles, runfiles]),
        ),
        RunEnvironmentInfo(environment = {"AGENT_REPLAY_MANIFEST": rlocation_path(ctx, manifest)}),
        OutputGroupInfo(manifest = depset([manifest])),
    ]
