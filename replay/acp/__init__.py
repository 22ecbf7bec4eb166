"""The Agent Client Protocol, client side: framing, JSON-RPC, the schema, and the driver that plays input.json.

Pure: bytes and values in, bytes and values out. No pipe, file, clock, thread; what an agent asks of the world goes
through ClientHost. Nothing of ours is imported but `replay.errors`. generate_schema.py is a command of its own
and never imported on the replay path.
"""

from replay.acp.connection import parse
from replay.acp.driver import AgentFrame, Driver, Report
from replay.acp.framing import LineReader, excerpt
from replay.acp.host import (
    INVALID_PARAMS,
    RESOURCE_NOT_FOUND,
    ClientHost,
    Pending,
    Refusal,
    TerminalExit,
    TerminalOutput,
)
from replay.acp.ops import Script, Step, parse_script
from replay.acp.schema import AGENT, CLIENT, Tables, Verdict, load_tables
from replay.acp.waits import (
    Action,
    Done,
    Restart,
    Send,
    Wait,
    WaitFile,
    WaitLogEvent,
    WaitReply,
    WaitRestart,
    WaitUpdate,
)

__all__ = [
    "AGENT",
    "CLIENT",
    "INVALID_PARAMS",
    "RESOURCE_NOT_FOUND",
    "Action",
    "AgentFrame",
    "ClientHost",
    "Done",
    "Driver",
    "LineReader",
    "Pending",
    "Refusal",
    "Report",
    "Restart",
    "Script",
    "Send",
    "Step",
    "Tables",
    "TerminalExit",
    "TerminalOutput",
    "Verdict",
    "Wait",
    "WaitFile",
    "WaitLogEvent",
    "WaitReply",
    "WaitRestart",
    "WaitUpdate",
    "excerpt",
    "load_tables",
    "parse",
    "parse_script",
]
