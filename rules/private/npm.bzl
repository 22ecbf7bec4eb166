"""npm_install: a repository with the packages of one package-lock.json, installed by npm itself.

node_modules is one source directory, not thousands of files: as one input it costs a sandbox one link.
"""

_BUILD = '''"""Written by npm_install from {lock}."""

load("{rules}", "npm_program")

package(default_visibility = ["//visibility:public"])

exports_files(["node", "node_modules"])
'''

_PROGRAM = '''
npm_program(
    name = "{name}",
    launcher = "launchers/{name}",
    node = "node",
    node_modules = "node_modules",
)
'''

_OPTIONS = ["--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"]
_RELOCK = "npm install --package-lock-only --ignore-scripts --omit=dev --omit-lockfile-registry-resolved"
_SHOWN = 12

def _npm_install_impl(repository_ctx):
    attr = repository_ctx.attr
    package = _json(repository_ctx, attr.package)
    lock = _json(repository_ctx, attr.lock)
    problem = lock_problem(package, lock)
    if problem:
        fail("{}: {}\nfix: in its directory, {}".format(attr.lock, problem, _RELOCK))

    # Copies: npm must not write through a link into the source tree.
    repository_ctx.file("package.json", json.encode_indent(package))
    repository_ctx.file("package-lock.json", json.encode_indent(lock))
    repository_ctx.symlink(attr.node, "node")
    _install(repository_ctx)

    # A BUILD file would cut the directory off from the package that is named here.
    _run(repository_ctx, ["find", "node_modules", "(", "-name", "BUILD", "-o", "-name", "BUILD.bazel", ")", "-delete"])
    build = _BUILD.format(lock = attr.lock, rules = Label("//rules/private:npm_program.bzl"))
    for name, path in (_programs(repository_ctx, package) | attr.programs).items():
        _write_launcher(repository_ctx, name, path)
        build += _PROGRAM.format(name = name)
    repository_ctx.file("BUILD.bazel", build)

def _json(repository_ctx, label):
    value = json.decode(repository_ctx.read(label), default = None)
    if type(value) != "dict":
        fail("{}: this is no JSON object".format(label))
    return value

def lock_problem(package, lock):
    """What makes a lock file no pin of everything that it installs.

    Args:
      package: the decoded package.json.
      lock: the decoded package-lock.json.

    Returns:
      a sentence, empty if nothing is wrong.
    """
    entries = lock.get("packages")
    if type(entries) != "dict" or "" not in entries:
        return "it has no \"packages\", so it is no lock file of version 2 or 3"
    if entries[""].get("dependencies", {}) != package.get("dependencies", {}):
        return "it locks other dependencies than package.json names"
    for path, entry in entries.items():
        # npm installs what has no hash without a word.
        if path and not entry.get("integrity") and not entry.get("inBundle"):
            return "{} has no \"integrity\", so its content is not pinned".format(path)
    return ""

def _install(repository_ctx):
    node = repository_ctx.path(repository_ctx.attr.node)
    npm = node.dirname.dirname.get_child("lib", "node_modules", "npm", "bin", "npm-cli.js")
    if not npm.exists:
        fail("{}: there is no lib/node_modules/npm beside its directory; name bin/node of a whole Node distribution".format(
            repository_ctx.attr.node,
        ))
    repository_ctx.report_progress("npm ci for {}".format(repository_ctx.attr.lock))

    # npm looks for its global settings beside its own program, which is none of the machine's.
    settings = {}
    if not repository_ctx.getenv("NPM_CONFIG_GLOBALCONFIG") and repository_ctx.path("/etc/npmrc").exists:
        settings["NPM_CONFIG_GLOBALCONFIG"] = "/etc/npmrc"
    result = _run(repository_ctx, [node, npm, "ci"] + _OPTIONS, settings, accept_failure = True)
    if result.return_code:
        lines = [line for line in (result.stdout + result.stderr).strip().split("\n") if line.strip()]
        fail("{}: npm ci failed (exit code {}):\n  {}\nfix: for EINTEGRITY, the lock file or the registry was tampered with, compare both; for EUSAGE, {}; else see that npm reaches its registry (npm's own configuration is used)".format(
            repository_ctx.attr.lock,
            result.return_code,
            "\n  ".join(lines[:_SHOWN]),
            _RELOCK,
        ))

def _programs(repository_ctx, package):
    """Name to path below node_modules of what the direct dependencies call their programs."""
    programs = {}
    for dependency in package.get("dependencies", {}):
        declared = json.decode(repository_ctx.read("node_modules/{}/package.json".format(dependency))).get("bin", {})
        if type(declared) == "string":
            declared = {dependency.rpartition("/")[2]: declared}
        for name, path in declared.items():
            programs[name] = "{}/{}".format(dependency, path.removeprefix("./"))
    return programs

def _write_launcher(repository_ctx, name, path):
    program = "node_modules/" + path
    if not repository_ctx.path(program).exists:
        fail("{}: program \"{}\" is not there: {}".format(repository_ctx.attr.lock, name, program))
    is_script = _run(repository_ctx, ["head", "-c", "2", program]).stdout == "#!"
    repository_ctx.template(
        "launchers/" + name,
        Label("//rules/private:npm_launcher.sh.tpl"),
        {
            "%{interpreter}": '"$here/node" ' if is_script else "",
            "%{program}": program,
            "%{repository}": repository_ctx.name,
        },
        executable = True,
    )

def _run(repository_ctx, command, environment = {}, accept_failure = False):
    result = repository_ctx.execute(command, environment = environment, timeout = 1800)
    if result.return_code and not accept_failure:
        fail("{}: {} failed: {}".format(repository_ctx.attr.lock, command[0], result.stderr))
    return result

npm_install = repository_rule(
    implementation = _npm_install_impl,
    doc = "Installs the packages of a lock file; see the extension in rules/npm.bzl.",
    attrs = {
        "lock": attr.label(
            doc = "The package-lock.json.",
            mandatory = True,
            allow_single_file = True,
        ),
        "node": attr.label(
            doc = "The file `bin/node` of a Node distribution.",
            mandatory = True,
            allow_single_file = True,
        ),
        "package": attr.label(
            doc = "The package.json.",
            mandatory = True,
            allow_single_file = True,
        ),
        "programs": attr.string_dict(
            doc = "Further programs: name to path below node_modules.",
        ),
    },
)
