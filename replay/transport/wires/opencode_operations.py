"""The operations of an OpenCode server: which method and path each is, and where its parameters go. Pure.

One line an operation: name, method, path template, status of a success (`stream`: an event stream), then the query
parameters (`:number`, `:boolean` where they are no strings) and `=NAME` where the whole body is that one parameter; all
other parameters are fields of the body. Names are those of the v2 client; the v1 client takes the same routes.
`directory` and `workspace`, which any request may carry, are no parameters here.

Not in the table, since nothing of theirs is a recorded exchange of JSON: the health probes, WebSockets (pty.connect), raw
bytes (vcs.diff.raw, fs.read), the remote control of a terminal (tui.*), and what is declared experimental.

Source: the OpenAPI document and the clients of @opencode-ai/sdk 1.18.33.
"""

from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["OPERATIONS", "Operation", "find_operation"]


class Operation(NamedTuple):
    """One row. path: template segments, "{sessionID}" for a parameter. body: the parameter that is the whole body, or "".

    query: parameter -> "string", "number" or "boolean". status: of a success, 200 for a stream.
    """

    name: str
    method: str
    path: tuple[str, ...]
    status: int
    is_stream: bool
    query: Mapping[str, str]
    body: str


_TABLE = """
app.agents GET /agent 200
app.log POST /log 200
app.skills GET /skill 200
auth.remove DELETE /auth/{providerID} 200
auth.set PUT /auth/{providerID} 200 =auth
command.list GET /command 200
config.get GET /config 200
config.providers GET /config/providers 200
config.update PATCH /config 200 =config
event.subscribe GET /event stream
file.list GET /file 200 path
file.read GET /file/content 200 path
file.status GET /file/status 200
find.files GET /find/file 200 query dirs type limit:number
find.symbols GET /find/symbol 200 query
find.text GET /find 200 pattern
formatter.status GET /formatter 200
global.config.get GET /global/config 200
global.config.update PATCH /global/config 200 =config
global.dispose POST /global/dispose 200
global.event GET /global/event stream
global.upgrade POST /global/upgrade 200
instance.dispose POST /instance/dispose 200
lsp.status GET /lsp 200
mcp.add POST /mcp 200
mcp.auth.authenticate POST /mcp/{name}/auth/authenticate 200
mcp.auth.callback POST /mcp/{name}/auth/callback 200
mcp.auth.remove DELETE /mcp/{name}/auth 200
mcp.auth.start POST /mcp/{name}/auth 200
mcp.connect POST /mcp/{name}/connect 200
mcp.disconnect POST /mcp/{name}/disconnect 200
mcp.status GET /mcp 200
part.delete DELETE /session/{sessionID}/message/{messageID}/part/{partID} 200
part.update PATCH /session/{sessionID}/message/{messageID}/part/{partID} 200 =part
path.get GET /path 200
permission.list GET /permission 200
permission.reply POST /permission/{requestID}/reply 200
permission.respond POST /session/{sessionID}/permissions/{permissionID} 200
project.current GET /project/current 200
project.directories GET /project/{projectID}/directories 200
project.initGit POST /project/git/init 200
project.list GET /project 200
project.update PATCH /project/{projectID} 200
provider.auth GET /provider/auth 200
provider.list GET /provider 200
provider.oauth.authorize POST /provider/{providerID}/oauth/authorize 200
provider.oauth.callback POST /provider/{providerID}/oauth/callback 200
pty.connectToken POST /pty/{ptyID}/connect-token 200
pty.create POST /pty 200
pty.get GET /pty/{ptyID} 200
pty.list GET /pty 200
pty.remove DELETE /pty/{ptyID} 200
pty.shells GET /pty/shells 200
pty.update PUT /pty/{ptyID} 200
question.list GET /question 200
question.reject POST /question/{requestID}/reject 200
question.reply POST /question/{requestID}/reply 200
session.abort POST /session/{sessionID}/abort 200
session.children GET /session/{sessionID}/children 200
session.command POST /session/{sessionID}/command 200
session.create POST /session 200
session.delete DELETE /session/{sessionID} 200
session.deleteMessage DELETE /session/{sessionID}/message/{messageID} 200
session.diff GET /session/{sessionID}/diff 200 messageID
session.fork POST /session/{sessionID}/fork 200
session.get GET /session/{sessionID} 200
session.init POST /session/{sessionID}/init 200
session.list GET /session 200 scope path roots:boolean start:number search limit:number
session.message GET /session/{sessionID}/message/{messageID} 200
session.messages GET /session/{sessionID}/message 200 limit:number before
session.prompt POST /session/{sessionID}/message 200
session.promptAsync POST /session/{sessionID}/prompt_async 204
session.revert POST /session/{sessionID}/revert 200
session.share POST /session/{sessionID}/share 200
session.shell POST /session/{sessionID}/shell 200
session.status GET /session/status 200
session.summarize POST /session/{sessionID}/summarize 200
session.todo GET /session/{sessionID}/todo 200
session.unrevert POST /session/{sessionID}/unrevert 200
session.unshare DELETE /session/{sessionID}/share 200
session.update PATCH /session/{sessionID} 200
tool.ids GET /experimental/tool/ids 200
tool.list GET /experimental/tool 200 provider model
vcs.apply POST /vcs/apply 200
vcs.diff GET /vcs/diff 200 mode context:number
vcs.get GET /vcs 200
vcs.status GET /vcs/status 200
worktree.create POST /experimental/worktree 200 =worktreeCreateInput
worktree.list GET /experimental/worktree 200
worktree.remove DELETE /experimental/worktree 200 =worktreeRemoveInput
worktree.reset POST /experimental/worktree/reset 200 =worktreeResetInput
v2.agent.list GET /api/agent 200
v2.command.list GET /api/command 200
v2.credential.remove DELETE /api/credential/{credentialID} 204
v2.credential.update PATCH /api/credential/{credentialID} 204
v2.event.subscribe GET /api/event stream
v2.fs.find GET /api/fs/find 200 query type limit
v2.fs.list GET /api/fs/list 200 path
v2.integration.attempt.cancel DELETE /api/integration/attempt/{attemptID} 204
v2.integration.attempt.complete POST /api/integration/attempt/{attemptID}/complete 204
v2.integration.attempt.status GET /api/integration/attempt/{attemptID} 200
v2.integration.connect.key POST /api/integration/{integrationID}/connect/key 204
v2.integration.connect.oauth POST /api/integration/{integrationID}/connect/oauth 200
v2.integration.get GET /api/integration/{integrationID} 200
v2.integration.list GET /api/integration 200
v2.location.get GET /api/location 200
v2.model.list GET /api/model 200
v2.permission.request.list GET /api/permission/request 200
v2.permission.saved.list GET /api/permission/saved 200 projectID
v2.permission.saved.remove DELETE /api/permission/saved/{id} 204
v2.provider.get GET /api/provider/{providerID} 200
v2.provider.list GET /api/provider 200
v2.pty.connectToken POST /api/pty/{ptyID}/connect-token 200
v2.pty.create POST /api/pty 200
v2.pty.get GET /api/pty/{ptyID} 200
v2.pty.list GET /api/pty 200
v2.pty.remove DELETE /api/pty/{ptyID} 204
v2.pty.update PUT /api/pty/{ptyID} 200
v2.question.request.list GET /api/question/request 200
v2.reference.list GET /api/reference 200
v2.session.active GET /api/session/active 200
v2.session.compact POST /api/session/{sessionID}/compact 204
v2.session.context GET /api/session/{sessionID}/context 200
v2.session.create POST /api/session 200
v2.session.events GET /api/session/{sessionID}/event stream after
v2.session.get GET /api/session/{sessionID} 200
v2.session.history GET /api/session/{sessionID}/history 200 limit after
v2.session.interrupt POST /api/session/{sessionID}/interrupt 204
v2.session.list GET /api/session 200 limit:number order search project subpath cursor
v2.session.message GET /api/session/{sessionID}/message/{messageID} 200
v2.session.messages GET /api/session/{sessionID}/message 200 limit:number order cursor
v2.session.permission.create POST /api/session/{sessionID}/permission 200
v2.session.permission.get GET /api/session/{sessionID}/permission/{requestID} 200
v2.session.permission.list GET /api/session/{sessionID}/permission 200
v2.session.permission.reply POST /api/session/{sessionID}/permission/{requestID}/reply 204
v2.session.prompt POST /api/session/{sessionID}/prompt 200
v2.session.question.list GET /api/session/{sessionID}/question 200
v2.session.question.reject POST /api/session/{sessionID}/question/{requestID}/reject 204
v2.session.question.reply POST /api/session/{sessionID}/question/{requestID}/reply 204 =questionV2Reply
v2.session.revert.clear POST /api/session/{sessionID}/revert/clear 204
v2.session.revert.commit POST /api/session/{sessionID}/revert/commit 204
v2.session.revert.stage POST /api/session/{sessionID}/revert/stage 200
v2.session.switchAgent POST /api/session/{sessionID}/agent 204
v2.session.switchModel POST /api/session/{sessionID}/model 204
v2.session.wait POST /api/session/{sessionID}/wait 204
v2.skill.list GET /api/skill 200
"""


def _row(line: str) -> Operation:
    name, method, path, status, *rest = line.split(" ")
    query = {}
    body = ""
    for parameter in rest:
        if parameter.startswith("="):
            body = parameter[1:]
        else:
            key, _, kind = parameter.partition(":")
            query[key] = kind or "string"
    is_stream = status == "stream"
    return Operation(
        name, method, tuple(path[1:].split("/")), 200 if is_stream else int(status), is_stream, query, body
    )


OPERATIONS: Mapping[str, Operation] = {row.name: row for row in map(_row, _TABLE.strip().split("\n"))}

_BY_LENGTH: dict[tuple[str, int], list[Operation]] = {}
for _operation in sorted(OPERATIONS.values(), key=lambda row: [part[:1] == "{" for part in row.path]):
    # A literal segment comes before a parameter, so that /session/status is no session's id.
    _BY_LENGTH.setdefault((_operation.method, len(_operation.path)), []).append(_operation)


def find_operation(method: str, path: tuple[str, ...]) -> tuple[Operation, dict[str, str]] | None:
    """The operation of a request and its path parameters, None if the server has no such route.

    path: decoded segments.
    """
    for operation in _BY_LENGTH.get((method, len(path)), ()):
        parameters = {}
        for part, segment in zip(operation.path, path, strict=True):
            if part.startswith("{"):
                parameters[part[1:-1]] = segment
            elif part != segment:
                break
        else:
            if all(parameters.values()):
                return operation, parameters
    return None
