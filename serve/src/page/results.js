// The list of hits: snippets, scores with the share of every term, explanations.

import { count, decimals, make, marked, markedWords } from "./dom.js";

/** Colours of terms; a query with more terms repeats them. */
const COLOURS = 8;
const MOVE_MS = 240;

const still = matchMedia("(prefers-reduced-motion: reduce)");
const share = (term) => term.weight * term.times;

export class Results {
  /** `open(id)` is called for the document that is to be opened; `link(id)` gives its address. */
  constructor(list, legend, { open, link }) {
    this.list = list;
    this.legend = legend;
    this.open = open;
    this.link = link;
    this.clear();
  }

  clear() {
    this.hits = [];
    this.rows = new Map();
    this.colours = new Map();
    this.explained = new Set();
    this.list.replaceChildren();
    this.legend.replaceChildren();
  }

  /**
   * Shows hits. `reranked`: the same documents matched before, so that rows move to their new
   * places. `before`: the rank by id under the standard ranking, or null.
   */
  show(hits, { reranked, before }) {
    const tops = new Map();
    if (reranked && !still.matches) {
      for (const [id, row] of this.rows) tops.set(id, row.item.offsetTop);
    }
    if (!reranked) {
      this.colours.clear();
      this.explained.clear();
    }
    const rows = new Map();
    for (const hit of hits) rows.set(hit.id, this.rows.get(hit.id) ?? this.row(hit.id));
    this.hits = hits;
    this.rows = rows;
    this.place([...rows.values()].map((row) => row.item));
    this.fill(before);
    if (tops.size) this.move(tops);
  }

  /** Adds the hits of the next page. Returns the place of the first. */
  add(hits, before) {
    const first = this.hits.length;
    const fresh = hits.filter((hit) => !this.rows.has(hit.id));
    for (const hit of fresh) this.rows.set(hit.id, this.row(hit.id));
    this.hits = [...this.hits, ...fresh];
    this.list.append(...fresh.map((hit) => this.rows.get(hit.id).item));
    this.fill(before);
    return first;
  }

  /** Brings items into the list in order, and leaves those in place that are there already. */
  place(items) {
    const wanted = new Set(items);
    for (const item of [...this.list.children]) if (!wanted.has(item)) item.remove();
    items.forEach((item, at) => {
      const there = this.list.children[at];
      if (there !== item) {
        const focused = item.contains(document.activeElement) ? document.activeElement : null;
        this.list.insertBefore(item, there ?? null);
        focused?.focus({ preventScroll: true });
      }
    });
  }

  move(tops) {
    for (const [id, { item }] of this.rows) {
      const way = tops.has(id) ? tops.get(id) - item.offsetTop : null;
      const frames =
        way === null
          ? { opacity: [0, 1] }
          : way !== 0 && { transform: [`translateY(${way}px)`, "none"] };
      if (frames) item.animate(frames, { duration: MOVE_MS, easing: "ease-out" });
    }
  }

  row(id) {
    const row = {
      rank: make("span", { class: "rank" }),
      moved: make("span", { class: "moved" }),
      link: make("a", { class: "title", href: this.link(id) }),
      meta: make("p", { class: "meta" }),
      snippet: make("p", { class: "snippet" }),
      number: make("span", { class: "number" }),
      bar: make("span", { class: "bar", "aria-hidden": "true" }),
      why: make("div", { class: "why", hidden: true }),
    };
    row.link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      this.open(id);
    });
    row.score = make(
      "button",
      { type: "button", class: "score", "aria-expanded": "false", click: () => this.explain(id) },
      row.number,
      row.bar,
    );
    row.item = make(
      "li",
      { class: "hit" },
      make("div", { class: "place" }, row.rank, row.moved),
      make("div", { class: "found" }, make("h3", {}, row.link), row.snippet, row.meta),
      row.score,
      row.why,
    );
    return row;
  }

  fill(before) {
    for (const term of this.hits.flatMap((hit) => hit.terms ?? [])) {
      if (!this.colours.has(term.term)) this.colours.set(term.term, this.colours.size % COLOURS);
    }
    const highest = Math.max(...this.hits.map((hit) => hit.score), 0);
    this.hits.forEach((hit, at) => this.fillRow(hit, at + 1, highest, before));
    this.fillLegend();
  }

  fillRow(hit, rank, highest, before) {
    const row = this.rows.get(hit.id);
    row.rank.textContent = rank;
    this.fillMoved(row.moved, rank, hit.id, before);
    row.link.textContent = title(hit);
    row.link.href = this.link(hit.id);
    row.snippet.replaceChildren(...marked(hit.snippet ?? "", hit.highlights));
    row.snippet.hidden = !hit.snippet;
    row.meta.replaceChildren(...meta(hit));
    row.number.textContent = decimals(hit.score);
    row.score.setAttribute("aria-label", `Score ${decimals(hit.score)}: explain`);
    const shown = (hit.terms ?? []).filter((term) => share(term) > 0);
    row.bar.replaceChildren(
      ...shown.map((term) => {
        const part = make("i", { class: this.colour(term), title: `${term.term} ${decimals(share(term))}` });
        part.style.width = `${highest > 0 ? (100 * share(term)) / highest : 0}%`;
        return part;
      }),
    );
    this.fillWhy(hit);
  }

  /** The change of the rank against the standard ranking. */
  fillMoved(element, rank, id, before) {
    const was = before?.get(id);
    const way = was === undefined ? 0 : was - rank;
    element.className = `moved ${way > 0 ? "up" : way < 0 ? "down" : ""}`;
    element.textContent = way > 0 ? `▲${way}` : way < 0 ? `▼${-way}` : before && was === undefined ? "new" : "";
    const said = way === 0 ? "" : `${Math.abs(way)} ${way > 0 ? "up" : "down"} against the standard ranking`;
    element.title = said;
  }

  colour(term) {
    return `t${this.colours.get(term.term)}`;
  }

  /** The terms of the query, with their df and idf. */
  fillLegend() {
    const terms = new Map(this.hits.flatMap((hit) => hit.terms ?? []).map((term) => [term.term, term]));
    this.legend.replaceChildren(
      ...[...this.colours.keys()]
        .filter((term) => terms.has(term))
        .map((name) => {
          const term = terms.get(name);
          const idf = term.idf === undefined ? null : make("span", {}, ` · idf ${decimals(term.idf)}`);
          return make(
            "li",
            {},
            make("i", { class: this.colour(term) }),
            make("b", {}, name),
            make("span", {}, ` df ${count(term.df)}`, idf),
          );
        }),
    );
  }

  /** Shows or hides the explanation of a hit. */
  explain(id, shown = !this.explained.has(id)) {
    if (shown) this.explained.add(id);
    else this.explained.delete(id);
    const hit = this.hits.find((hit) => hit.id === id);
    if (hit) this.fillWhy(hit);
  }

  explainAll(shown) {
    for (const hit of this.hits) this.explain(hit.id, shown);
  }

  fillWhy(hit) {
    const { why, score } = this.rows.get(hit.id);
    const shown = this.explained.has(hit.id);
    score.setAttribute("aria-expanded", shown);
    why.hidden = !shown;
    why.replaceChildren(...(shown ? [explanation(hit, (term) => this.colour(term))] : []));
  }

  /** Words that are marked in any snippet. */
  words() {
    return new Set(this.hits.flatMap((hit) => markedWords(hit.snippet, hit.highlights)));
  }

  /** The hit that has the focus, or null. */
  focused() {
    const item = document.activeElement?.closest?.(".hit");
    const at = item ? [...this.list.children].indexOf(item) : -1;
    return at < 0 ? null : { at, hit: this.hits[at] };
  }

  /** Moves the focus to a hit. False if there is none at this place. */
  focus(at) {
    const hit = this.hits[at];
    if (!hit) return false;
    const { link, item } = this.rows.get(hit.id);
    link.focus({ preventScroll: true });
    item.scrollIntoView({ block: "nearest" });
    return true;
  }
}

/** The heading of a hit or a document: its title if it has one, else its id. */
export function title({ id, fields }) {
  const found = fields?.title;
  return typeof found === "string" && found.trim() ? found : id;
}

/** The field with the whole document as a client of Elasticsearch sent it. */
export const SOURCE = "_source";

/** Fields as pairs of a name and a text. */
export function fieldTexts({ fields, id }) {
  const named = Object.entries(fields ?? {}).filter(([name]) => name !== SOURCE);
  const texts = named.map(([name, value]) => [name, [value].flat().join(", ")]);
  return texts.filter(([name, text]) => text !== "" && !(name === "title" && text === title({ id, fields })));
}

function meta(hit) {
  const parts = title(hit) === hit.id ? [] : [["id", hit.id]];
  if (hit.length !== undefined) parts.push(["length", count(hit.length)]);
  parts.push(...fieldTexts(hit));
  return parts.map(([name, text]) => make("span", {}, make("b", {}, name), ` ${text}`));
}

/** A table of the terms of a score. In an index of impacts, `impact` and `scale` stand for tf and idf. */
function explanation(hit, colour) {
  const terms = hit.terms ?? [];
  if (terms.length === 0) {
    return make("p", { class: "quiet" }, "No term of the query adds to this score.");
  }
  const impacts = terms[0].impact !== undefined;
  const largest = Math.max(...terms.map((term) => Math.abs(share(term))));
  const head = ["term", impacts ? "impact" : "tf", "df", impacts ? "scale" : "idf", "weight", "times", "share"];
  const rows = terms.toSorted((a, b) => share(b) - share(a)).map((term) => {
    const bar = make("i", { class: share(term) < 0 ? "negative" : colour(term) });
    bar.style.width = `${(100 * Math.abs(share(term))) / largest}%`;
    const cells = [
      count(term.tf ?? term.impact),
      count(term.df),
      decimals(term.idf ?? term.scale),
      decimals(term.weight),
      String(term.times),
    ];
    return make(
      "tr",
      {},
      make("th", { scope: "row" }, term.term),
      ...cells.map((cell) => make("td", {}, cell)),
      make("td", { class: "share" }, make("span", {}, bar), make("b", {}, decimals(share(term)))),
    );
  });
  return make(
    "table",
    {},
    make("caption", {}, `Score ${decimals(hit.score)} = sum of weight × times. Length ${count(hit.length ?? 0)}.`),
    make("thead", {}, make("tr", {}, ...head.map((name) => make("th", { scope: "col" }, name)))),
    make("tbody", {}, ...rows),
  );
}
