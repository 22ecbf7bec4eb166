"""A repository with the packages of one hash-pinned requirements file, each as a target of its own."""

_PYTHON = "/usr/bin/python3.14"
_SITE = "site-packages"

def _run(repository_ctx, what, arguments):
    result = repository_ctx.execute(
        [_PYTHON] + arguments,
        # The bytecode is an input of tests: it must not depend on the order of a set.
        environment = {"PYTHONHASHSEED": "0"},
        timeout = 1800,
    )
    if result.return_code:
        lines = [line for line in (result.stdout + result.stderr).strip().split("\n") if line.strip()]
        fail("{}: {} failed (exit code {}):\n  {}\nfix: see that `{} -m pip download` reaches a package index (pip's own configuration is used)".format(
            repository_ctx.attr.requirements_lock,
            what,
            result.return_code,
            "\n  ".join(lines[-8:]),
            _PYTHON,
        ))

def _pip_hub_impl(repository_ctx):
    lock = repository_ctx.path(repository_ctx.attr.requirements_lock)
    writer = repository_ctx.path(Label("//python/private:write_hub.py"))
    repository_ctx.watch(lock)
    repository_ctx.watch(writer)
    repository_ctx.report_progress("pip install -r {}".format(repository_ctx.attr.requirements_lock))
    _run(repository_ctx, "pip install", [
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        "--no-compile",
        "--no-deps",
        "--no-input",
        "--only-binary=:all:",
        "--quiet",
        "--require-hashes",
        "--root-user-action=ignore",
        "--target=" + _SITE,
        "--requirement=" + str(lock),
    ] + repository_ctx.attr.extra_pip_args)

    # Without bytecode each sandboxed run compiles the packages again. Sources in a sandbox have new times, so it is never checked.
    repository_ctx.report_progress("compiling")
    _run(repository_ctx, "compileall", ["-m", "compileall", "-q", "-j", "0", "--invalidation-mode=unchecked-hash", "-s", _SITE, _SITE])
    _run(repository_ctx, "write_hub.py", [str(writer), _SITE])

pip_hub = repository_rule(
    implementation = _pip_hub_impl,
    attrs = {
        "extra_pip_args": attr.string_list(),
        "requirements_lock": attr.label(
            allow_single_file = True,
            mandatory = True,
        ),
    },
)
