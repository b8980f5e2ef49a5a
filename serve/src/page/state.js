// The state of the page, which is its address: a query, how to rank, and the open document.

/** A formula of BM25; `delta` is the standard value of that parameter, if it has one. */
const formula = (label, idf, tf, delta) => ({
  label, idf, tf, delta, uses: delta === undefined ? ["k1", "b"] : ["k1", "b", "delta"],
});

/** The formulas, with their parts as text and the parameters that they use. */
export const FORMULAS = {
  lucene: formula("BM25 (Lucene)", "ln(1 + (N − df + ½) / (df + ½))", "tf / (tf + k1 L)"),
  robertson: formula("BM25 (Robertson)", "ln((N − df + ½) / (df + ½))", "(k1 + 1) tf / (tf + k1 L)"),
  smoothed: formula("BM25 (smoothed idf)", "ln((N + ½) / (df + ½))", "(k1 + 1) tf / (tf + k1 L)"),
  atire: formula("BM25 (ATIRE)", "ln(N / df)", "(k1 + 1) tf / (tf + k1 L)"),
  bm25l: formula("BM25L", "ln((N + 1) / (df + ½))", "(k1 + 1)(tf / L + δ) / (k1 + tf / L + δ)", 0.5),
  bm25plus: formula("BM25+", "ln((N + 1) / df)", "(k1 + 1) tf / (tf + k1 L) + δ", 1),
  tfidf: { label: "tf-idf", idf: "ln(N / df)", tf: "tf", uses: [] },
};

export const PARAMETERS = ["k1", "b", "delta"];

const MODES = ["or", "and", "phrase"];
/** Hits of a page of results. */
export const PAGE = 10;

/** The value that holds if none is chosen. */
export function standard(formula, parameter) {
  return { k1: 1.2, b: 0.75, delta: FORMULAS[formula].delta ?? 1 }[parameter];
}

/** The state that an address stands for. What it does not know is left out. */
export function read(address) {
  const asked = new URLSearchParams(address);
  const number = (name) => {
    const text = asked.get(name);
    const value = Number(text);
    return text !== null && text !== "" && Number.isFinite(value) ? value : null;
  };
  return {
    index: asked.get("index"),
    query: asked.get("q") ?? "",
    mode: MODES.find((mode) => mode === asked.get("mode")) ?? "or",
    filters: asked.getAll("filter").filter((filter) => filter.includes(":")),
    formula: Object.hasOwn(FORMULAS, asked.get("formula")) ? asked.get("formula") : null,
    k1: number("k1"),
    b: number("b"),
    delta: number("delta"),
    document: asked.get("doc"),
  };
}

/** The address of a state. */
export function write(state) {
  const asked = new URLSearchParams();
  const put = (name, value) => value !== null && value !== "" && asked.append(name, value);
  put("index", state.index);
  put("q", state.query);
  if (state.mode !== "or") put("mode", state.mode);
  for (const filter of state.filters) put("filter", filter);
  for (const name of ["formula", ...PARAMETERS]) put(name, state[name]);
  put("doc", state.document);
  const text = asked.toString();
  return text ? `?${text}` : "./";
}

/** Equal for states with the same matching documents. */
export const matches = (state) =>
  JSON.stringify([state.index, state.query.trim(), state.mode, state.filters]);

/** Equal for states with the same results. */
export const results = (state) => matches(state) + JSON.stringify(ranking(state));

/** True if there is nothing to search for. */
export const isEmpty = (state) => state.query.trim() === "" && state.filters.length === 0;

/** The chosen formula and the parameters that it uses; what is not chosen is left out. */
export function ranking(state) {
  const chosen = state.formula ? { formula: state.formula } : {};
  for (const name of FORMULAS[state.formula ?? "lucene"].uses) {
    if (state[name] !== null) chosen[name] = state[name];
  }
  return chosen;
}

/** The documents to look for. */
function sought(state) {
  const request = { query: state.query };
  if (state.mode !== "or") request.mode = state.mode;
  if (state.filters.length) request.filters = state.filters;
  return request;
}

/** The request for a page of hits: the first of `k` hits, or the next after a cursor. */
export function hitsRequest(state, { k = PAGE, after, fields } = {}) {
  const request = { ...sought(state), ...ranking(state), k, explain: true };
  if (after) request.after = after;
  if (fields) request.fields = fields;
  return request;
}

/** The request for the number of matching documents and the values of fields among them. */
export function countRequest(state, facets) {
  const request = { ...sought(state), k: 1, snippets: false, fields: [], count: true };
  if (facets.length) request.facets = facets;
  return request;
}
