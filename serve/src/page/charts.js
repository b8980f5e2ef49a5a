// Latency of the last queries and load of the server, drawn as SVG.

import * as api from "./api.js";
import { $, count, draw, duration, figure, pairs, quantile } from "./dom.js";

/** Queries in the chart of latencies. */
const QUERIES = 60;
/** Samples in the chart of load, and the time between them. */
const SAMPLES = 60;
const EVERY_MS = 2000;
/** The time until metrics are asked for again that could not be read, as they need a right. */
const FAILED_MS = 60_000;

/** One bar a query: the server's time in front of the time until the answer was in the page. */
export class Latency {
  constructor() {
    this.queries = [];
    this.show();
  }

  add(took, roundTrip) {
    this.queries = [...this.queries, { took, roundTrip }].slice(-QUERIES);
    this.show();
  }

  show() {
    const [width, height] = [240, 56];
    const step = width / QUERIES;
    // A rare slow query is cut off, so that the others can be seen.
    const typical = this.queries.length ? 1.5 * quantile(this.queries.map((query) => query.roundTrip), 0.9) : 1;
    const highest = Math.max(1, Math.min(typical, Math.max(...this.queries.map((query) => query.roundTrip))));
    const from = QUERIES - this.queries.length;
    const bars = this.queries.flatMap(({ took, roundTrip }, at) =>
      [["whole", roundTrip], ["server", took]].map(([name, micros]) => {
        const tall = Math.max(1, (height * Math.min(micros, highest)) / highest);
        return draw("rect", {
          class: name,
          x: (from + at) * step,
          y: height - tall,
          width: step - 1,
          height: tall,
        });
      }),
    );
    $("latency").replaceChildren(draw("path", { class: "base", d: `M0 ${height - 0.5}H${width}` }), ...bars);
    const last = this.queries.at(-1);
    const median = (name) => quantile(this.queries.map((query) => query[name]), 0.5);
    const facts = last
      ? [
          ["last, server", duration(last.took)],
          ["median, server", duration(median("took"))],
          ["median, page", duration(median("roundTrip"))],
        ]
      : [["last, server", "–"], ["median, server", "–"], ["median, page", "–"]];
    $("latency-figures").replaceChildren(...pairs(facts));
    const said = facts.map((fact) => fact.join(" ")).join("; ");
    $("latency").setAttribute("aria-label", `Latency of the last ${this.queries.length} queries: ${said}`);
  }
}

/** The routes that search, as labels of metrics. */
const SEARCH = /route="[^"]*search(es)?"/;

/** Searches a second of all clients, those that wait, and the cache, from /metrics, while the page is in view. */
export class Load {
  constructor() {
    this.rates = [];
    this.show(null);
    this.sample();
  }

  async sample() {
    let wait = EVERY_MS;
    if (!document.hidden && $("load").getClientRects().length) {
      try {
        this.take(await api.metrics());
      } catch {
        this.last = null;
        this.show(null);
        wait = FAILED_MS;
      }
    }
    setTimeout(() => this.sample(), wait);
  }

  take(samples) {
    const sum = (name, labels = /^/) =>
      samples
        .filter((sample) => sample.name === name && labels.test(sample.labels))
        .reduce((all, sample) => all + sample.value, 0);
    const now = performance.now();
    const searches = sum("tokapi_http_requests_total", SEARCH);
    if (this.last && searches >= this.last.searches) {
      const rate = (searches - this.last.searches) / ((now - this.last.now) / 1000);
      this.rates = [...this.rates, rate].slice(-SAMPLES);
    }
    this.last = { searches, now };
    const hits = sum("tokapi_cache_hits_total");
    const asked = hits + sum("tokapi_cache_misses_total");
    this.show({
      waiting: sum("tokapi_searches_waiting"),
      refused: sum("tokapi_searches_refused_total"),
      cached: asked > 0 ? hits / asked : 0,
    });
  }

  show(now) {
    const [width, height] = [240, 40];
    const step = width / (SAMPLES - 1);
    const highest = Math.max(1, ...this.rates);
    const from = SAMPLES - this.rates.length;
    const points = this.rates.map((rate, at) => {
      const y = height - 1 - ((height - 3) * rate) / highest;
      return `${((from + at) * step).toFixed(1)} ${y.toFixed(1)}`;
    });
    const shapes = [draw("path", { class: "base", d: `M0 ${height - 0.5}H${width}` })];
    if (points.length > 1) {
      const x = (from * step).toFixed(1);
      shapes.push(draw("path", { class: "area", d: `M${x} ${height}L${points.join("L")}L${width} ${height}Z` }));
      shapes.push(draw("path", { class: "line", d: `M${points.join("L")}` }));
    }
    $("load").replaceChildren(...shapes);
    const facts = [
      ["searches a second", now && this.rates.length ? figure(this.rates.at(-1)) : "–"],
      ["waiting", now ? count(now.waiting) : "–"],
      ["refused", now ? count(now.refused) : "–"],
      ["from the cache", now ? `${figure(100 * now.cached)} %` : "–"],
    ];
    $("load-figures").replaceChildren(...pairs(facts));
    $("load").setAttribute("aria-label", `Load: ${facts.map((fact) => fact.join(" ")).join("; ")}`);
  }
}
