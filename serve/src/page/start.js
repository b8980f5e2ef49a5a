// The start, before there is a query: examples of queries, with words of the index.

import * as api from "./api.js";
import { $, count, make } from "./dom.js";

/** Beginnings of many words, and terms that are read of each. */
const BEGINNINGS = ["s", "c", "p", "m"];
const TERMS = 200;
/** A word of an example has as many letters, at least. */
const LETTERS = /^\p{L}{4,14}$/u;

/** Examples if the index gives no words: they show the form only. */
const FORM = { one: "supersonic", two: "wing", phrase: "boundary layer" };

/** Shows the examples. `choose(query)` is called for one that is clicked. */
export class Start {
  constructor(choose) {
    this.choose = choose;
    this.name = null;
  }

  /** Shows the start of an index, and looks for words in it. `index` is null if it is unknown. */
  async show(name, index) {
    if (this.name === name) return;
    this.name = name;
    const [documents, phrases] = [index?.documents ?? null, index?.keeps_positions !== false];
    this.fill(documents, phrases, FORM, false);
    const found = index?.documents ? await words(name, index).catch(() => null) : null;
    if (found && this.name === name) this.fill(documents, phrases, found, true);
  }

  fill(documents, phrases, { one, two, phrase }, real) {
    $("start-title").textContent = documents === null ? "Write a query" : `Search ${count(documents)} documents`;
    const examples = [
      [`${one} ${two}`, "any of the words"],
      [`+${one} ${two}`, `must have ${one}; ${two} adds to the score`],
      [`${one} -${two}`, `${one}, without ${two}`],
      phrases && phrase && [`"${phrase}"`, "the words side by side, in this order"],
    ];
    $("examples").replaceChildren(
      ...examples.filter(Boolean).map(([query, meaning]) => {
        const text = make("code", {}, query);
        const shown = real
          ? make("button", { type: "button", class: "example", click: () => this.choose(query) }, text)
          : make("span", { class: "example" }, text);
        return make("li", {}, shown, make("span", { class: "quiet" }, meaning));
      }),
    );
  }
}

/** Two words of many documents, and two words that stand side by side in one. */
async function words(name, { documents, keeps_text: keepsText, keeps_positions: keepsPositions }) {
  const lists = await Promise.all(BEGINNINGS.map((beginning) => api.terms(name, beginning, TERMS)));
  // Words of many documents, but not of every second one.
  const [least, most] = [Math.max(2, documents / 100), documents / 2];
  const isUsual = ({ term, df }) => df >= least && df <= most && LETTERS.test(term);
  const usual = lists.map((terms) => terms.filter(isUsual).sort((a, b) => b.df - a.df)[0]).filter(Boolean);
  const [one, two] = usual.sort((a, b) => b.df - a.df).map(({ term }) => term);
  if (two === undefined) return null;
  if (!keepsText || !keepsPositions) return { one, two };
  const { hits } = await api.search(name, { query: one, operators: false, k: 1, snippets: false, text: true, fields: [] });
  const beside = new RegExp(`(?<![\\p{L}\\p{N}])${one} \\p{L}{3,14}(?![\\p{L}\\p{N}])`, "iu");
  return { one, two, phrase: beside.exec(hits[0]?.text ?? "")?.[0].toLowerCase() };
}
