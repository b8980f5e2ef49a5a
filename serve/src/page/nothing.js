// No document matches: what is in the way, and searches that find something.

import * as api from "./api.js";
import { $, count, make } from "./dom.js";

/** Words of a query that are looked up. */
const WORDS = 8;

/** Shows why a search finds nothing. `change(part)` makes another search of it. */
export async function showNothing(state, change, isCurrent) {
  const list = $("ways");
  const way = (text, part) => make("li", {}, make("button", { type: "button", click: () => change(part) }, text));
  const ways = [];
  if (state.filters.length) ways.push(way("Search without filters", { filters: [] }));
  if (state.mode !== "or") ways.push(way("Search for any of the words", { mode: "or" }));
  list.replaceChildren(...ways);
  $("missing").textContent = "";
  $("nothing").hidden = false;
  const words = [...new Set(state.query.split(/[\s"]+/).map((word) => word.replace(/^[+-]+/, "")).filter(Boolean))].slice(0, WORDS);
  if (words.length === 0) return;
  const searches = words.map((query) => ({ query, operators: false, k: 1, snippets: false, fields: [], count: true }));
  const answers = await api.searches(state.index, searches).catch(() => []);
  if (!isCurrent()) return;
  const found = answers.map((answer, at) => ({ word: words[at], number: answer.count ?? 0 }));
  const missing = found.filter(({ number }) => number === 0).map(({ word }) => `“${word}”`);
  $("missing").textContent = missing.length ? `No document has ${listed(missing)}.` : "";
  if (found.length > 1) {
    const known = found.filter(({ number }) => number > 0);
    list.append(...known.map(({ word, number }) => way(`${word} (${count(number)})`, { query: word })));
  }
}

/** Words with commas and "or" between them. */
function listed(words) {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}
