"""replay_refresh: the command that replays scenarios without a key and rewrites their expected outputs."""

load(":launch.bzl", "label_text", "launch", "rlocation_path", "write_manifest")
load(":scenarios.bzl", "ReplayScenariosInfo", "scenarios_name")

_ATTRS = {
    "suites": attr.label_list(
        doc = "The collected scenarios of each suite.",
        providers = [ReplayScenariosInfo],
    ),
    "_program": attr.label(
        doc = "The program that refreshes.",
        default = Label("//replay/runner:refresh"),
        executable = True,
        cfg = "target",
    ),
}

def _replay_refresh_impl(ctx):
    for suite in ctx.attr.suites:
        if suite.label.repo_name:
            fail("{}: attribute \"suites\" names {}, whose source tree is another repository's; refresh it in that repository".format(
                label_text(ctx.label),
                label_text(suite.label),
            ))
    infos = [suite[ReplayScenariosInfo] for suite in ctx.attr.suites]
    manifest = write_manifest(ctx, {
        "version": 1,
        "kind": "refresh",
        "label": label_text(ctx.label),
        "manifests": [rlocation_path(ctx, file) for info in infos for file in info.manifests],
    })
    runfiles = ctx.runfiles().merge_all([info.runfiles for info in infos])
    return launch(ctx, ctx.attr._program, manifest, runfiles)

_replay_refresh = rule(
    implementation = _replay_refresh_impl,
    attrs = _ATTRS,
    doc = "A command over the scenarios of several suites.",
    executable = True,
)

def replay_refresh(name, suites, **kwargs):
    """Makes `bazel run //:<name> -- SCENARIO…`, which replays scenarios and rewrites their expected outputs.

    Needs no key and no network. `--all` takes every scenario of `suites`; without a name it lists them. A failing
    test prints the command as `//:refresh`, so call it `refresh` in the root package.

    Args:
      name: the command's name.
      suites: labels of acp_replay_suite or acp_replay_test targets of this repository. A scenario whose
        `target_compatible_with` is a list that the platform does not fit is left out.
      **kwargs: `visibility`, `tags` and other attributes common to all rules.
    """
    _replay_refresh(
        name = name,
        testonly = True,
        suites = [_scenarios_label(suite) for suite in suites],
        **kwargs
    )

def _scenarios_label(suite):
    label = native.package_relative_label(suite)
    return label.same_package_label(scenarios_name(label.name))
