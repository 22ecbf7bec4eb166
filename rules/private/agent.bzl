"""acp_agent: an executable of any language as the agent under test."""

load(":launch.bzl", "label_text", "rlocation_path")

ReplayAgentInfo = provider(
    doc = "How to start an agent: live, and with its model replaced by a recording.",
    fields = {
        "entry": "dict: the agent's part of a replay manifest (name, binary, args, env, replay_args, replay_env, " +
                 "overlay, home, live_api, live_args, live_env, session_log, model_api), files as rlocation paths.",
        "runfiles": "runfiles: everything that the agent needs at run time, its overlay and data included.",
    },
)

_ATTRS = {
    "args": attr.string_list(
        doc = "Arguments of every start. `{cwd}`, `{home}`, `{tmp}`, `{sessions}`, `{spill}`, `{overlay}`, " +
              "`{gateway_url}`, `{gateway_origin}` and `{runfiles}` are filled in when the scenario runs; `$(location LABEL)` is a file of `data`.",
    ),
    "binary": attr.label(
        doc = "The agent: any executable target, or an executable file.",
        mandatory = True,
        executable = True,
        allow_files = True,
        cfg = "target",
    ),
    "data": attr.label_list(
        doc = "Files that the agent needs besides its own runfiles.",
        allow_files = True,
    ),
    "env": attr.string_dict(
        doc = "Environment of every start; expanded like `args`. Nothing of the caller's environment leaks in.",
    ),
    "home": attr.string_keyed_label_dict(
        doc = "Configuration files that the agent finds in its home: path below `{home}` to the file's template, in " +
              "which the placeholders of `args` are filled in and other braces stay. The live run gets them too.",
        allow_files = True,
    ),
    "live_api": attr.string(
        doc = "The wire format that the agent speaks to its provider when it is recorded; `model_api` if empty.",
    ),
    "live_args": attr.string_list(
        doc = "Arguments that follow `args` when the agent is recorded, `{gateway_url}` being the recording proxy; " +
              "`replay_args` if empty and the agent has a `model_api`.",
    ),
    "live_env": attr.string_dict(
        doc = "Environment that is added to `env` when the agent is recorded, a key that is no key included: the proxy " +
              "puts the real one in its place; `replay_env` if empty and the agent has a `model_api`.",
    ),
    "model_api": attr.string(
        doc = "The wire format that the gateway speaks, such as \"openai_chat\"; empty if the agent replays in its " +
              "own process.",
    ),
    "overlay": attr.label(
        doc = "The configuration file that replaces only the model adapter for replay; `{overlay}` is its path.",
        allow_single_file = True,
    ),
    "replay_args": attr.string_list(
        doc = "Arguments that follow `args` in replay.",
    ),
    "replay_env": attr.string_dict(
        doc = "Environment that is added to `env` in replay.",
    ),
    "session_log": attr.string(
        doc = "Who writes the session log that is compared: the agent, below `{sessions}` (\"self\"), or the gateway " +
              "from what it served (\"gateway\").",
        default = "self",
        values = ["self", "gateway"],
    ),
}

def _expand(ctx, text):
    """`$(location x)` becomes `{runfiles}/RLOC`: the agent's cwd is elsewhere, so the runner makes it an absolute path."""
    return ctx.expand_location(text.replace("$(location ", "{runfiles}/$(rlocationpath "), ctx.attr.data)

def _home(ctx):
    """Path in the home to the one file that is its template."""
    files = {}
    for name, target in ctx.attr.home.items():
        found = target[DefaultInfo].files.to_list()
        if len(found) != 1:
            fail("{}: attribute \"home\" has {} files for {}; name one file for each path".format(
                label_text(ctx.label),
                len(found),
                repr(name),
            ))
        if name.startswith("/") or ".." in name.split("/"):
            fail("{}: attribute \"home\" has the path {}; write one below the agent's home, such as \".config/agent.json\"".format(
                label_text(ctx.label),
                repr(name),
            ))
        files[name] = found[0]
    return files

def _acp_agent_impl(ctx):
    if ctx.attr.session_log == "gateway" and not ctx.attr.model_api:
        fail("{}: attribute \"model_api\" is empty, but session_log = \"gateway\" needs the wire format; write model_api = \"openai_chat\"".format(
            label_text(ctx.label),
        ))
    overlay = ctx.file.overlay
    home = _home(ctx)
    entry = {
        "name": ctx.label.name,
        "binary": rlocation_path(ctx, ctx.executable.binary),
        "args": [_expand(ctx, text) for text in ctx.attr.args],
        "env": {key: _expand(ctx, text) for key, text in ctx.attr.env.items()},
        "replay_args": [_expand(ctx, text) for text in ctx.attr.replay_args],
        "replay_env": {key: _expand(ctx, text) for key, text in ctx.attr.replay_env.items()},
        "overlay": rlocation_path(ctx, overlay) if overlay else None,
        "home": {name: rlocation_path(ctx, file) for name, file in home.items()},
        "live_api": ctx.attr.live_api or None,
        "live_args": [_expand(ctx, text) for text in ctx.attr.live_args] or None,
        "live_env": {key: _expand(ctx, text) for key, text in ctx.attr.live_env.items()} or None,
        "session_log": ctx.attr.session_log,
        "model_api": ctx.attr.model_api,
    }
    targets = [ctx.attr.binary] + ctx.attr.data
    runfiles = ctx.runfiles(
        files = [ctx.executable.binary] + ctx.files.data + home.values() + ([overlay] if overlay else []),
    ).merge_all(
        [target[DefaultInfo].default_runfiles for target in targets] +
        [target[DefaultInfo].data_runfiles for target in targets],
    )
    return [
        DefaultInfo(files = depset([ctx.executable.binary]), runfiles = runfiles),
        ReplayAgentInfo(entry = entry, runfiles = runfiles),
        coverage_common.instrumented_files_info(ctx, dependency_attributes = ["binary", "data"]),
    ]

acp_agent = rule(
    implementation = _acp_agent_impl,
    attrs = _ATTRS,
    doc = "An ACP agent under test: how to start `binary`, and how to replace its model in replay.",
    provides = [ReplayAgentInfo],
)
