"""other_program_test: a replay test's manifest and files with another program in the place of the runner."""

load("//rules/private:launch.bzl", "launch")  # buildifier: disable=bzl-visibility
load("//rules/private:scenarios.bzl", "ReplayScenariosInfo")  # buildifier: disable=bzl-visibility

def _other_program_test_impl(ctx):
    scenarios = ctx.attr.test[ReplayScenariosInfo]
    return launch(ctx, ctx.attr.program, scenarios.manifests[0], scenarios.runfiles)

other_program_test = rule(
    implementation = _other_program_test_impl,
    attrs = {
        "program": attr.label(
            doc = "What is run.",
            mandatory = True,
            executable = True,
            cfg = "target",
        ),
        "test": attr.label(
            doc = "The replay test whose manifest and files it is given.",
            mandatory = True,
            providers = [ReplayScenariosInfo],
        ),
    },
    doc = "Another program over what `test` has.",
    test = True,
)
