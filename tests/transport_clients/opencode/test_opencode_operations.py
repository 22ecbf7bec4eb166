"""The table of operations against the published client: each of its calls is the frame that the table makes of it."""

import os
import subprocess
from pathlib import Path
from typing import Any

import orjson
import pytest

from replay.transport.wires.opencode import Request, frame_of_request
from replay.transport.wires.opencode_operations import OPERATIONS, Operation

pytestmark = pytest.mark.skipif(
    "OPENCODE_SDK_MODULES" not in os.environ,
    reason="the client is installed by Bazel; run //tests/transport_clients/opencode:client_test",
)

# Fields of a body that the client passes on, since it drops what it does not know.
BODY: dict[str, dict[str, Any]] = {
    "mcp.auth.callback": {"code": "c"},
    "permission.reply": {"reply": "always", "message": "m"},
    "permission.respond": {"response": "reject"},
    "project.update": {"name": "n"},
    "question.reply": {"answers": [["a", "b"], []]},
    "session.command": {"command": "c", "arguments": "a"},
    "session.create": {"title": "t", "permission": [{"permission": "*", "pattern": "*", "action": "ask"}]},
    "session.fork": {"messageID": "m"},
    "session.prompt": {"parts": [{"type": "text", "text": "ü\u2028"}], "agent": "build"},
    "session.promptAsync": {"parts": [], "model": {"providerID": "p", "modelID": "m"}},
    "session.revert": {"messageID": "m", "partID": "p"},
    "session.update": {"title": "t"},
    "v2.session.permission.reply": {"reply": "once"},
    "v2.session.prompt": {"prompt": {"text": "t"}},
    "vcs.apply": {"patch": "p"},
}
VALUES: dict[str, Any] = {"string": "x&y=z+/ü", "number": 12, "boolean": True}


def parameters(operation: Operation) -> dict[str, Any]:
    given: dict[str, Any] = {part[1:-1]: "a/b c%ü" for part in operation.path if part.startswith("{")}
    given |= {key: VALUES[kind] for key, kind in operation.query.items()}
    if operation.body:
        given[operation.body] = {"key": ["value", None]}
    return given | BODY.get(operation.name, {})


def test_every_call_of_the_client_is_its_operation_s_frame() -> None:
    asked = [(operation.name, parameters(operation)) for operation in OPERATIONS.values()]
    done = subprocess.run(
        [Path(os.environ["OPENCODE_SDK_NODE"]).absolute(), Path(__file__).parent / "requests.mjs"],
        input=orjson.dumps(asked),
        env={"OPENCODE_SDK_MODULES": str(Path(os.environ["OPENCODE_SDK_MODULES"]).absolute())},
        stdout=subprocess.PIPE,
        timeout=120,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert len(lines) == len(asked)
    for (name, given), line in zip(asked, lines, strict=True):
        method, target, headers, body = orjson.loads(line)
        frame = frame_of_request(Request(method, target, headers, body.encode()))
        expected = {"type": name, "directory": "/a b/ü"} | ({"input": given} if given else {})
        assert frame == expected, (name, method, target)
