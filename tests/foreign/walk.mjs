// Reading a spill as the tool's description says, and nothing cleverer.

import { createHash } from "node:crypto";

const answerOf = (result) => JSON.parse(result.content[0].text);

// Walk from page 1 to the end: {bytes, sha256, pages, last, positions}. `first` are page 1's further arguments.
export async function walk(call, { tool, spill_id, pause_after, ...first }, onPage = async () => {}) {
  const digest = createHash("sha256");
  let bytes = 0, pages = 0, page, argumentsNow = { spill_id, ...first };
  for (;;) {
    const result = await call({ name: tool, arguments: argumentsNow });
    page = answerOf(result);
    if (result.isError) return { failed: page, pages };
    const data = Buffer.from(page.chunk, page.chunk_kind === "base64" ? "base64" : "utf8");
    digest.update(data);
    bytes += data.length;
    pages += 1;
    await onPage(pages, page);
    if (page.next_cursor === undefined) break;
    argumentsNow = { ...first, spill_id, cursor: page.next_cursor };
    delete argumentsNow.result; // a cursor stays inside its result
  }
  const { chunk, ...last } = page;
  return { bytes, pages, sha256: digest.digest("hex"), last };
}

// Call a tool; where its result says it is truncated, read all of it. {envelope, …walk} or {result}.
export async function callAndWalk(call, params, options) {
  const result = await call(params, options);
  let envelope;
  try { envelope = answerOf(result); } catch { return { result }; }
  if (envelope?.completeness !== "truncated") return { result };
  const { tool, arguments: given } = envelope.next;
  return { result, envelope, ...(await walk(call, { tool, ...given })) };
}
