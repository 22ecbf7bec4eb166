"""The extension `python`: its tags are read, its one interpreter is Debian's."""

_VERSION = "3.14"

_toolchain = tag_class(attrs = {
    "configure_coverage_tool": attr.bool(),
    "ignore_root_user_error": attr.bool(),
    "is_default": attr.bool(),
    "python_version": attr.string(mandatory = True),
})

_defaults = tag_class(attrs = {"python_version": attr.string()})

def _python_impl(module_ctx):
    for module in module_ctx.modules:
        for tag in module.tags.toolchain:
            if not (tag.python_version + ".").startswith(_VERSION + "."):
                fail("module {} asks for Python {}; the Debian set-up has {} only: install bazelisk for others".format(
                    module.name,
                    tag.python_version,
                    _VERSION,
                ))

python = module_extension(
    implementation = _python_impl,
    tag_classes = {
        "defaults": _defaults,
        "toolchain": _toolchain,
    },
)
