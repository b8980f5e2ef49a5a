// Elements and numbers. Text always becomes text nodes, never HTML.

export const $ = (id) => document.getElementById(id);

/** An element with attributes and children. Properties that are functions are listeners. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

/** An element of a drawing. */
export function draw(tag, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

/** A text with `[start, end)` ranges, in Unicode code points, as marks. */
export function marked(text, ranges) {
  if (!ranges?.length) return [text];
  const points = Array.from(text);
  const nodes = [];
  let from = 0;
  for (const [start, end] of ranges) {
    if (start > from) nodes.push(points.slice(from, start).join(""));
    nodes.push(make("mark", {}, points.slice(start, end).join("")));
    from = end;
  }
  if (from < points.length) nodes.push(points.slice(from).join(""));
  return nodes;
}

/** The marked words of a snippet, in lower case. */
export function markedWords(text, ranges) {
  const points = Array.from(text ?? "");
  return (ranges ?? []).map(([start, end]) => points.slice(start, end).join("").toLowerCase());
}

/** A text with every occurrence of `words`, whole words only, as marks. */
export function markedBy(text, words) {
  if (words.size === 0) return [text];
  const sought = [...words].sort((a, b) => b.length - a.length);
  const escaped = sought.map((word) => word.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"));
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}_])(?:${escaped.join("|")})(?![\\p{L}\\p{N}_])`, "giu");
  const nodes = [];
  let from = 0;
  for (const found of text.matchAll(pattern)) {
    if (found.index > from) nodes.push(text.slice(from, found.index));
    nodes.push(make("mark", {}, found[0]));
    from = found.index + found[0].length;
  }
  nodes.push(text.slice(from));
  return nodes;
}

/** Pairs of a name and a value, as the content of a `dl`. */
export function pairs(list) {
  return list.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]);
}

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

/** 1234567 as 1,234,567. */
export const count = (number) => whole.format(number);

/** A measured number with three digits. */
export const figure = (number) => (Math.abs(number) >= 1000 ? whole : short).format(number);

/** A score or weight, with four decimals. */
export const decimals = (number) => number.toFixed(4).replace("-", "−");

/** Microseconds for people. */
export function duration(micros) {
  if (micros < 1000) return `${whole.format(micros)} µs`;
  if (micros < 1e6) return `${short.format(micros / 1000)} ms`;
  return `${short.format(micros / 1e6)} s`;
}

/** Bytes for people. */
export function size(bytes) {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  const unit = bytes < 1000 ? 0 : Math.min(4, Math.floor(Math.log10(bytes) / 3));
  return `${short.format(bytes / 1000 ** unit)} ${units[unit]}`;
}

/** The value at a share of a list, 0.5 for the median. */
export function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}
