"""The extension `pip`: `pip.parse` makes one repository for each hub."""

load("//python/private:pip_hub.bzl", "pip_hub")

_parse = tag_class(attrs = {
    "extra_pip_args": attr.string_list(),
    "hub_name": attr.string(mandatory = True),
    "python_version": attr.string(),
    "requirements_linux": attr.label(),
    "requirements_lock": attr.label(),
})

def _pip_impl(module_ctx):
    for module in module_ctx.modules:
        for tag in module.tags.parse:
            pip_hub(
                name = tag.hub_name,
                extra_pip_args = tag.extra_pip_args,
                requirements_lock = tag.requirements_linux or tag.requirements_lock,
            )

pip = module_extension(
    implementation = _pip_impl,
    tag_classes = {"parse": _parse},
)
