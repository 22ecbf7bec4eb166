"""The shape of replay/, read from its source: which room imports which, what stays out of the pure ones, what is public.

The table below is ARCHITECTURE.md's in the form of data. An arrow that is missing here is a change of the design: change
both, or neither. Nothing is imported; the files are parsed, so that an import in a function counts as well.
"""

import ast
from collections.abc import Mapping

import pytest

from tests.arrows import (
    ROOT,
    Source,
    closure,
    foreign,
    imports_of,
    is_ours,
    room_of,
    sources,
    ways_to_the_world,
)

# Room -> the rooms that it may import. Each one imports only what stands above it.
ARROWS: Mapping[str, frozenset[str]] = {
    room: frozenset(allowed.split())
    for room, allowed in {
        "errors": "",
        "pattern": "errors",
        "session": "errors pattern",
        "script": "errors pattern session",
        "acp": "errors pattern",
        "surface": "errors pattern",
        "proto": "",
        "models": "errors pattern session script",
        "scenario": "errors pattern session script acp surface",
        "transport": "errors pattern session acp surface models scenario",
        "trace": "errors pattern session script surface",
        "runner": "errors pattern session script acp surface proto models scenario transport trace",
        "cache": "errors surface",
        "cli": "errors pattern session script acp surface proto models scenario transport trace runner cache",
    }.items()
}
# Module -> room that it imports against the arrows, and why.
EXEMPT: Mapping[tuple[str, str], str] = {
    (
        "replay.scenario.guard_main",
        "runner",
    ): "a program and no part of the room; it takes the doors to Bazel",
}

PURE = ("errors", "pattern", "session", "script", "acp", "surface")
# Of replay.transport: what plays a transcript. It is pure like the rooms above, and imports less than the room may.
TRANSPORT_CORE = frozenset(
    f"replay.transport.{name}"
    for name in (
        *("correlation", "engine", "fields", "interleave", "lane", "matcher", "mechanical", "mismatch"),
        *("placeholder", "prepared", "profile", "reasons", "sample", "status", "steps", "transcript"),
    )
)
TRANSPORT_CORE_ARROWS = frozenset(("errors", "pattern", "session", "acp", "surface"))
# Of replay.trace: what meets files, processes, the clock or other modules' names. All the others are its core, and pure:
# model, codec, comparators, meaning, trajectory, statistics, consensus, snapshots, suites, verdicts, the choice of a
# sample, strategies, divergences, and whatever is added without a line here.
TRACE_DOORS = frozenset(
    f"replay.trace.{name}"
    for name in ("agent", "blobs", "entry", "raising", "recorder", "sampler_files", "similarity", "state")
)
# Module of that core -> door that it imports all the same, and why.
TRACE_EXEMPT: Mapping[tuple[str, str], str] = {
    ("replay.trace.codec", "replay.trace.blobs"): "the protocol of a store, whose caller gives one",
    ("replay.trace.reading", "replay.trace.blobs"): "the same",
    (
        "replay.trace.drafts",
        "replay.trace.raising",
    ): "finds the class of an error among those that are loaded",
    ("replay.trace.wrap", "replay.trace.raising"): "the same",
}
# What the core may import besides orjson and the standard library.
TRACE_FOREIGN: Mapping[str, frozenset[str]] = {
    "replay.trace.edges": frozenset(("pydantic", "pydantic_core")),
    "replay.trace.report_html": frozenset(("jinja2",)),
}
# A command of its own, run at build time and imported by nothing.
COMMANDS = frozenset(("replay.acp.generate_schema",))

# What every replay runs. main imports the other two in a function, since a refused manifest needs neither.
START = ("replay.runner.main", "replay.runner.mode", "replay.runner.pipeline")
# The same of traces. A model that answers live is no part of a replay that is deterministic.
TRACE_START = ("replay.runner.trace_main",)
TRACE_LIVE = frozenset(("replay.runner.trace_gateway_live",))
# What a replay may import besides the standard library: at its start, and later where it is needed.
AT_START = frozenset(("orjson",))
LATER = AT_START | {"h11"}

MAX_LINES = 450


def test_every_room_of_the_table_is_there_and_no_other() -> None:
    rooms = {source.room for source in sources().values() if source.room}
    assert rooms == set(ARROWS)
    # As many as a small tree has: the test would also pass on no files.
    assert len(sources()) > 80


def test_table_has_no_cycle() -> None:
    above: set[str] = set()
    for room, allowed in ARROWS.items():
        assert allowed <= above, f"{room} imports {sorted(allowed - above)}, which stand below it"
        above.add(room)


@pytest.mark.parametrize("room", ARROWS)
def test_room_imports_only_along_the_arrows(room: str) -> None:
    against = []
    for source in sources().values():
        if source.room != room:
            continue
        for found in imports_of(source, with_types=True):
            target = room_of(found.name)
            is_along = not is_ours(found.name) or target in (room, "", *ARROWS[room])
            if not is_along and (source.module, target) not in EXEMPT:
                against.append(f"{source.module}:{found.line} imports {found.name}")
    assert not against, "\n".join(against)


def test_every_exemption_is_needed() -> None:
    for module, room in EXEMPT:
        assert room not in ARROWS[room_of(module)]
        assert any(room_of(found.name) == room for found in imports_of(sources()[module])), module


def test_imported_modules_of_ours_are_there() -> None:
    missing = [
        f"{source.module}:{found.line} imports {found.name}"
        for source in sources().values()
        for found in imports_of(source, with_types=True)
        if is_ours(found.name) and found.name not in sources()
    ]
    assert not missing, "\n".join(missing)


def test_modules_import_each_other_in_no_circle() -> None:
    graph = {
        module: {found.name for found in imports_of(source) if is_ours(found.name) and not found.is_lazy}
        for module, source in sources().items()
    }
    done: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, " -> ".join((*trail[trail.index(module) :], module))
        if module not in done:
            for other in sorted(graph[module]):
                visit(other, (*trail, module))
            done.add(module)

    for module in graph:
        visit(module, ())


@pytest.mark.parametrize("room", PURE)
def test_pure_room_has_no_way_to_the_world(room: str) -> None:
    checked = [
        source for source in sources().values() if source.room == room and source.module not in COMMANDS
    ]
    assert checked
    found = ways_to_the_world(checked)
    assert not found, "\n".join(found)


def core_of_transport() -> list[Source]:
    profiles = [name for name in sources() if name.startswith("replay.transport.profiles.")]
    assert len(profiles) >= 5
    return [sources()[name] for name in sorted((*TRANSPORT_CORE, *profiles))]


def test_core_of_transport_has_no_way_to_the_world() -> None:
    found = ways_to_the_world(core_of_transport())
    assert not found, "\n".join(found)


def test_core_of_transport_knows_no_host_peer_or_recorder() -> None:
    against = []
    for source in core_of_transport():
        for found in imports_of(source, with_types=True):
            name = found.name
            is_core = name in TRANSPORT_CORE or name.startswith(
                ("replay.transport.profiles.", "replay.transport.wires.")
            )
            if is_ours(name) and not is_core and room_of(name) not in TRANSPORT_CORE_ARROWS:
                against.append(f"{source.module}:{found.line} imports {name}")
    assert not against, "\n".join(against)


def core_of_trace() -> list[Source]:
    core = [one for one in sources().values() if one.room == "trace" and one.module not in TRACE_DOORS]
    assert len(core) > 50
    return core


def test_core_of_trace_has_no_way_to_the_world() -> None:
    found = ways_to_the_world(core_of_trace())
    assert not found, "\n".join(found)


def test_every_door_of_trace_leads_to_the_world() -> None:
    for module in TRACE_DOORS:
        assert ways_to_the_world([sources()[module]]), f"{module} is pure: take it out of TRACE_DOORS"


def test_core_of_trace_imports_no_door() -> None:
    through = {
        (source.module, found.name)
        for source in core_of_trace()
        for found in imports_of(source, with_types=True)
        if found.name in TRACE_DOORS
    }
    assert through == set(TRACE_EXEMPT)


def test_core_of_trace_imports_orjson_and_the_standard_library() -> None:
    for source in core_of_trace():
        own = {found.name: source.module for found in imports_of(source)}
        assert set(foreign(own)) <= AT_START | TRACE_FOREIGN.get(source.module, frozenset()), source.module
    for module, packages in TRACE_FOREIGN.items():
        own = {found.name: module for found in imports_of(sources()[module])}
        assert packages <= set(foreign(own)), module


def test_commands_of_pure_rooms_are_imported_by_nothing() -> None:
    for source in sources().values():
        assert not COMMANDS & {found.name for found in imports_of(source)}, source.module


def test_replay_starts_with_orjson_and_the_standard_library() -> None:
    modules = closure(START, lazily=False)
    assert "replay.runner.main" in modules and "replay.script" in modules
    assert set(foreign(modules)) == AT_START, foreign(modules)


def test_replay_imports_later_only_what_it_is_known_to_need() -> None:
    # The commands of another mode and the writer of fixtures are no part of a replay.
    modules = closure(START, lazily=True)
    assert {"replay.runner.pipeline", "replay.models.gateway"} <= set(modules)
    assert set(foreign(modules)) == LATER, foreign(modules)


def test_host_and_core_of_transport_import_orjson_and_the_standard_library() -> None:
    modules = closure(("replay.transport.host", "replay.transport.mechanical"), lazily=True)
    assert "replay.transport.engine" in modules and "replay.transport.profiles.acp" not in modules
    assert set(foreign(modules)) == AT_START, foreign(modules)
    # Profiles are imported by name.
    for source in core_of_transport():
        assert set(foreign(closure((source.module,), lazily=True))) <= AT_START, source.module


def test_replay_of_traces_starts_with_orjson_and_the_standard_library() -> None:
    modules = closure(TRACE_START, lazily=False)
    assert {"replay.runner.trace_replay", "replay.trace.replayer"} <= set(modules)
    # A part is no verdict, and a test that is refused needs none.
    assert "replay.trace.verdict" not in modules
    assert set(foreign(modules)) == AT_START, foreign(modules)


def test_replay_of_traces_imports_later_only_what_it_is_known_to_need() -> None:
    modules = closure(TRACE_START, lazily=True, without=TRACE_LIVE)
    assert {"replay.trace.verdict", "replay.trace.similarity", "replay.models.gateway"} <= set(modules)
    assert set(foreign(modules)) == LATER, foreign(modules)
    # What people write is explained by guards and commands, and the page is the command's.
    assert not {"replay.trace.edges", "replay.trace.report_html"} & set(modules)
    # A live model is reached by one function alone.
    whole = closure(TRACE_START, lazily=True)
    assert whole["replay.runner.trace_gateway_live"] == "replay.runner.trace_gateway"
    live = [one for one in imports_of(sources()["replay.runner.trace_gateway"]) if one.name in TRACE_LIVE]
    assert live and all(one.is_lazy for one in live)


def test_agent_that_is_replayed_imports_orjson_and_the_standard_library() -> None:
    modules = closure(("replay.trace.entry", "replay.trace.recorder"), lazily=True)
    assert "replay.trace.agent" in modules and "replay.trace.replayer" not in modules
    assert set(foreign(modules)) == AT_START, foreign(modules)


def names_of_all(tree: ast.Module) -> list[str] | None:
    """The literal `__all__` of a module, None if it has none."""
    for node in tree.body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            [target, *_] = node.targets if isinstance(node, ast.Assign) else [node.target]
            if isinstance(target, ast.Name) and target.id == "__all__":
                names: list[str] = ast.literal_eval(node.value)
                return names
    return None


def bound_names(tree: ast.Module) -> set[str]:
    """Every name that the module's own statements bind."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.TypeAlias):
            found.add(node.name.id)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {
                name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)
            }
    return found


def isort_key(name: str) -> tuple[int, str]:
    """CONSTANTS, then Classes, then the rest: what ruff's RUF022 sorts by."""
    return (0 if name.isupper() else 1 if name[:1].isupper() else 2), name


@pytest.mark.parametrize(
    "module", [name for name in sources() if names_of_all(sources()[name].tree) is not None]
)
def test_all_is_sorted_and_true(module: str) -> None:
    source = sources()[module]
    names = names_of_all(source.tree)
    assert names is not None
    assert names == sorted(set(names), key=isort_key)
    bound = bound_names(source.tree)
    assert set(names) <= bound, f"__all__ names what is not there: {sorted(set(names) - bound)}"
    if source.path.name == "__init__.py":
        public = {name for name in bound if not name.startswith("_")}
        assert public == set(names), f"imported and not in __all__: {sorted(public - set(names))}"


def test_every_room_says_what_is_public() -> None:
    rooms = [source for source in sources().values() if source.path.name == "__init__.py" and source.room]
    assert len(rooms) >= 8
    for source in rooms:
        assert names_of_all(source.tree) is not None, source.module


def test_names_taken_from_a_room_are_public() -> None:
    """`from replay.script import X`: X is a module of the room or stands in its __all__."""
    wrong = []
    for source in sources().values():
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ImportFrom) and node.module in sources():
                known = names_of_all(sources()[node.module].tree)
                for alias in node.names:
                    is_module = f"{node.module}.{alias.name}" in sources()
                    if known is not None and not is_module and alias.name not in known:
                        wrong.append(f"{source.module}:{node.lineno} takes {alias.name} from {node.module}")
    assert not wrong, "\n".join(wrong)


def test_no_file_is_longer_than_a_reader_can_hold() -> None:
    lengths = {
        source.path.relative_to(ROOT): source.path.read_bytes().count(b"\n") for source in sources().values()
    }
    assert not {path: length for path, length in lengths.items() if length > MAX_LINES}
