"""py_bundle, py_program: Python programs whose modules are one file of bytecode, started without a py_binary's start-up script.

That script is a second interpreter at each start, and each file of a program costs each test's sandbox a link. So the
launcher is a few lines of shell, and what the program imports is in a bundle: our own modules, and of other packages those
that are nothing but Python. A package with native code or data stays a directory in the runfiles.
"""

load("@rules_python//python:py_info.bzl", "PyInfo")
load(":launch.bzl", "rlocation_path")

_TOOLCHAIN = "@bazel_tools//tools/python:toolchain_type"
_SITE = "/site-packages/"

# What a program neither imports nor reads.
_LEFT_OUT = ["pyc", "pyi", "typed"]

PyBundleInfo = provider(
    doc = "What programs can be started from.",
    fields = {
        "file": "The bundle, a File.",
        "runfiles": "The bundle, and what it cannot hold of what is imported.",
    },
)

_BUNDLE_ATTRS = {
    "deps": attr.label_list(
        doc = "The libraries that hold the programs' modules and what these import.",
        mandatory = True,
        providers = [PyInfo],
    ),
    "_bundler": attr.label(
        doc = "The program that writes the bundle.",
        default = Label("//tools/bytecode:bundle"),
        executable = True,
        cfg = "exec",
    ),
}

_PROGRAM_ATTRS = {
    "bundle": attr.label(
        doc = "The bundle with the module.",
        mandatory = True,
        providers = [PyBundleInfo],
    ),
    "module": attr.string(
        doc = "The module whose main() is the program; takes nothing, returns the exit code.",
        mandatory = True,
    ),
    "_launcher": attr.label(
        doc = "What is executed.",
        default = Label(":py_program.sh.tpl"),
        allow_single_file = True,
    ),
    "_start": attr.label(
        doc = "What loads the bundle.",
        default = Label("//tools/bytecode:start.py"),
        allow_single_file = True,
    ),
}

def _package(path):
    """The import root that a runfile of a wheel lies below, and its top-level name there; None for our own files."""
    root, found, rest = path.partition(_SITE)
    return (root + _SITE[:-1], rest.partition("/")[0]) if found else None

def _split(ctx):
    """The runfiles of the libraries as (files of the bundle with their names, files that stay, import roots)."""
    bundled = []
    packages = {}
    for file in depset(transitive = [dep[DefaultInfo].default_runfiles.files for dep in ctx.attr.deps]).to_list():
        path = rlocation_path(ctx, file)
        package = _package(path)
        if package:
            packages.setdefault(package, []).append((file, path))
        elif file.extension not in _LEFT_OUT:
            bundled.append((file, path.partition("/")[2]))
    staying = []
    roots = {}
    for (root, top), files in packages.items():
        if top.endswith(".dist-info"):
            continue
        names = [path[len(root) + 1:] for _, path in files]
        is_pure = all([file.extension in _LEFT_OUT + ["py"] for file, _ in files])
        if is_pure and (top.endswith(".py") or top + "/__init__.py" in names):
            bundled.extend([(file, name) for (file, _), name in zip(files, names) if file.extension == "py"])
        else:
            staying.extend([file for file, _ in files if file.extension not in ["pyi", "typed"]])
            roots[root] = None
    return bundled, staying, roots.keys()

def _py_bundle_impl(ctx):
    bundled, staying, roots = _split(ctx)
    bundle = ctx.actions.declare_file(ctx.label.name + ".bundle")
    arguments = ctx.actions.args()
    arguments.add(bundle)
    arguments.add(":".join(roots))
    for file, name in bundled:
        arguments.add(file)
        arguments.add(name)
    ctx.actions.run(
        executable = ctx.executable._bundler,
        arguments = [arguments],
        inputs = [file for file, _ in bundled],
        outputs = [bundle],
        mnemonic = "PyBundle",
        progress_message = "Compiling the Python of %{label}",
        # The order of a set must not reach the output.
        env = {"PYTHONHASHSEED": "0"},
    )
    runfiles = ctx.runfiles(files = [bundle] + staying)
    return [
        DefaultInfo(files = depset([bundle]), runfiles = runfiles),
        PyBundleInfo(file = bundle, runfiles = runfiles),
    ]

py_bundle = rule(
    implementation = _py_bundle_impl,
    attrs = _BUNDLE_ATTRS,
    doc = "The bytecode of libraries in one file. A module of it has no source beside it, and is found by import alone.",
)

def _interpreter(ctx):
    """How a shell writes the interpreter, and its files."""
    runtime = ctx.toolchains[_TOOLCHAIN].py3_runtime
    if runtime.interpreter:
        return "\"$runfiles/{}\"".format(rlocation_path(ctx, runtime.interpreter)), runtime.files
    return runtime.interpreter_path, depset()

def _py_program_impl(ctx):
    interpreter, interpreter_files = _interpreter(ctx)
    bundle = ctx.attr.bundle[PyBundleInfo]
    executable = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.expand_template(
        template = ctx.file._launcher,
        output = executable,
        substitutions = {
            "%{bundle}": rlocation_path(ctx, bundle.file),
            "%{interpreter}": interpreter,
            "%{module}": ctx.attr.module,
            "%{start}": rlocation_path(ctx, ctx.file._start),
        },
        is_executable = True,
    )
    own = ctx.runfiles(files = [executable, ctx.file._start], transitive_files = interpreter_files)
    return [DefaultInfo(
        executable = executable,
        files = depset([executable]),
        runfiles = own.merge(bundle.runfiles),
    )]

py_program = rule(
    implementation = _py_program_impl,
    attrs = _PROGRAM_ATTRS,
    doc = "A program out of a bundle.",
    executable = True,
    toolchains = [_TOOLCHAIN],
)
