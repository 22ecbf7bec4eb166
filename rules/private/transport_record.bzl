"""transport_record: real providers, driven by the subject of transport tests, become transcripts."""

load(":agent.bzl", "ReplayAgentInfo")
load(":launch.bzl", "label_text", "launch", "rlocation_path", "write_manifest")
load(":layout.bzl", "package_files")
load(":transport_layout.bzl", "split_expected", "split_transcript", "transport_place")

_MODEL = ".session.jsonl"

_ATTRS = {
    "agents": attr.string_keyed_label_dict(
        doc = "The real providers by name: how each is started and pointed at the gateway.",
        providers = [ReplayAgentInfo],
        cfg = "target",
    ),
    "facts": attr.string_dict(
        doc = "What a transcript says of each provider, as JSON.",
    ),
    "program": attr.label(
        doc = "The program of the command.",
        mandatory = True,
        executable = True,
        cfg = "target",
    ),
    "scenarios": attr.string_list(
        doc = "What can be recorded: directory/variant.",
    ),
    "srcs": attr.label_list(
        doc = "The files of all scenarios.",
        allow_files = True,
    ),
    "subject": attr.label(
        doc = "The executable that drives the providers.",
        mandatory = True,
        executable = True,
        cfg = "target",
    ),
    "subject_args": attr.string_list(
        doc = "Arguments of the subject, as in transport_replay_test.",
    ),
    "subject_env": attr.string_dict(
        doc = "Environment of the subject, as in transport_replay_test.",
    ),
}

def _transport_record_impl(ctx):
    manifest = write_manifest(ctx, {
        "version": 1,
        "kind": "transport_record",
        "label": label_text(ctx.label),
        "subject": {
            "name": ctx.attr.subject.label.name,
            "binary": rlocation_path(ctx, ctx.executable.subject),
            "args": ctx.attr.subject_args,
            "env": ctx.attr.subject_env,
        },
        "providers": {
            name: json.decode(ctx.attr.facts[name]) | {"agent": agent[ReplayAgentInfo].entry}
            for name, agent in ctx.attr.agents.items()
        },
        "scenarios": [_scenario(ctx, name) for name in ctx.attr.scenarios],
    })
    runfiles = ctx.runfiles(files = ctx.files.srcs + [ctx.executable.subject]).merge_all(
        [agent[ReplayAgentInfo].runfiles for agent in ctx.attr.agents.values()] +
        [ctx.attr.subject[DefaultInfo].default_runfiles, ctx.attr.subject[DefaultInfo].data_runfiles],
    )
    return launch(ctx, ctx.attr.program, manifest, runfiles)

def _scenario(ctx, scenario):
    """The manifest's entry: the scenario's files but for what is to be recorded, and what other variants have."""
    directory, _, variant = scenario.partition("/")
    entry = {
        "name": scenario,
        "package": ctx.label.package,
        "directory": "/".join([part for part in [ctx.label.package, directory] if part]),
        "variant": variant,
        "files": {},
        "workspace": {},
    }
    for target in ctx.attr.srcs:
        own, slash, name = target.label.name.partition("/")
        if own != directory or not slash or split_transcript(name) or split_expected(name):
            continue
        if name.endswith(_MODEL) and name != variant + _MODEL:
            continue
        key, place = transport_place(name)
        entry[key][place] = rlocation_path(ctx, target[DefaultInfo].files.to_list()[0])
    return entry

_transport_record = rule(
    implementation = _transport_record_impl,
    attrs = _ATTRS,
    doc = "A command that records transcripts of real providers.",
    executable = True,
)

def transport_provider(agent, protocol, version, executable = "", model = ""):
    """A real provider for transport_record.

    Args:
      agent: label of an acp_agent, whatever it speaks: its binary, its environment and home, and the `model_api` that the
        gateway answers as its model with.
      protocol: the protocol of its transcripts, such as "codex.app-server".
      version: the version that the agent's lock file pins.
      executable: what the subject starts below AGENT_REPLAY_PEERS; the provider's name by default.
      model: the model that the transcript names, and the subject asks for.

    Returns:
      a value for the attribute `providers`.
    """
    return struct(agent = agent, protocol = protocol, version = version, executable = executable, model = model)

def transport_record(name, subject, providers, args = [], env = {}, tags = [], **kwargs):
    """Makes `bazel run :<name> -- SCENARIO/VARIANT…`, which records transcripts without a key.

    What can be recorded are the variants of this package's scenarios that have `<variant>.session.jsonl`, which says what
    the model answers, and that are called as a provider is.

    Args:
      name: the target's name; messages call it `record`.
      subject: label of the executable that transport_replay_suite tests.
      providers: name of a provider to transport_provider(…).
      args: arguments of the subject.
      env: environment of the subject.
      tags: as of any target; `manual` is added, so that nothing fetches the providers unasked.
      **kwargs: attributes common to all rules.
    """
    paths = package_files()
    scenarios = []
    for path in paths:
        directory, slash, file = path.partition("/")
        if slash and file.endswith(_MODEL) and file.removesuffix(_MODEL) in providers:
            scenarios.append(directory + "/" + file.removesuffix(_MODEL))
    used = {scenario.partition("/")[0]: True for scenario in scenarios}
    _transport_record(
        name = name,
        testonly = True,
        agents = {key: provider.agent for key, provider in providers.items()},
        facts = {
            key: json.encode({
                "executable": provider.executable or key,
                "protocol": provider.protocol,
                "provider_version": provider.version,
                "model": provider.model,
            })
            for key, provider in providers.items()
        },
        program = Label("//replay/runner:transport_record"),
        scenarios = sorted(scenarios),
        srcs = [":" + path for path in paths if path.partition("/")[0] in used],
        subject = subject,
        subject_args = args,
        subject_env = env,
        tags = tags + ["manual", "no-remote-cache", "requires-network"],
        **kwargs
    )
