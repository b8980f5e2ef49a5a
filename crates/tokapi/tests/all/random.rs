//! Random collections and queries.

use std::fmt::Write;
use std::path::Path;

use proptest::prelude::*;
use tokapi::Analyzer;
use tokapi::Keep;
use tokapi::Storage;
use tokapi::{BuildOptions, Collection, Corpus, CorpusOptions};
use tokapi::{Clause, Hit, Occur, Query};
use tokapi::{Index, IndexWriter, Missing};
use tokapi_index::Contents;

/// A random collection: documents of terms `t0`, `t1`, ... the first the most frequent.
#[derive(Debug, Clone)]
pub struct Shape {
    pub documents: usize,
    pub terms: usize,
    pub length: usize,
    pub seed: u64,
}

/// Such collections, small and large.
pub fn shapes() -> impl Strategy<Value = Shape> {
    let documents = prop_oneof![1..20usize, 100..400usize, 2000..9000usize];
    (documents, 1..60usize, 1..30usize, any::<u64>()).prop_map(
        |(documents, terms, length, seed)| Shape {
            documents,
            terms,
            length,
            seed,
        },
    )
}

/// A small generator of random numbers (xorshift).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % end
    }
}

/// As lines of an id, a tab and a text.
pub fn text(shape: &Shape) -> String {
    let mut random = Random(shape.seed | 1);
    let mut text = String::new();
    for document in 0..shape.documents {
        write!(text, "d{document}\t").unwrap();
        for _ in 0..random.below(shape.length + 1) {
            // The smaller of two, so that some are frequent.
            let term = random.below(shape.terms).min(random.below(shape.terms));
            write!(text, "t{term} ").unwrap();
        }
        // Some lists are dense in one place.
        if document % 1000 < 300 {
            text.push_str("dense dense2");
        }
        text.push('\n');
    }
    text
}

/// A query of some of the first `terms` terms.
pub fn query(random: &mut Random, terms: usize) -> Query {
    let mut clauses = Vec::new();
    for _ in 0..1 + random.below(6) {
        let term = match random.below(12) {
            0 => "unknown".into(),
            1 => "dense".into(),
            2 => "dense2".into(),
            _ => format!("t{}", random.below(terms)),
        };
        let occur = match random.below(6) {
            0 => Occur::Not,
            1 | 2 => Occur::Must,
            _ => Occur::Should,
        };
        clauses.push(Clause::new(term, occur));
    }
    if random.below(2) == 0 {
        clauses
            .iter_mut()
            .for_each(|clause| clause.occur = Occur::Should);
    }
    Query::default().clauses(clauses)
}

/// Documents, ids and texts, as JSON lines with a field: the last digit of the id.
pub fn with_digits<'a>(documents: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut lines = String::new();
    for (id, text) in documents {
        let digit = &id[id.len() - 1..];
        let line = format!(r#"{{"id":"{id}","contents":"{text}","digit":{digit}}}"#);
        writeln!(lines, "{line}").unwrap();
    }
    lines
}

/// Gives a collection of JSON lines, and how to keep its texts, some fields and positions, to `user`.
pub fn kept<T>(
    lines: &str,
    fields: &[&str],
    user: impl FnOnce(Collection, Contents<'_>) -> T,
) -> T {
    kept_by(&Analyzer::default(), lines, fields, user)
}

/// The same with terms by `analyzer`.
pub fn kept_by<T>(
    analyzer: &Analyzer,
    lines: &str,
    fields: &[&str],
    user: impl FnOnce(Collection, Contents<'_>) -> T,
) -> T {
    let file = tempfile::NamedTempFile::with_suffix(".jsonl").unwrap();
    std::fs::write(file.path(), lines).unwrap();
    let keep = Keep::default()
        .text(true)
        .fields(fields.iter().copied())
        .positions(true);
    let corpus = CorpusOptions::default()
        .chunk_bytes(Some(10_000))
        .fields(keep.fields.clone());
    let corpus = Corpus::open(&[file.path()], corpus).unwrap();
    let options = BuildOptions::default();
    let storage = Storage::default();
    let contents = Contents::new(corpus.again(), keep, &options, &storage);
    let collection = Collection::build(corpus, &options.clone().analyzer(analyzer)).unwrap();
    user(collection, contents)
}

/// The documents of `text`, lines of an id, a tab and a text, written to `folder`.
pub fn corpus(folder: &Path, text: &str) -> Corpus {
    let path = folder.join("docs.tsv");
    std::fs::write(&path, text).unwrap();
    let options = CorpusOptions::default().chunk_bytes(Some(20_000));
    Corpus::open(&[path], options).unwrap()
}

/// The index at `path` once `writer` has deleted documents by their ids.
pub fn without(path: &Path, mut writer: IndexWriter, ids: &[String]) -> Index {
    let ids = ids.iter().map(|id| &**id);
    writer.delete(ids, Missing::Ignore).unwrap();
    writer.wait().unwrap();
    Index::open(path).unwrap()
}

/// Hits with the bits of their scores.
pub fn bits(hits: &[Hit]) -> Vec<(u64, u32)> {
    let bits = |hit: &Hit| (hit.document, hit.score.to_bits());
    hits.iter().map(bits).collect()
}
