// Filters: the values of fields with their counts, and the filters in use.

import { $, count, make } from "./dom.js";

/** Values of a field that are shown before "all". */
const FIRST = 8;

const without = (list, item) => list.filter((other) => other !== item);

export class Filters {
  /** `change(filters)` is called with the new list of filters. */
  constructor(change) {
    this.change = change;
    this.filters = [];
    this.facets = {};
    this.opened = new Set();
    $("clear").addEventListener("click", () => change([]));
  }

  /** Shows `facets`, `{field: [{value, count}]}`, and the filters in use. */
  show(facets, filters) {
    this.facets = facets ?? this.facets;
    this.filters = filters;
    const key = document.activeElement?.dataset?.key;
    // A field of few values comes before one of many.
    const fields = Object.entries(this.facets)
      .filter(([, values]) => isUseful(values))
      .sort(([, a], [, b]) => a.length - b.length);
    $("facets").replaceChildren(...fields.map(([field, values]) => this.field(field, values)));
    $("clear").disabled = filters.length === 0;
    $("chips").replaceChildren(...filters.map((filter) => this.chip(filter)));
    if (key) document.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
  }

  field(field, values) {
    const all = this.opened.has(field) || values.length <= FIRST + 1;
    const shown = all ? values : values.slice(0, FIRST);
    const more = make(
      "button",
      {
        type: "button",
        class: "plain",
        "data-key": `all ${field}`,
        click: () => {
          this.opened.add(field);
          this.show(null, this.filters);
        },
      },
      `${count(values.length - FIRST)} more`,
    );
    return make(
      "fieldset",
      { class: "facet" },
      make("legend", {}, field),
      ...shown.map(({ value, count: number }) => this.value(field, String(value), number, number / values[0].count)),
      all ? null : more,
    );
  }

  /** A value with its number of documents; `share` of that of the most frequent value is drawn as a bar. */
  value(field, value, number, share) {
    const filter = `${field}:${value}`;
    const not = `-${filter}`;
    const [isWanted, isRefused] = [this.filters.includes(filter), this.filters.includes(not)];
    const toggle = (item, other) => {
      const rest = without(without(this.filters, item), other);
      this.change(this.filters.includes(item) ? rest : [...rest, item]);
    };
    const box = make("input", {
      type: "checkbox",
      "data-key": filter,
      change: () => toggle(filter, not),
    });
    box.checked = isWanted;
    const bar = make("i", {});
    bar.style.width = `${100 * share}%`;
    return make(
      "div",
      { class: isRefused ? "value refused" : "value" },
      make("label", {}, box, make("span", { title: value }, value), make("small", {}, count(number)), bar),
      make(
        "button",
        {
          type: "button",
          class: "plain",
          "aria-pressed": isRefused,
          "aria-label": `Without ${field} ${value}`,
          title: "Documents without this value",
          "data-key": not,
          click: () => toggle(not, filter),
        },
        "−",
      ),
    );
  }

  chip(filter) {
    const not = filter.startsWith("-");
    const text = (not ? filter.slice(1) : filter).replace(":", ": ");
    return make(
      "li",
      {},
      make(
        "button",
        {
          type: "button",
          "aria-label": `Remove the filter ${not ? "not " : ""}${text}`,
          "data-key": `chip ${filter}`,
          click: () => {
            this.change(without(this.filters, filter));
            $("results").focus();
          },
        },
        not ? "not " : "",
        text,
        make("span", { "aria-hidden": "true" }, "×"),
      ),
    );
  }
}

/** A field with a different value in every document, such as a title, is no filter. */
function isUseful(values) {
  return values.length > 0 && (values.length <= FIRST || values.some((value) => value.count > 1));
}
