// The keyboard: "/" for the search box, arrows or j and k for results, e to explain, ? for help.

import { $ } from "./dom.js";

let letters = true;
try {
  letters = localStorage.getItem("letters") !== "off";
} catch {
  // Storage is off: the choice holds until the page is left.
}

/** Listens to keys. `step(by)` opens a neighbour of the open document. */
export function listen({ results, step }) {
  $("letters").checked = letters;
  $("letters").addEventListener("change", (event) => {
    letters = event.target.checked;
    try {
      localStorage.setItem("letters", letters ? "on" : "off");
    } catch {
      // As above.
    }
  });
  $("help-open").addEventListener("click", () => $("help").showModal());
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || $("help").open) return;
    const isField = event.target.matches("input, select, textarea");
    const action = $("document").open
      ? inDocument(event.key, step)
      : event.target === $("query")
        ? inQuery(event.key, results)
        : !isField && onPage(event.key, results);
    if (action && (letters || event.key.length > 1)) {
      event.preventDefault();
      action();
    }
  });
}

function inDocument(key, step) {
  return { j: () => step(1), ArrowRight: () => step(1), k: () => step(-1), ArrowLeft: () => step(-1) }[key];
}

function inQuery(key, results) {
  return key === "ArrowDown" && results.hits.length > 0 && (() => results.focus(0));
}

function onPage(key, results) {
  const focused = results.focused();
  const search = () => {
    $("query").focus();
    $("query").select();
  };
  const down = () => {
    if (!results.focus(focused ? focused.at + 1 : 0)) $("more").focus();
  };
  const up = () => {
    const at = document.activeElement === $("more") ? results.hits.length - 1 : focused ? focused.at - 1 : -1;
    if (!results.focus(at)) search();
  };
  // Arrows scroll the page unless a result has the focus.
  const inResults = focused || document.activeElement === $("more");
  const actions = {
    "/": search,
    "?": () => $("help").showModal(),
    j: down,
    k: up,
    e: focused && (() => results.explain(focused.hit.id)),
    ArrowDown: inResults && down,
    ArrowUp: inResults && up,
    Escape: inResults && search,
  };
  return Object.hasOwn(actions, key) ? actions[key] : null;
}
