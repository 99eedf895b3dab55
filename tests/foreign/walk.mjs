// Reading a spill as the tool's description says, and nothing cleverer.

import { createHash } from "node:crypto";

const answerOf = (result) => JSON.parse(result.content[0].text);

// Walk from page 1 to the end: {bytes, sha256, pages, repeated, last}, or {failed, pages} at the first error result.
// `tell` is a URL that hears of each page before the next one is asked for; `patience` is how often a call that throws
// may be repeated, which is how often a replica may die with the answer half sent. The rest are page 1's arguments.
export async function walk(call, { tool, spill_id, tell, patience = 0, ...first }) {
  const digest = createHash("sha256");
  const { result: _, ...further } = first; // a cursor stays inside its result
  let bytes = 0, pages = 0, repeated = 0, cursor;
  for (;;) {
    let result;
    try {
      result = await call({ name: tool, arguments: cursor ? { ...further, spill_id, cursor } : { ...first, spill_id } });
    } catch (error) {
      if (repeated++ < patience) continue;
      throw error;
    }
    const page = answerOf(result);
    if (result.isError) return { failed: page, pages };
    const data = Buffer.from(page.chunk, page.chunk_kind === "base64" ? "base64" : "utf8");
    digest.update(data);
    bytes += data.length;
    pages += 1;
    if (tell) await fetch(tell);
    cursor = page.next_cursor;
    if (cursor === undefined) {
      const { chunk, ...last } = page;
      return { bytes, pages, repeated, sha256: digest.digest("hex"), last };
    }
  }
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
