// The two client libraries behind one function, with the differences that this suite meets.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(pathToFileURL(`${process.env.FOREIGN_NODE_MODULES}/`));
const load = (name) => import(pathToFileURL(require.resolve(name)));

const CAPABILITIES = { sampling: {}, elicitation: { form: {}, url: {} }, roots: { listChanged: true } };

// What the client answers when a server asks it for something.
const ANSWERS = {
  "sampling/createMessage": () => ({ role: "assistant", model: "none", content: { type: "text", text: "sampled" } }),
  "elicitation/create": () => ({ action: "decline" }),
  "roots/list": () => ({ roots: [{ uri: "file:///somewhere", name: "somewhere" }] }),
};

async function first() {
  const { Client } = await load("@modelcontextprotocol/sdk/client/index.js");
  const { StdioClientTransport } = await load("@modelcontextprotocol/sdk/client/stdio.js");
  const { StreamableHTTPClientTransport } = await load("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const types = await load("@modelcontextprotocol/sdk/types.js");
  const schemas = {
    "sampling/createMessage": types.CreateMessageRequestSchema,
    "elicitation/create": types.ElicitRequestSchema,
    "roots/list": types.ListRootsRequestSchema,
  };
  return {
    Client, StdioClientTransport, StreamableHTTPClientTransport,
    options: () => ({}),
    answering: (client, method, handler) => client.setRequestHandler(schemas[method], handler),
    call: (client, params, options) => client.callTool(params, undefined, options),
    era: () => "legacy",
  };
}

async function second() {
  const { Client, StreamableHTTPClientTransport } = await load("@modelcontextprotocol/client");
  const { StdioClientTransport } = await load("@modelcontextprotocol/client/stdio");
  const modes = { legacy: "legacy", auto: "auto", modern: { pin: "2026-07-28" } };
  return {
    Client, StdioClientTransport, StreamableHTTPClientTransport,
    options: (era) => ({ versionNegotiation: { mode: modes[era] } }),
    answering: (client, method, handler) => client.setRequestHandler(method, handler),
    call: (client, params, options) => client.callTool(params, options),
    era: (client) => client.getProtocolEra(),
  };
}

// A connected client: `server` is {url, headers} or {command, args, env}; `era` is legacy, auto or modern.
// `said` collects what the server sends unasked: notifications, and requests, which are answered.
export async function connect({ library, era, server, name = "foreign-test", capable = true }, said) {
  const its = await (library === "sdk" ? first() : second());
  const capabilities = capable ? CAPABILITIES : {};
  const client = new its.Client({ name, version: "1" }, { capabilities, ...its.options(era) });
  for (const [method, answer] of Object.entries(capable ? ANSWERS : {})) {
    its.answering(client, method, async (request) => {
      said.push({ method, params: request.params });
      return answer();
    });
  }
  client.fallbackNotificationHandler = async (one) => void said.push({ method: one.method, params: one.params });
  await client.connect(server.url
    ? new its.StreamableHTTPClientTransport(new URL(server.url), { requestInit: { headers: server.headers ?? {} } })
    : new its.StdioClientTransport({ ...server, stderr: "inherit" }));
  return { client, era: its.era(client), call: (params, options) => its.call(client, params, options) };
}
