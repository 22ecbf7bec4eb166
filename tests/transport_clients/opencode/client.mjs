// A program that uses the published OpenCode client as its documentation says: it starts the server, subscribes, creates
// a session, prompts, answers what it is asked, and prints what it saw, one JSON value a line.
//
//   node client.mjs v1|v2 PROMPT

import { pathToFileURL } from "node:url";

const [version, prompt] = process.argv.slice(2);
const modules = process.env.OPENCODE_SDK_MODULES + "/@opencode-ai/sdk/dist/";
const { createOpencode } = await import(pathToFileURL(modules + (version === "v1" ? "index.js" : "v2/index.js")));

const MODEL = { providerID: "replay", modelID: "replay" };
const say = (value) => process.stdout.write(JSON.stringify(value) + "\n");

// The two clients differ in how they take parameters, and in what they call the answer to a permission.
const calls = {
    v1: (client) => ({
        create: (title) => client.session.create({ body: { title } }),
        prompt: (id, body) => client.session.promptAsync({ path: { id }, body }),
        messages: (id) => client.session.messages({ path: { id }, query: { limit: 10 } }),
        allow: (asked) =>
            client.postSessionIdPermissionsPermissionId({
                path: { id: asked.sessionID, permissionID: asked.id },
                body: { response: "once" },
            }),
    }),
    v2: (client) => ({
        create: (title) => client.session.create({ title }),
        prompt: (sessionID, body) => client.session.promptAsync({ sessionID, ...body }),
        messages: (sessionID) => client.session.messages({ sessionID, limit: 10 }),
        allow: (asked) => client.permission.reply({ requestID: asked.id, reply: "once" }),
    }),
};

const { client, server } = await createOpencode({ port: 0 });
try {
    const call = calls[version](client);
    const events = (await client.event.subscribe()).stream[Symbol.asyncIterator]();
    say({ event: (await events.next()).value.type });
    const created = await call.create("a title");
    const id = created.data.id;
    say({ created: id, status: created.response.status });
    const prompted = await call.prompt(id, { agent: "build", model: MODEL, parts: [{ type: "text", text: prompt }] });
    say({ prompted: prompted.response.status });
    for (;;) {
        const { value: event, done } = await events.next();
        if (done) throw new Error("the stream ended before the session was idle");
        const part = event.properties.part;
        say(part ? { event: event.type, part: part.type, text: part.text } : { event: event.type });
        if (event.type === "permission.asked") say({ allowed: (await call.allow(event.properties)).data });
        if (event.type === "session.idle") break;
    }
    const listed = await call.messages(id);
    say(listed.error ? { refused: listed.error, status: listed.response.status } : { messages: listed.data });
} finally {
    server.close();
}
