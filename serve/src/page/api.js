// Calls of /v1. A failed call throws a Problem; an aborted one throws an AbortError.

/** An error of the server (problem+json), or of the way to it. */
export class Problem extends Error {
  constructor({ status, title, detail, retryAfter }) {
    super([title, detail].filter(Boolean).join(": "));
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

let token = null;
try {
  token = sessionStorage.getItem("token");
} catch {
  // Storage is off: the token holds until the page is left.
}

/** Sends `value` as the bearer token from now on, in this tab. */
export function setToken(value) {
  token = value;
  try {
    sessionStorage.setItem("token", value);
  } catch {
    // As above.
  }
}

async function send(path, { body, signal, accept = "application/json" } = {}) {
  const headers = { accept };
  if (token) headers.authorization = `Bearer ${token}`;
  if (body) headers["content-type"] = "application/json";
  let reply;
  try {
    reply = await fetch(path, {
      method: body ? "POST" : "GET",
      body: body && JSON.stringify(body),
      headers,
      signal,
      credentials: "same-origin",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem({
      title: "The server does not answer",
      detail: "see that it runs, then search again",
    });
  }
  if (reply.ok) return reply;
  const problem = await reply.json().catch(() => ({}));
  throw new Problem({
    status: reply.status,
    title: problem.title ?? `The server answered ${reply.status} ${reply.statusText}`.trim(),
    detail: problem.detail,
    retryAfter: Number(reply.headers.get("retry-after")) || null,
  });
}

const json = async (path, options) => (await send(path, options)).json();
const at = (index, ...rest) => ["v1/indexes", ...[index, ...rest].map(encodeURIComponent)].join("/");
const asked = (parameters) => new URLSearchParams(parameters).toString();

/** The indexes: names, fields, and what they keep. */
export const indexes = async () => (await json("v1/indexes")).indexes;

/** N, total length, avdl, postings, terms. */
export const statistics = (name) => json(at(name, "statistics"));

/** The address of a search, for people. */
export const searchPath = (name) => at(name, "search");

/** The answer to a search, and the microseconds until it was here. */
export async function search(name, request, signal) {
  const started = performance.now();
  const answer = await json(at(name, "search"), { body: request, signal });
  return { ...answer, roundTrip: (performance.now() - started) * 1000 };
}

/** The answers to several searches: an answer or a problem for each. */
export async function searches(name, requests) {
  return (await json(at(name, "searches"), { body: { searches: requests } })).answers;
}

/** The first terms with a beginning, `[{term, df}]`. */
export async function terms(name, prefix, limit) {
  return (await json(`${at(name, "terms")}?${asked({ prefix, limit })}`)).terms;
}

/** The values of a field in the whole index, `[{value, count}]`. */
export async function values(name, field, limit) {
  const answer = await json(`${at(name, "fields", field, "values")}?${asked({ limit })}`);
  return answer.values;
}

/** The address of a document. */
export const documentPath = (name, id) => at(name, "documents", id);

/** A document with its text and fields. */
export const document = (name, id, signal) => json(documentPath(name, id), { signal });

/** The terms of a document, `[{term, tf, weight}]`, heaviest first. */
export async function vector(name, id, ranking, signal) {
  const path = `${at(name, "documents", id, "vector")}?${asked(ranking)}`;
  const answer = await json(path, { signal });
  return answer.terms.toSorted((a, b) => b.weight - a.weight);
}

/** The metrics of the server, in the text format of Prometheus, as `[{name, labels, value}]`. */
export async function metrics() {
  const text = await (await send("metrics", { accept: "text/plain" })).text();
  const samples = [];
  for (const line of text.split("\n")) {
    const found = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)/.exec(line);
    if (found) samples.push({ name: found[1], labels: found[2] ?? "", value: Number(found[3]) });
  }
  return samples;
}
