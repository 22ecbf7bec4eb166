"""wheel_files: the repository that rules_python 1.x makes of each wheel, for labels of single files in it."""

def _wheel_files_impl(repository_ctx):
    # Repositories of one extension share a prefix; here a name of the hub's own is not visible.
    hub = repository_ctx.name.removesuffix(repository_ctx.attr.suffix)
    root = repository_ctx.path(Label("@@{}//:BUILD.bazel".format(hub))).dirname
    repository_ctx.symlink(root.get_child("site-packages"), "site-packages")
    repository_ctx.file("BUILD.bazel", "")

wheel_files = repository_rule(
    implementation = _wheel_files_impl,
    attrs = {"suffix": attr.string(mandatory = True)},
)
