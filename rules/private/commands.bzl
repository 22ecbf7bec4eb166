"""replay_commands: what is done to scenarios from a shell: record, refresh, accept, review, new."""

load(":launch.bzl", "label_text", "launch", "rlocation_path", "write_manifest")
load(":scenarios.bzl", "ReplayScenariosInfo", "scenarios_name")

# Command to its further tags. The programs of the same names are in //replay/runner.
_COMMANDS = {
    "accept": [],
    "new": [],
    "record": [
        "no-remote-cache",
        "requires-network",
    ],
    "refresh": [],
    "review": [],
}

_ATTRS = {
    "program": attr.label(
        doc = "The program of the command.",
        mandatory = True,
        executable = True,
        cfg = "target",
    ),
    "suites": attr.label_list(
        doc = "The collected scenarios of each suite.",
        providers = [ReplayScenariosInfo],
    ),
}

def _replay_command_impl(ctx):
    for suite in ctx.attr.suites:
        if suite.label.repo_name:
            fail("{}: attribute \"suites\" names {}, whose source tree is another repository's; make its commands in that repository".format(
                label_text(ctx.label),
                label_text(suite.label),
            ))
    infos = [suite[ReplayScenariosInfo] for suite in ctx.attr.suites]
    manifest = write_manifest(ctx, {
        "version": 1,
        "kind": "suites",
        "label": label_text(ctx.label),
        "manifests": [rlocation_path(ctx, file) for info in infos for file in info.manifests],
    })
    runfiles = ctx.runfiles().merge_all([info.runfiles for info in infos])
    return launch(ctx, ctx.attr.program, manifest, runfiles)

_replay_command = rule(
    implementation = _replay_command_impl,
    attrs = _ATTRS,
    doc = "A command over the scenarios of several suites.",
    executable = True,
)

def replay_commands(name = "", *, suites, commands = None, **kwargs):
    """Makes the commands over scenarios, `bazel run //:<command> -- SCENARIO…`; each has `--help`.

    * `record` runs an agent against its live provider and writes the whole fixture. It needs the provider's key.
    * `refresh` replays and rewrites the expected outputs. It needs no key, like those below.
    * `accept` takes what failed tests left in their outputs, `review` asks about each of them.
    * `new` makes a scenario from a prompt.

    Messages print the commands as `//:record` and so on, so make them in the root package and without a name; those of
    a suite with the attribute `commands` print the package that it names.

    Args:
      name: "" for commands that are called as above; `x` for `x_record`, `x_refresh` and so on.
      suites: labels of acp_replay_suite, acp_replay_test, transport_replay_suite or transport_replay_test targets of
        this repository. A scenario whose `target_compatible_with` is a list that the platform does not fit is left out.
        Only accept, refresh and review know transport suites; a transcript is recorded by a program of its own.
      commands: which of them are made; None for all.
      **kwargs: `visibility`, `tags` and other attributes common to all rules.
    """
    tags = kwargs.pop("tags", None) or []
    labels = [_scenarios_label(suite) for suite in suites]
    for command in commands or _COMMANDS:
        own_tags = _COMMANDS[command]
        _replay_command(
            name = "{}_{}".format(name, command) if name else command,
            testonly = True,
            program = Label("//replay/runner:" + command),
            suites = labels,
            tags = tags + own_tags,
            **kwargs
        )

def _scenarios_label(suite):
    label = native.package_relative_label(suite)
    return label.same_package_label(scenarios_name(label.name))
