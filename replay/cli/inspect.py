"""`replay inspect SCENARIO`: a session as a conversation that can be read: turns, model calls, tools, permissions, stops.

What the model said and what tools returned comes from the session logs, permissions and stops from the frames that
the client got; children stand where their parent began them. Without a log the client's view is all there is.
"""

import argparse
from collections.abc import Mapping
from typing import Any, Final

import orjson

from replay.cli.client_view import ClientTool, ClientTurn, Permission, prompt_text, prompts_of
from replay.cli.page import Page
from replay.cli.session_view import (
    ChildStart,
    Item,
    ModelCall,
    Note,
    Said,
    SessionView,
    ToolCall,
    ToolResult,
    TurnEnd,
    TurnStart,
)
from replay.cli.story import Story, read_story
from replay.runner.stale import facts_of

__all__ = ["add_arguments", "run"]

_MOST_LINES: Final = 12
_STYLES: Final = {"user": "bold", "thinks": "dim", "says": "", "model": "cyan", "tool": "yellow", "result": "", "turn": "bold"}  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "directories", nargs="+", metavar="SCENARIO", help="a scenario's directory, or a test's outputs"
    )
    parser.add_argument("--full", action="store_true", help="show texts whole, however long they are")


def run(arguments: argparse.Namespace) -> int:
    """Show each run; 0, or an error for a directory that holds none."""
    for directory in arguments.directories:
        page = Page(0 if arguments.full else _MOST_LINES)
        _Telling(read_story(directory), page).tell()
        page.show()
    return 0


class _Telling:
    """Writes one story on a page."""

    __slots__ = ("_page", "_shown_tools", "_story", "_told", "_turn")

    def __init__(self, story: Story, page: Page) -> None:
        self._story = story
        self._page = page
        self._turn = -1
        self._told: set[str] = set()
        self._shown_tools: set[str] = set()

    def tell(self) -> None:
        self._heading()
        parents = [view for view in self._story.sessions if view.name == "parent"]
        if not parents:
            self._tell_client_only()
        for view in parents:
            self._tell_session(view, 0)
        for view in self._story.sessions:
            if view.name not in self._told:
                self._tell_child(view, 0)

    def _heading(self) -> None:
        story = self._story
        facts = facts_of(story.files, story.place)
        words = [facts.kind or "of unknown provenance"]
        words += [facts.captured] if facts.captured else []
        words += [f"{name} {value}" for name, value in (("agent", f"{facts.agent} {facts.version}".strip()), ("model", facts.model), ("protocol", facts.protocol)) if value]  # fmt: skip
        self._page.add("", story.place, style="bold")
        self._page.add("", f"  {', '.join(words)}", style="dim")

    # -- a session --------------------------------------------------------------------------------------------

    def _tell_session(self, view: SessionView, depth: int) -> None:
        self._told.add(view.name)
        is_parent = view.name == "parent"
        if not any(isinstance(item, TurnStart) for item in view.items):
            self._begin_turn(None, depth, is_parent)
        for item in view.items:
            if isinstance(item, TurnStart):
                self._begin_turn(item, depth, is_parent)
            self._tell_item(item, view, depth)
        if is_parent:
            self._end_client_turn(depth)
            for _ in range(self._turn + 1, len(self._story.client)):
                self._begin_turn(None, depth, True)
                self._end_client_turn(depth)

    def _begin_turn(self, item: Item | None, depth: int, is_parent: bool) -> None:
        if is_parent:
            self._end_client_turn(depth)
            self._turn += 1
        number = item.turn if isinstance(item, TurnStart) else self._turn + 1 if is_parent else 1
        self._page.add("", f"{'  ' if depth else ''}turn {number}", depth, _STYLES["turn"])

    def _tell_item(self, item: Item, view: SessionView, depth: int) -> None:
        match item:
            case Said(who, text):
                self._page.add(who, text, depth, _STYLES.get(who, ""))
            case ModelCall():
                self._tell_call(item, view, depth)
            case ToolCall():
                self._tell_tool(item, view, depth)
            case ToolResult(name, text, is_error):
                self._shown_tools.add(name)
                self._page.add("error" if is_error else "result", text, depth, "red" if is_error else "")
            case ChildStart(session):
                for child in self._story.sessions:
                    if child.header.get("id") == session and child.name not in self._told:
                        self._tell_child(child, depth + 1)
            case TurnEnd(reason) if reason != "completed":
                self._page.add("ends", reason, depth)
            case Note("request/header", data):
                self._page.add("request", _request(data), depth, "dim")
            case Note(kind, data):
                self._page.add("note", f"{kind} {_shown(_without_place(data))}", depth, "dim")
            case _:
                pass

    def _tell_call(self, call: ModelCall, view: SessionView, depth: int) -> None:
        words = [f"call {call.number}"]
        words += [call.finish] if call.finish else []
        words += [call.outcome] if call.outcome != "completed" else []
        words += [_usage(call.usage)] if call.usage else []
        words += [f"{call.ms / 1000:.1f} s"] if call.ms else []
        self._page.add("model", ", ".join(words), depth, _STYLES["model"])
        for item in call.items:
            self._tell_item(item, view, depth)

    def _tell_tool(self, tool: ToolCall, view: SessionView, depth: int) -> None:
        self._page.add("tool", f"{tool.name} {_shown(tool.arguments)}", depth, _STYLES["tool"])
        for permission in self._permissions(tool.id):
            self._tell_permission(permission, view.answers.get(tool.id, permission.answer), depth)

    def _tell_child(self, view: SessionView, depth: int) -> None:
        if view.name in self._told:
            return
        origin = view.header.get("origin")
        self._page.add("", f"  {view.name}{f' ({origin})' if origin else ''}", depth, "bold")
        self._tell_session(view, depth)

    # -- what the client saw ----------------------------------------------------------------------------------

    def _client_turn(self) -> ClientTurn:
        turns = self._story.client
        return turns[self._turn] if 0 <= self._turn < len(turns) else ClientTurn()

    def _permissions(self, tool: str) -> list[Permission]:
        """The permissions of a tool, each told once."""
        turn = self._client_turn()
        found = [permission for permission in turn.permissions if permission.tool_id == tool]
        turn.permissions[:] = [permission for permission in turn.permissions if permission.tool_id != tool]
        return found

    def _tell_permission(self, permission: Permission, answer: str, depth: int) -> None:
        options = f" ({', '.join(permission.options)})" if permission.options else ""
        self._page.add("asks", f"may it: {permission.title}{options}", depth, "magenta")
        self._page.add("answer", answer or "not known here", depth, "magenta")

    def _end_client_turn(self, depth: int) -> None:
        """What only the client's frames say of the turn that ends."""
        turn = self._client_turn()
        for permission in turn.permissions:
            self._tell_permission(permission, permission.answer, depth)
        for tool in turn.tools.values():
            if tool.id not in self._shown_tools:
                self._tell_client_tool(tool, depth)
        if turn.stop:
            self._page.add("stops", turn.stop, depth)

    def _tell_client_tool(self, tool: ClientTool, depth: int) -> None:
        arguments = f" {_shown(tool.arguments)}" if tool.arguments is not None else ""
        self._page.add("shown", f"{tool.title or tool.id}{arguments}", depth, _STYLES["tool"])
        if tool.text or tool.status:
            self._page.add(tool.status or "result", tool.text, depth)

    def _tell_client_only(self) -> None:
        prompts = prompts_of(self._story.script)
        for number, turn in enumerate(self._story.client):
            self._turn = number
            self._page.add("", f"turn {number + 1}", 0, _STYLES["turn"])
            if number < len(prompts):
                self._page.add("user", prompt_text(prompts[number]), 0, _STYLES["user"])
            for who, text in turn.said:
                self._page.add(who, text, 0, _STYLES[who])
            self._end_client_turn(0)


def _usage(usage: Mapping[str, Any]) -> str:
    """ "110 tokens in, 5 out", and whatever else was counted."""
    known = {"inputTokens": "tokens in", "outputTokens": "out"}
    words = [f"{usage[name]} {word}" for name, word in known.items() if name in usage]
    words += [
        f"{name} {value}" for name, value in usage.items() if name not in known and isinstance(value, int)
    ]
    return ", ".join(words)


def _request(data: Mapping[str, Any]) -> str:
    """A request header without the texts of prompt and tools, which are pinned elsewhere."""
    header = data.get("header")
    config = header.get("config") if isinstance(header, dict) else None
    return f"{data.get('reason', 'header')}: {_shown(config)}"


def _without_place(data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key not in ("turn", "step")}


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
