// The dialog of one document: text, fields, heaviest terms.

import * as api from "./api.js";
import { $, count, decimals, make, markedBy, pairs } from "./dom.js";
import { fieldTexts, title } from "./results.js";

/** Terms of the vector that are shown. */
const HEAVIEST = 25;

export class DocumentDialog {
  /** `step(by)` opens a neighbour in the results; `closed()` is called after the dialog has closed. */
  constructor({ step, closed }) {
    this.dialog = $("document");
    this.step = step;
    $("close").addEventListener("click", () => this.dialog.close());
    $("previous").addEventListener("click", () => step(-1));
    $("next").addEventListener("click", () => step(1));
    this.dialog.addEventListener("close", () => {
      this.id = null;
      this.calls?.abort();
      closed();
    });
    // A click on the backdrop, outside of the content, has the dialog itself as its target.
    this.dialog.addEventListener("click", (event) => {
      if (event.target === this.dialog) this.dialog.close();
    });
  }

  close() {
    if (this.dialog.open) this.dialog.close();
  }

  /** Opens a document. `words` are marked in its text; `hit` is its place in the results, or null. */
  async open(index, id, { ranking, words, hit, neighbours }) {
    this.calls?.abort();
    this.calls = new AbortController();
    this.id = id;
    const { signal } = this.calls;
    $("previous").disabled = !neighbours.previous;
    $("next").disabled = !neighbours.next;
    $("document-json").href = api.documentPath(index, id);
    $("document-title").textContent = hit ? title(hit) : id;
    $("document-error").textContent = "";
    if (!this.dialog.open) {
      $("document-text").replaceChildren();
      $("document-fields").replaceChildren();
      $("vector").replaceChildren();
      this.dialog.showModal();
    }
    $("document-title").focus();
    // A neighbour's button that has become disabled must not keep the focus.
    await Promise.all([this.fillText(index, id, words, hit, signal), this.fillVector(index, id, ranking, signal)]);
  }

  async fillText(index, id, words, hit, signal) {
    try {
      const document = await api.document(index, id, signal);
      $("document-title").textContent = title(document);
      const facts = [["id", id]];
      if (hit) facts.push(["score", decimals(hit.score)]);
      const length = document.length ?? hit?.length;
      if (length !== undefined) facts.push(["length", count(length)]);
      $("document-fields").replaceChildren(...pairs([...facts, ...fieldTexts(document)]));
      $("document-text").replaceChildren(
        ...(document.text == null
          ? [make("p", { class: "quiet" }, "The index keeps no texts: build it with --store.")]
          : markedBy(document.text, words)),
      );
      this.dialog.querySelector(".body").scrollTop = 0;
    } catch (error) {
      if (error.name === "AbortError") return;
      $("document-text").replaceChildren();
      $("document-fields").replaceChildren();
      $("document-error").textContent = error.message;
    }
  }

  async fillVector(index, id, ranking, signal) {
    try {
      const terms = await api.vector(index, id, ranking, signal);
      const shown = terms.slice(0, HEAVIEST);
      const heaviest = Math.max(...shown.map((term) => term.weight), 0);
      $("vector-title").textContent =
        shown.length < terms.length
          ? `Heaviest terms (${shown.length} of ${count(terms.length)})`
          : `Terms (${terms.length})`;
      const rows = shown.map((term) => {
        const bar = make("i", {});
        bar.style.width = `${heaviest > 0 ? Math.max(0, (100 * term.weight) / heaviest) : 0}%`;
        return make(
          "tr",
          {},
          make("th", { scope: "row" }, term.term),
          make("td", {}, count(term.tf)),
          make("td", { class: "share" }, make("span", {}, bar), make("b", {}, decimals(term.weight))),
        );
      });
      const head = ["term", "tf", "weight"].map((name) => make("th", { scope: "col" }, name));
      $("vector").replaceChildren(
        make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows)),
      );
    } catch (error) {
      if (error.name === "AbortError") return;
      $("vector-title").textContent = "Heaviest terms";
      $("vector").replaceChildren(make("p", { class: "quiet" }, error.message));
    }
  }
}
