// Reads {library, era, server, steps} from standard input, does the steps one after the other, and prints
// {era, protocol, server, capabilities, instructions, answers, said}. A step is {do, with, raises?}; its answer is
// the library's own, or {error} where it threw.

import { connect } from "./libraries.mjs";
import { callAndWalk, walk } from "./walk.mjs";

const read = async () => JSON.parse(Buffer.concat(await Array.fromAsync(process.stdin)).toString());
const errorOf = (error) => ({ error: { name: error.name, code: error.code, message: error.message, data: error.data } });

const task = await read();
const said = [];
const { client, era, call } = await connect(task, said);

const STEPS = {
  callTool: (params) => call(params, {
    timeout: 60_000,
    onprogress: (progress) => said.push({ method: "progress", params: progress }),
  }),
  callAndWalk: (params) => callAndWalk(call, params),
  // A client whose answer breaks off waits until its own time is up, which is a minute by default.
  walk: (params) => walk((one) => call(one, { timeout: 10_000 }), params),
  abandon: async (params) => { // a call that is cancelled when its first progress arrives
    const stop = new AbortController();
    return call(params, { signal: stop.signal, onprogress: () => stop.abort("no longer wanted") });
  },
  until: async ({ method }) => { // something that the server sends unasked
    while (!said.some((one) => one.method === method)) await new Promise(setImmediate);
    return {};
  },
};

const answers = [];
for (const step of task.steps) {
  const act = STEPS[step.do] ?? ((params) => client[step.do](params));
  answers.push(await act(step.with).catch(errorOf));
}
const told = {
  era, answers, said,
  server: client.getServerVersion(),
  capabilities: client.getServerCapabilities(),
  instructions: client.getInstructions(),
};
await client.close();
process.stdout.write(JSON.stringify(told));
