"""What the reference orchestrator does not read, deliberately: a mutant of it is no mutant of what is tested.

As few rows as possible. `frames -- --named` plays mutants of these and fails where a test does catch one: such a row is
too wide.
"""

from tests.mutations.frames.equivalents import Named

__all__ = ["NAMED"]

ACP, CLAUDE, CODEX = "acp.ndjson-jsonrpc", "claude-agent-sdk.query", "codex.app-server"
CURSOR, OPENCODE = "cursor-agent-sdk.local", "opencode-sdk.sse"

NAMED = (
    # ACP
    Named(ACP, "initialize.response", "result.*", "the client offers what it can and takes what it is given",
          but="result.protocolVersion result.agentCapabilities.loadSession result.agentCapabilities.sessionCapabilities"),
    Named(ACP, "initialize.response", "result.agentCapabilities*", "only a session that is taken up again needs them", may=True),
    Named(ACP, "session/resume.response session/load.response", "result*", "the session is the one that was asked for"),
    Named(ACP, "session/update:*_chunk session/request_permission", "params.*content.type params.*content.*.type", "what has a text is read as text"),
    Named(ACP, "elicitation/create", "params.sessionId* params.requestedSchema.required* params.requestedSchema.type*", "a connection has one session, and the person answers all"),
    Named(ACP, "elicitation/create", "params.message*", "the form's own words stand where a question has none", may=True),
    Named(ACP, "elicitation/create", "params.requestedSchema.properties.*.type*", "with choices, only a list is another kind of question", may=True),
    Named(ACP, "session/update:plan", "params.update.entries.*.priority*", "a step has no priority here"),
    Named(ACP, "session/update:plan", "params.update.entries.*.status*", "a step is pending unless it is said to be more", may=True),
    Named(ACP, "session/request_permission", "params.toolCall.kind*", "a call keeps the kind that it began with", may=True),
    Named(ACP, "session/request_permission", "params.options.*.kind*", "what is none of the known decisions is a rejection", may=True),
    # Codex
    Named(CODEX, "account/* remoteControl/* thread/readState/* thread/settings/* thread/started thread/status/*", "", "the state of the server and of the thread; no turn and no item is in it", but="method"),
    Named(CODEX, "account/* remoteControl/* thread/readState/* thread/settings/* thread/started thread/status/*", "method", "a notification that is not known is passed over as well", may=True),
    Named(CODEX, "*", "emittedAtMs params.startedAtMs params.completedAtMs params.*.startedAtMs params.*.completedAtMs params.*.startedAt params.*.completedAt params.*.durationMs params.*.processId", "the server's clock and its processes; the orchestrator has its own clock"),
    Named(CODEX, "initialize.response", "result*", "who answers is of no interest, only that somebody does"),
    Named(CODEX, "thread/start.response thread/resume.response", "result.*", "what the server settled on is not compared with what it was asked for", but="result.thread.id"),
    Named(CODEX, "turn/start.response turn/steer.response turn/interrupt.response thread/revert.response", "result*", "a response says nothing that no notification says", may=True),
    Named(CODEX, "turn/start.response turn/steer.response turn/interrupt.response", "", "a response says nothing that no notification says", operations="drop", may=True),
    Named(CODEX, "turn/started turn/completed", "params.turn.*", "the items of a turn come as notifications", but="params.turn.id params.turn.status params.turn.error"),
    Named(CODEX, "turn/started turn/completed", "", "a child starts once and ends once", operations="duplicate", may=True),
    Named(CODEX, "turn/started", "params.turn.status* params.turn.error*", "a turn that starts runs"),
    Named(CODEX, "turn/completed", "params.turn.error", "an error is an object with a message"),
    Named(CODEX, "thread/tokenUsage/updated", "params.tokenUsage.last* params.tokenUsage.modelContextWindow*", "the sum counts"),
    Named(CODEX, "*", "params.threadId! params.turnId!", "servers of older versions leave out what is the only one", may=True),
    Named(CODEX, "item/*", "params.turnId", "an item has an id of its own; only a turn that nobody started is refused", may=True),
    Named(CODEX, "item/*:collabAgentToolCall", "params.item.type*", "what is of no known type is a call of its tool", may=True),
    Named(CODEX, "item/*:userMessage", "params.item.content.*.type params.item.content.*.text_elements* params.item.clientId*", "what has a text is read as text"),
    Named(CODEX, "item/started:userMessage", "", "the completed item says all of it again", operations="drop change", may=True),
    Named(CODEX, "item/completed*", "params.contentTokenCount*", "how long the model counts it to be"),
    Named(CODEX, "turn/plan/updated", "params.plan.*.status*", "a step is pending unless it is said to be more", may=True),
    Named(CODEX, "item/tool/requestUserInput", "params.isBlocking*", "every question is answered by a person"),
    # Claude
    Named(CLAUDE, "query.opened control.response", "response*", "what the CLI offers is not asked for"),
    Named(CLAUDE, "query.opened control.response", "", "where no answer is recorded, the peer makes one up", operations="drop change", may=True),
    Named(CLAUDE, "system:init", "", "repeats what the CLI was started with", but="session_id type", operations="change swap"),
    Named(CLAUDE, "system:init", "", "repeats what the CLI was started with", operations="drop duplicate", may=True),
    Named(CLAUDE, "system:init", "session_id!", "the session is the one that was asked for unless another is named", may=True),
    Named(CLAUDE, "assistant user result:* system:task_*", "session_id request_id timestamp", "the conversation is the one of this process"),
    Named(CLAUDE, "assistant", "message.*", "how the model came to it is the CLI's business", but="message.id message.content"),
    Named(CLAUDE, "assistant", "message.content.*.signature", "the model's own proof of its thought"),
    Named(CLAUDE, "assistant", "uuid*", "the last message of a turn is where it can be gone back to", may=True),
    Named(CLAUDE, "assistant", "message.id*", "blocks of one message come in one frame or in several", may=True),
    Named(CLAUDE, "result:*", "*", "statistics, and the answer that was said before", but="type subtype usage is_error errors terminal_reason result"),
    Named(CLAUDE, "result:*", "is_error* result* errors* terminal_reason* subtype*", "one word for the end is enough", may=True),
    Named(CLAUDE, "user", "uuid message.role tool_use_result*", "the result's block says what the tool said", may=True),
    Named(CLAUDE, "system:task_*", "uuid description prompt task_type summary output_file", "the call says it"),
    Named(CLAUDE, "system:task_notification", "task_id", "the call names the child"),
    Named(CLAUDE, "system:task_*", "", "a child starts once and ends once", operations="duplicate", may=True),
    Named(CLAUDE, "permission.request", "options.*", "why the CLI asks is for its own dialogue", but="options.toolUseID", may=True),
    Named(CLAUDE, "permission.request", "input.questions.*.multiSelect!", "one choice unless it is said to be more", may=True),
    # OpenCode
    Named(OPENCODE, "*", "event.id", "events are in order and need no number"),
    Named(OPENCODE, "sdk.event:plugin.added sdk.event:catalog.updated sdk.event:integration.updated sdk.event:reference.updated sdk.event:session.created* sdk.event:session.diff sdk.event:session.updated*", "", "the server's own state, and what responses say", but="type event.type"),
    Named(OPENCODE, "sdk.event:*", "event.type event.properties!", "what no session of ours is said of is not taken down, whatever it is called", may=True),
    Named(OPENCODE, "sdk.response:*", "data*", "only the session's id is asked for", but="data.id"),
    Named(OPENCODE, "sdk.response:*", "data.id data", "only the session's creation is asked for its id", may=True),
    Named(OPENCODE, "sdk.response:*", "", "events say what became of it", operations="drop", may=True),
    Named(OPENCODE, "sdk.event:message.part.updated:step-*", "", "where a model call begins and ends is no item; its usage stands in the message", but="type event.type event.properties.part.type"),
    Named(OPENCODE, "sdk.event:message.updated*", "event.properties.info.*", "a message has an author, an end, a price, and texts of its own", but="event.properties.info.id event.properties.info.role event.properties.info.time event.properties.info.tokens event.properties.info.cost event.properties.info.error event.properties.info.finish event.properties.info.sessionID"),
    Named(OPENCODE, "sdk.event:message.updated*", "event.properties.info.time* event.properties.info.tokens* event.properties.info.cost* event.properties.info.finish* event.properties.info.error*", "of a message's states the completed one counts", may=True),
    Named(OPENCODE, "sdk.event:message.updated*", "event.properties.info.id event.properties.info.role", "a message that comes while a turn runs begins none", may=True),
    Named(OPENCODE, "sdk.event:message.updated* sdk.event:message.part.updated*", "event.properties.sessionID* event.properties.part.sessionID* event.properties.info.sessionID* event.properties.time", "the session is named three times", may=True),
    Named(OPENCODE, "sdk.event:message.part.updated*", "event.properties.part.messageID event.properties.part.time* event.properties.part.state.time* event.properties.part.state.metadata* event.properties.part.state.raw* event.properties.part.state.input!", "a part has an id of its own, and its end is an end at any time", may=True),
    Named(OPENCODE, "sdk.event:message.updated* sdk.event:message.part.updated*", "", "the whole state, said once more", operations="drop duplicate swap", may=True),
    Named(OPENCODE, "sdk.event:message.part.updated:tool", "event.properties.part.id", "a call has an id of its own"),
    Named(OPENCODE, "sdk.event:session.status* sdk.event:session.idle", "", "only idle means anything, and both say it", may=True),
    Named(OPENCODE, "sdk.event:message.part.delta sdk.event:permission.asked sdk.event:question.asked", "event.properties.messageID event.properties.tool.messageID event.properties.always*", "a part and a call have ids of their own"),
    Named(OPENCODE, "sdk.event:todo.updated", "event.properties.todos.*.priority* event.properties.todos.*.id*", "a step has no priority here"),
    Named(OPENCODE, "sdk.event:todo.updated", "event.properties.todos.*.status*", "a step is pending unless it is said to be more", may=True),
    Named(OPENCODE, "sdk.event:question.*", "event.properties.questions.*.multiple! event.properties.answers*", "the answers are those that were given here", may=True),
    # Cursor
    Named(CURSOR, "run.completed", "result.durationMs result.model*", "statistics"),
    Named(CURSOR, "run.completed", "result.result*", "the pieces said it"),
    Named(CURSOR, "interaction.update:thinking-completed", "update.thinkingDurationMs", "statistics"),
    Named(CURSOR, "interaction.update:thinking-completed", "", "what follows a thought ends it as well", but="type update.type"),
    Named(CURSOR, "interaction.update:tool-call-*", "update.modelCallId", "a call has an id of its own"),
    Named(CURSOR, "run.started agent.opened", "agentId* runId!", "a client has one agent", may=True),
)  # fmt: skip
