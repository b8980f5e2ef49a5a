//! Random searches, and the answers that the library gives to them.

use serde_json::{Map, Value, json};
use tokapi::{Bm25, Filter, Formula, Hit, Index, Occur, Query, SearchOptions};

/// A small generator of random numbers (xorshift).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % end
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn of<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// A number as JSON has it: the shortest digits that read back as it.
pub fn number(number: f32) -> Value {
    serde_json::from_str(&serde_json::to_string(&number).unwrap()).unwrap()
}

/// A search as JSON, and as the library takes it.
pub struct Case {
    pub json: Map<String, Value>,
    pub query: Query,
    pub options: SearchOptions,
    pub snippet_characters: Option<usize>,
}

const WORDS: [&str; 16] = [
    "boundary",
    "layer",
    "flow",
    "wing",
    "the",
    "supersonic",
    "of",
    "heat",
    "transfer",
    "Plates",
    "pressure",
    "shock-wave",
    "aerodynamic",
    "unknownword",
    "jet",
    "mach",
];

/// A random search of an index that keeps everything.
pub fn case(random: &mut Random, index: &Index) -> Case {
    let mut json = Map::new();
    let text = text(random);
    json.insert("query".into(), text.clone().into());
    let (mode, operators) = (random.of(&["or", "and", "phrase"]), !random.one_in(5));
    if mode != "or" {
        json.insert("mode".into(), mode.into());
    }
    if !operators {
        json.insert("operators".into(), false.into());
    }
    let analyzer = index.analyzer();
    let mut query = match (mode, operators) {
        ("or", true) => Query::parse(&text, analyzer, Occur::Should),
        ("and", true) => Query::parse(&text, analyzer, Occur::Must),
        ("or", false) => Query::any(analyzer.terms(&text)),
        ("and", false) => Query::all(analyzer.terms(&text)),
        _ => Query::phrase(analyzer.terms(&text)),
    };
    if random.one_in(3) {
        let filters = [
            ("year", "1950"),
            ("kind", "a thesis"),
            ("tags", "tag2"),
            ("kind", "none"),
        ];
        let chosen: Vec<(&str, &str, bool)> = (0..1 + random.below(2))
            .map(|_| {
                let (field, value) = random.of(&filters);
                (field, value, random.one_in(2))
            })
            .collect();
        let as_json = chosen
            .iter()
            .map(|(field, value, not)| match random.one_in(2) {
                true => json!({ "field": field, "value": value, "not": not }),
                false => format!("{}{field}:{value}", if *not { "-" } else { "" }).into(),
            });
        json.insert("filters".into(), as_json.collect());
        let filters = chosen.iter();
        let filters = filters.map(|(field, value, not)| Filter::new(*field, *value).not(*not));
        query = query.filters(filters.collect::<Vec<_>>());
    }
    let mut bm25 = Bm25::default();
    if random.one_in(2) {
        let formula = random.of(&Formula::ALL);
        let name = formula.to_string();
        json.insert("formula".into(), name.into());
        bm25 = bm25.formula(formula);
    }
    if random.one_in(3) {
        let (k1, b) = (
            random.below(30) as f64 / 10.0,
            random.below(11) as f64 / 10.0,
        );
        json.extend([("k1".into(), k1.into()), ("b".into(), b.into())]);
        bm25 = bm25.k1(k1).b(b);
    }
    if random.one_in(8) {
        json.extend([("delta".into(), 0.7.into()), ("avdl".into(), 99.5.into())]);
        bm25 = bm25.delta(0.7).avdl(99.5);
    }
    let k = random.of(&[1, 2, 10, 10, 50, 2000]);
    if k != 10 {
        json.insert("k".into(), k.into());
    }
    let mut snippet_characters = Some(200);
    if random.one_in(4) {
        snippet_characters = Some(random.below(400));
        json.insert("snippet_characters".into(), snippet_characters.into());
    } else if random.one_in(4) {
        snippet_characters = None;
        json.insert("snippets".into(), false.into());
    }
    for (name, often) in [("explain", 3), ("text", 5), ("count", 3)] {
        if random.one_in(often) {
            json.insert(name.into(), true.into());
        }
    }
    Case {
        json,
        query,
        options: SearchOptions::default().k(k).bm25(bm25),
        snippet_characters,
    }
}

fn text(random: &mut Random) -> String {
    let words = (0..random.below(5)).map(|_| {
        let word = random.of(&WORDS);
        match random.below(10) {
            0 => format!("+{word}"),
            1 => format!("-{word}"),
            2 => "\"boundary layer\"".to_owned(),
            3 => "-\"heat transfer\"".to_owned(),
            _ => word.to_owned(),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

impl Case {
    fn has(&self, name: &str) -> bool {
        self.json.get(name) == Some(&true.into())
    }

    /// The hits of the library, as the answer has them.
    pub fn hits(&self, index: &Index, hits: &[Hit]) -> Vec<Value> {
        let highlighter = index.highlighter(&self.query).unwrap();
        let shown = hits.iter().map(|hit| {
            let stored = index.document(hit.document).unwrap();
            let mut object = json!({
                "id": index.id(hit.document).unwrap(),
                "score": number(hit.score),
                "sequence": hit.sequence,
            });
            let text = stored.text.unwrap();
            if let Some(characters) = self.snippet_characters {
                let snippet = highlighter.snippet(&text, characters);
                let place = |at: usize| snippet.text[..at].chars().count();
                let highlights = snippet.highlights.iter();
                object["highlights"] = highlights
                    .map(|range| json!([place(range.start), place(range.end)]))
                    .collect();
                object["snippet"] = snippet.text.clone().into();
            }
            let place = hit.document as usize;
            object["fields"] = json!({
                "year": 1940 + place % 25,
                "kind": (["report", "article", "a thesis"][place % 3]),
                "tags": match place % 4 {
                    0 => json!([]),
                    tag => json!(format!("tag{tag}")),
                },
            });
            if self.has("text") {
                object["text"] = text.into();
            }
            if self.has("explain") {
                let explained = index
                    .explain(&self.query, &self.options, hit.document)
                    .unwrap();
                object["length"] = explained.length.into();
                let terms = explained.terms.iter().map(|term| {
                    json!({
                        "term": term.term, "times": term.times, "tf": term.tf, "df": term.df,
                        "idf": term.idf, "weight": number(term.weight),
                    })
                });
                object["terms"] = terms.collect();
            }
            object
        });
        shown.collect()
    }
}
