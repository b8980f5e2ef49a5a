// Prints the collection of the tests: 400 generated documents with fields, and three made by hand.

const words = "boundary layer flow wing shock wave heat transfer pressure drag lift nozzle plate cone jet vortex".split(" ");
const rare = "buckling ablation flutter camber downwash aileron plasma meteor".split(" ");
const langs = ["en", "en", "en", "de", "fr"];
const topics = ["aerodynamics", "structures", "heat", "propulsion"];

// A linear congruential generator: the same documents each time.
let seed = 1;
const below = (bound) => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return Math.floor((seed / 2 ** 32) * bound);
};
const pick = (list) => list[below(list.length)];

const documents = [];
for (let number = 1; number <= 400; number++) {
  const length = 30 + below(120);
  const text = Array.from({ length }, () => (below(25) === 0 ? pick(rare) : pick(words))).join(" ");
  documents.push({
    id: `d${number}`,
    title: `${pick(words)} ${pick(words)} ${number}`,
    contents: text,
    lang: pick(langs),
    year: 1950 + below(12),
    topic: [pick(topics)],
  });
}
const made = (id, title, contents) => ({ id, title, contents, lang: "en", year: 1962, topic: ["heat", "structures"] });
documents.push(
  made("hostile", "<b>bold</b>", "🦀🦀 naïve <img src=x onerror=alert(1)> 𝒳 zeppelin <script>alert(2)</script> 🦀 zeppelin"),
  made("a/b c?#%", "an id with signs", "a gyroscope in a gondola"),
  made("phrase", "a phrase", "the gondola of a gyroscope: gyroscope gondola"),
);
for (const document of documents) console.log(JSON.stringify(document));
