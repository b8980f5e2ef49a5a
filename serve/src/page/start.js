// The start, before there is a query: examples of queries, with words of the index.

import * as api from "./api.js";
import { $, count, make } from "./dom.js";

/** Words that most texts of some European languages have: a search for them finds an ordinary document. */
const USUAL = "the of and in to a is der die und von la le el de et que il di een het";
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

  /** Shows the start of an index with `documents` documents, and looks for words in it. */
  async show(name, documents, phrases) {
    if (this.name === name) return;
    this.name = name;
    this.fill(documents, phrases, FORM, false);
    const found = await words(name, documents ?? 0).catch(() => null);
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

/** Two words of an ordinary document, and two words that stand side by side in it. */
async function words(name, documents) {
  const { hits } = await api.search(name, { query: USUAL, operators: false, k: 1, snippets: false, fields: [] });
  if (hits.length === 0) return null;
  const [{ text }, terms] = await Promise.all([api.document(name, hits[0].id), api.vector(name, hits[0].id, {})]);
  // Words of many documents, but not of every second one, and the heaviest of them.
  const [least, most] = [Math.max(2, documents / 100), documents / 2];
  const common = terms.filter((term) => term.df >= least && term.df <= most && LETTERS.test(term.term));
  const [one, two] = common.map((term) => term.term);
  if (two === undefined) return null;
  const beside = new RegExp(`(?<![\\p{L}\\p{N}])(${common.map((term) => term.term).join("|")}) (\\p{L}{3,14})(?![\\p{L}\\p{N}])`, "iu");
  const phrase = beside.exec(text)?.[0].toLowerCase();
  return { one, two, phrase };
}
