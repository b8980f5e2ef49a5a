// The page: its state is its address, every change of which leads to a search.

import * as api from "./api.js";
import { Latency, Load } from "./charts.js";
import { DocumentDialog } from "./document.js";
import { $, count, duration, figure, make, pairs, size } from "./dom.js";
import { Filters } from "./filters.js";
import { listen } from "./keys.js";
import { showNothing } from "./nothing.js";
import { RankingControls } from "./ranking.js";
import { Results, SOURCE } from "./results.js";
import { Start } from "./start.js";
import * as states from "./state.js";

/** The pause after a key before a search, and before a screen reader says the count. */
const TYPING_MS = 80;
const ANNOUNCE_MS = 700;
/** The time that the button says "Copied". */
const COPIED_MS = 1500;
/** A pause after which the next change is a new entry of the history. */
const SETTLED_MS = 2500;
/** Values of a field in the filters, and hits that sliders rank again. */
const VALUES = 50;
/** Fields in the filters: the most that a search counts. */
const FACETS = 16;
const MOST = 100;

let state = states.read(location.search);
/** The fields of the index, and its values when nothing is sought. */
let fields = [];
let allValues = null;
/** The fields of hits; all if it is not set. */
let hitFields;
/** Keys of the hits and of the count on the page. */
let shown = { matches: null, results: null, counted: null };
let next = null;
/** Ranks under the standard ranking, of the documents that match now. */
let standard = { matches: null, ranks: new Map() };

const latency = new Latency();
new Load();

const results = new Results($("hits"), $("terms"), {
  open: (id) => change({ document: id }),
  link: (id) => states.write({ ...state, document: id }),
});
const filters = new Filters((chosen) => change({ filters: chosen }));
const beginning = new Start((query) => change({ query }));
const ranking = new RankingControls((chosen, settled) => change(chosen, { entry: settled ? "new" : "sliding" }));
const dialog = new DocumentDialog({
  step: (by) => {
    const hit = results.hits[place(state.document) + by];
    if (hit) change({ document: hit.id }, { entry: "replace" });
  },
  closed: () => {
    const at = place(state.document);
    if (state.document !== null) {
      state = { ...state, document: null };
      if (history.state?.opened) history.back();
      else change({}, { entry: "replace" });
    }
    if (at >= 0) results.focus(at);
  },
});

const place = (id) => results.hits.findIndex((hit) => hit.id === id);

// The state and its address.

let entry = null;
let settling;

/** Changes the state, its address and the page. Changes of one kind in a row share an entry of the history. */
function change(part, { entry: kind = "new", wait = 0 } = {}) {
  const opened = kind === "replace" ? history.state?.opened : (part.document ?? null) !== null;
  state = { ...state, ...part };
  const address = states.write(state);
  const replace = kind === "replace" || (kind !== "new" && kind === entry);
  if (address !== (location.search || "./")) {
    history[replace ? "replaceState" : "pushState"]({ opened }, "", address);
  }
  if (kind !== "replace") entry = kind;
  clearTimeout(settling);
  settling = setTimeout(settle, SETTLED_MS);
  follow(wait);
}

/** The next change is a new entry of the history. */
function settle() {
  entry = null;
}

/** Makes the page follow the state. */
function follow(wait) {
  const { query } = state;
  document.title = query.trim() ? `${query.trim()} – Tokapi` : "Tokapi";
  if ($("query").value !== query) $("query").value = query;
  document.querySelector(`#mode [value=${state.mode}]`).checked = true;
  ranking.show(state);
  filters.show(null, state.filters);
  showRequest();
  if (state.index !== index?.index) changeIndex();
  const isStale = states.results(state) !== shown.results;
  if (isStale) searchAfter(wait);
  // A document opens after the results around it.
  if (!isStale || state.document === null) followDocument();
}

function followDocument() {
  if (state.document === null) return dialog.close();
  if (dialog.id === state.document || state.index === null) return;
  const at = place(state.document);
  dialog.open(state.index, state.document, {
    ranking: states.ranking(state),
    words: results.words(),
    hit: results.hits[at],
    neighbours: { previous: at > 0, next: at >= 0 && at + 1 < results.hits.length },
  });
}

addEventListener("popstate", () => {
  state = states.read(location.search);
  state.index ??= indexes[0]?.index ?? null;
  settle();
  follow(0);
});

// Indexes.

/** The indexes of the server, and the one whose fields and statistics are shown. */
let indexes = [];
let index = null;

async function start() {
  try {
    indexes = await api.indexes();
    $("index").replaceChildren(...indexes.map((found) => new Option(found.index)));
    $("index").disabled = indexes.length < 2;
    if (indexes.length === 0) {
      throw new api.Problem({ title: "no index", detail: "create one by PUT /v1/indexes/NAME" });
    }
    state.index ??= indexes[0].index;
    follow(0);
  } catch (error) {
    fail(error);
  }
}

/** Shows what the index of the state has. An unknown one is left to the search, which says so. */
async function changeIndex() {
  const name = state.index;
  const found = indexes.find((found) => found.index === name) ?? { index: name, fields: [] };
  index = found;
  $("index").value = name;
  // A title is the heading of a result, not a filter.
  fields = found.fields.filter((field) => ![SOURCE, "title"].includes(field)).slice(0, FACETS);
  hitFields = found.fields.includes(SOURCE) ? found.fields.filter((field) => field !== SOURCE) : undefined;
  allValues = null;
  shown = { matches: null, results: null, counted: null };
  filters.show({}, state.filters);
  $("no-filters").hidden = fields.length > 0;
  ranking.fix(found.impacts);
  const phrase = document.querySelector("#mode [value=phrase]");
  phrase.disabled = found.keeps_positions === false;
  phrase.parentElement.title = phrase.disabled
    ? "This index keeps no positions, and phrases need them"
    : "Documents with the words in this order, side by side";
  const statistics = await api.statistics(name).catch(() => null);
  if (index !== found) return;
  $("statistics").replaceChildren(...(statistics ? pairs(facts(statistics, found)) : []));
}

/** Shows the values of all fields, when nothing is sought. One after the other: a search may come between them. */
async function showAllValues() {
  const found = index;
  const shows = () => index === found && states.isEmpty(state);
  if (found && allValues === null) {
    const values = {};
    for (const field of fields) {
      values[field] = await api.values(found.index, field, VALUES).catch(() => []);
      if (!shows()) return;
      filters.show(values, state.filters);
    }
    allValues = values;
  }
  if (shows()) filters.show(allValues ?? {}, state.filters);
}

function facts(statistics, found) {
  return [
    ["documents", count(statistics.documents)],
    ["average length", figure(statistics.average_length ?? 0)],
    ["terms", count(statistics.terms)],
    ["postings", count(statistics.postings)],
    ["parts", count(statistics.parts)],
    ["size", size(found.bytes)],
    ["epoch", count(statistics.epoch)],
    ["analyzer", found.analyzer],
  ];
}

// Search.

let timer;
let running = null;
let counting = null;
let counted = "";

/** Searches after a pause. An answer under way to another query is dropped at once. */
function searchAfter(wait) {
  clearTimeout(timer);
  if (running && running.matches !== states.matches(state)) {
    running.calls.abort();
    running = null;
  }
  timer = setTimeout(search, wait);
}

async function search() {
  clearTimeout(timer);
  if (states.isEmpty(state)) return showStart();
  // Sliders move faster than answers come: the answer under way is shown, then the newest is asked for.
  if (running) {
    running.again = true;
    return;
  }
  const asked = { ...state };
  const keys = { matches: states.matches(asked), results: states.results(asked) };
  const run = { matches: keys.matches, calls: new AbortController(), again: false };
  running = run;
  const reranked = keys.matches === shown.matches;
  const k = reranked ? Math.min(MOST, Math.max(states.PAGE, results.hits.length)) : states.PAGE;
  try {
    const answer = await api.search(asked.index, states.hitsRequest(asked, { k, fields: hitFields }), run.calls.signal);
    if (running !== run) return;
    shown = { ...shown, ...keys };
    showHits(answer, asked, reranked);
  } catch (error) {
    if (error.name !== "AbortError" && running === run) {
      shown = { ...keys, counted: null };
      fail(error);
    }
  } finally {
    if (running === run) running = null;
    if (run.again) search();
  }
}

function showHits(answer, asked, reranked) {
  $("start").hidden = true;
  $("error").textContent = "";
  $("token").hidden = true;
  latency.add(answer.took_us, answer.roundTrip);
  results.show(answer.hits, { reranked, before: ranksBefore(asked, answer.hits) });
  showNext(answer);
  $("explain").hidden = answer.hits.length === 0;
  if (!reranked) $("explain").ariaPressed = "false";
  if ($("explain").ariaPressed === "true") results.explainAll(true);
  const isCounted = shown.counted === shown.matches;
  // The time comes with the hits, the number of documents when they are counted.
  if (!isCounted) counted = "";
  showCount(answer);
  if (!isCounted) countMatches(asked, answer);
  $("nothing").hidden = true;
  if (answer.hits.length === 0) showNothing(asked, change, () => shown.results === states.results(asked));
  followDocument();
}

/** A number of documents. */
function told(number) {
  if (number === 0) return "No document matches";
  return number === 1 ? "1 document" : `${count(number)} documents`;
}

/** The ranks under the standard ranking, if another is chosen and they are known. */
function ranksBefore(asked, hits, from = 0) {
  const matches = states.matches(asked);
  if (Object.keys(states.ranking(asked)).length === 0) {
    if (from === 0) standard = { matches, ranks: new Map() };
    hits.forEach((hit, at) => standard.ranks.set(hit.id, from + at + 1));
    return null;
  }
  return standard.matches === matches ? standard.ranks : null;
}

function showNext(answer) {
  next = answer.next ?? null;
  $("more").hidden = next === null;
}

/** The number of matching documents and the values of fields among them, after the hits. */
async function countMatches(asked, answer) {
  counting?.abort();
  const calls = new AbortController();
  counting = calls;
  const matches = states.matches(asked);
  let number = null;
  try {
    const all = await api.search(asked.index, states.countRequest(asked, fields), calls.signal);
    if (counting !== calls || shown.matches !== matches) return;
    number = all.count;
    filters.show(all.facets ?? {}, state.filters);
  } catch (error) {
    if (error.name === "AbortError" || counting !== calls) return;
  }
  shown.counted = matches;
  const text = number === null ? `${count(answer.hits.length)} or more documents` : told(number);
  const part = answer.complete ? "" : ", not the whole index was searched";
  // A full page has a cursor even if nothing follows.
  if (number !== null && results.hits.length >= number) showNext({});
  counted = `${text}${part}`;
  showCount(answer);
  announce(counted);
}

function showCount(answer) {
  const took = make("span", { class: "took", title: "The time of the server for this search" }, duration(answer.took_us));
  $("count").replaceChildren(...(counted ? [make("b", {}, counted), " · "] : []), took);
}

let announcing;

function announce(text) {
  clearTimeout(announcing);
  announcing = setTimeout(() => ($("announce").textContent = text), ANNOUNCE_MS);
}

function showStart() {
  running?.calls.abort();
  counting?.abort();
  running = null;
  shown = { matches: states.matches(state), results: states.results(state), counted: null };
  results.clear();
  for (const id of ["count", "error"]) $(id).textContent = "";
  announce("");
  for (const id of ["more", "explain", "nothing"]) $(id).hidden = true;
  $("start").hidden = false;
  beginning.show(state.index, index);
  showAllValues();
  followDocument();
}

/** Shows an error in one line. A busy server is asked again when it says so. */
function fail(error) {
  results.clear();
  for (const id of ["start", "more", "explain", "nothing"]) $(id).hidden = true;
  $("count").textContent = "";
  announce("");
  $("error").textContent = error.message;
  $("token").hidden = error.status !== 401;
  followDocument();
  if (error.retryAfter) timer = setTimeout(search, error.retryAfter * 1000);
}

async function more() {
  const [asked, keys, button] = [{ ...state }, shown.results, $("more")];
  const after = next;
  if (after === null || button.disabled) return;
  button.disabled = true;
  try {
    const answer = await api.search(asked.index, states.hitsRequest(asked, { after, fields: hitFields }));
    if (shown.results !== keys || next !== after) return;
    latency.add(answer.took_us, answer.roundTrip);
    const from = results.hits.length;
    const first = results.add(answer.hits, ranksBefore(asked, answer.hits, from));
    if ($("explain").ariaPressed === "true") results.explainAll(true);
    showNext(answer);
    announce(`${results.hits.length} results shown`);
    results.focus(first);
  } catch (error) {
    $("error").textContent = error.message;
  } finally {
    button.disabled = false;
  }
}

function showRequest() {
  const pre = document.querySelector("#request pre");
  if (state.index === null) return;
  const body = JSON.stringify(states.hitsRequest(state), null, 2);
  pre.textContent = `POST /${api.searchPath(state.index)}\n${body}`;
}

/** The search as a command for a shell. */
async function copyRequest() {
  const body = JSON.stringify(states.hitsRequest(state)).replaceAll("'", "'\\''");
  const url = new URL(api.searchPath(state.index), document.baseURI);
  await navigator.clipboard.writeText(`curl '${url}' --json '${body}'`);
  $("copy").textContent = "Copied";
  setTimeout(() => ($("copy").textContent = "Copy as curl"), COPIED_MS);
}

// Controls.

$("query").addEventListener("input", (event) => change({ query: event.target.value }, { entry: "typing", wait: TYPING_MS }));
$("query").addEventListener("change", settle);
$("search").addEventListener("submit", (event) => {
  event.preventDefault();
  settle();
  if (states.results(state) !== shown.results) searchAfter(0);
});
$("mode").addEventListener("change", (event) => change({ mode: event.target.value }));
$("index").addEventListener("change", (event) => change({ index: event.target.value, filters: [], document: null }));
$("more").addEventListener("click", more);
// Only pages from this machine, or by TLS, may write to the clipboard.
$("copy").hidden = !navigator.clipboard;
$("copy").addEventListener("click", copyRequest);
$("explain").addEventListener("click", () => {
  const pressed = $("explain").ariaPressed !== "true";
  $("explain").ariaPressed = String(pressed);
  results.explainAll(pressed);
});
$("token").addEventListener("submit", (event) => {
  event.preventDefault();
  api.setToken($("token-value").value.trim());
  location.reload();
});
for (const button of document.querySelectorAll(".panels button")) {
  button.addEventListener("click", () => {
    const open = $(button.getAttribute("aria-controls")).classList.toggle("open");
    button.ariaExpanded = String(open);
  });
}
listen({ results, step: dialog.step });
start();
