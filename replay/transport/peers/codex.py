"""The peer of the app-server of Codex over stdio: JSON-RPC lines without the "jsonrpc" key."""

from typing import TYPE_CHECKING

from replay.transport.peers import program, stdio
from replay.transport.peers.json_lines import JsonLinesPeer

if TYPE_CHECKING:
    from typing import NoReturn

    from replay.transport.link import Ending, Link

__all__ = ["PROTOCOL", "main", "serve"]

PROTOCOL = "codex.app-server"


def serve(link: Link, _call: program.Call) -> Ending:
    """The edge: this process's stdin and stdout are the wire."""
    return stdio.serve(link, JsonLinesPeer())


def main() -> NoReturn:
    """The executable. Arguments that are not ours are those of the provider's own command line, and mean nothing here."""
    program.run(PROTOCOL, serve)
