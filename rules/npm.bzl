"""npm: programs from npm packages, pinned by a committed lock file, for agents under test that run on Node."""

load("//rules/private:npm.bzl", "npm_install")

_install = tag_class(
    doc = "One repository `@name` with the packages of one lock file. Its targets: `:<program>` for each program of a " +
          "package that package.json names, `:node`, and `:node_modules` (one directory).",
    attrs = {
        "lock": attr.label(
            doc = "The package-lock.json, with an integrity hash for every package.",
            mandatory = True,
        ),
        "name": attr.string(
            doc = "The repository's name.",
            mandatory = True,
        ),
        "node": attr.label(
            doc = "The file `bin/node` of a Node distribution, which has npm in `lib/node_modules/npm`.",
            mandatory = True,
        ),
        "package": attr.label(
            doc = "The package.json whose dependencies are installed.",
            mandatory = True,
        ),
        "programs": attr.string_dict(
            doc = "Further programs: name to path below node_modules, for a package that declares none.",
        ),
    },
)

def _npm_impl(module_ctx):
    owners = {}
    for module in module_ctx.modules:
        for tag in module.tags.install:
            if tag.name in owners:
                fail("npm.install: name \"{}\" is taken twice, by the modules {} and {}; rename one".format(
                    tag.name,
                    owners[tag.name],
                    module.name,
                ))
            owners[tag.name] = module.name
            npm_install(
                name = tag.name,
                lock = tag.lock,
                node = tag.node,
                package = tag.package,
                programs = tag.programs,
            )

npm = module_extension(
    implementation = _npm_impl,
    doc = "Installs npm packages by lock file, without their install scripts. The registry is the one that the " +
          "machine's own npm is configured for. Nothing is fetched until a build needs it.",
    tag_classes = {"install": _install},
)
