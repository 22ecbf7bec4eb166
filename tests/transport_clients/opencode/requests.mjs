// Calls operations of the v2 client by name and prints the requests that it would have sent.
//
//   stdin: [[OPERATION, PARAMETERS], …]; stdout: [METHOD, TARGET, HEADERS, BODY] a line.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const modules = process.env.OPENCODE_SDK_MODULES + "/@opencode-ai/sdk/dist/v2/";
const { createOpencodeClient } = await import(pathToFileURL(modules + "client.js"));

const requests = [];
globalThis.fetch = async (input, options) => {
    const request = new Request(input, options);
    const url = new URL(request.url);
    const body = await request.text();
    requests.push([request.method, url.pathname + url.search, [...request.headers], body]);
    const isStream = request.headers.get("accept") === "text/event-stream" || url.pathname.endsWith("/event");
    return new Response(isStream ? "" : "{}", { headers: { "content-type": isStream ? "text/event-stream" : "application/json" } });
};

for (const [operation, parameters] of JSON.parse(readFileSync(0, "utf8"))) {
    const client = createOpencodeClient({ baseUrl: "http://127.0.0.1:1", directory: "/a b/ü" });
    const path = operation.split(".");
    const name = path.pop();
    const owner = path.reduce((object, key) => object[key], client);
    const result = await owner[name](parameters);
    if (result.stream) await result.stream.next();
    process.stdout.write(JSON.stringify(requests.pop() ?? null) + "\n");
}
