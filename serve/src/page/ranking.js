// The formula and its parameters, as sliders with numbers beside them.

import { $ } from "./dom.js";
import { FORMULAS, PARAMETERS, standard } from "./state.js";

export class RankingControls {
  /** `change(chosen, settled)` is called while a slider moves, and with `settled` when a choice is made. */
  constructor(change) {
    this.formula = "lucene";
    this.fixed = false;
    const options = Object.entries(FORMULAS).map(([name, { label }]) => new Option(label, name));
    $("formula").replaceChildren(...options);
    $("formula").addEventListener("change", (event) => {
      const formula = event.target.value;
      // Each formula has its own standard delta.
      change({ formula: formula === "lucene" ? null : formula, delta: null }, true);
    });
    $("reset").addEventListener("click", () => change({ formula: null, k1: null, b: null, delta: null }, true));
    for (const name of PARAMETERS) {
      const choose = (event) => {
        const { value, validity } = event.target;
        if (value === "" || !validity.valid) return;
        const chosen = Number(value);
        change({ [name]: chosen === standard(this.formula, name) ? null : chosen }, false);
      };
      $(name).addEventListener("input", choose);
      $(`${name}-number`).addEventListener("input", choose);
    }
  }

  /** Takes the choice away if the formula was fixed when the index was built. */
  fix(impacts) {
    this.fixed = impacts !== undefined;
    $("fixed").hidden = !this.fixed;
    $("fixed").textContent = this.fixed ? `Fixed when this index was built: ${impacts}.` : "";
    if (this.state) this.show(this.state);
  }

  show(state) {
    this.state = state;
    this.formula = state.formula ?? "lucene";
    const { idf, tf, uses } = FORMULAS[this.formula];
    $("formula").value = this.formula;
    $("formula").disabled = this.fixed;
    $("formula-idf").textContent = idf;
    $("formula-tf").textContent = tf;
    for (const name of PARAMETERS) {
      const value = state[name] ?? standard(this.formula, name);
      const number = $(`${name}-number`);
      $(name).value = value;
      if (number !== document.activeElement || Number(number.value) !== value) number.value = value;
      $(name).disabled = number.disabled = this.fixed || !uses.includes(name);
    }
    $("reset").disabled = [state.formula, state.k1, state.b, state.delta].every((chosen) => chosen === null);
  }
}
