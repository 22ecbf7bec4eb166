"""The extension `pip`: `pip.parse` makes one repository for each hub, and one for the files of each wheel in it."""

load("//python/private:pip_hub.bzl", "pip_hub")
load("//python/private:wheel_files.bzl", "wheel_files")

_parse = tag_class(attrs = {
    # What is always so here: pip takes wheels, also those for another Python that extra_pip_args name.
    "download_only": attr.bool(),
    "extra_pip_args": attr.string_list(),
    "hub_name": attr.string(mandatory = True),
    "python_version": attr.string(),
    "requirements_linux": attr.label(),
    "requirements_lock": attr.label(),
})

def _distributions(lock):
    """The normalised names in a requirements file."""
    names = [line.partition("==")[0].partition("[")[0] for line in lock.split("\n") if "==" in line and line[0] not in " #-"]
    return {name.strip().lower().replace("-", "_").replace(".", "_"): None for name in names}.keys()

def _pip_impl(module_ctx):
    for module in module_ctx.modules:
        for tag in module.tags.parse:
            lock = tag.requirements_linux or tag.requirements_lock
            pip_hub(
                name = tag.hub_name,
                extra_pip_args = tag.extra_pip_args,
                requirements_lock = lock,
            )
            for name in _distributions(module_ctx.read(lock)):
                suffix = "_{}_{}".format(tag.python_version.replace(".", ""), name)
                wheel_files(name = tag.hub_name + suffix, suffix = suffix)

pip = module_extension(
    implementation = _pip_impl,
    tag_classes = {"parse": _parse},
)
