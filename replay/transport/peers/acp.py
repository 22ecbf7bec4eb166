"""The peer of the Agent Client Protocol over stdio: any ACP agent."""

from typing import TYPE_CHECKING

from replay.transport.peers import program, stdio
from replay.transport.peers.json_lines import JsonLinesPeer

if TYPE_CHECKING:
    from typing import NoReturn

    from replay.transport.link import Ending, Link

__all__ = ["PROTOCOL", "main", "serve"]

PROTOCOL = "acp.ndjson-jsonrpc"


def serve(link: Link, _call: program.Call) -> Ending:
    """The edge: this process's stdin and stdout are the wire."""
    return stdio.serve(link, JsonLinesPeer())


def main() -> NoReturn:
    """The executable. Arguments that are not ours are those of the provider's own command line, and mean nothing here."""
    program.run(PROTOCOL, serve)
