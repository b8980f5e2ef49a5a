//! Random collections and queries.
#![allow(dead_code, reason = "each test uses some of it")]

use std::fmt::Write;

use proptest::prelude::*;
use tokapi::query::{Clause, Occur, Query};

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
        clauses.push(Clause {
            term: match random.below(12) {
                0 => "unknown".into(),
                1 => "dense".into(),
                2 => "dense2".into(),
                _ => format!("t{}", random.below(terms)),
            },
            occur: match random.below(6) {
                0 => Occur::Not,
                1 | 2 => Occur::Must,
                _ => Occur::Should,
            },
        });
    }
    if random.below(2) == 0 {
        clauses
            .iter_mut()
            .for_each(|clause| clause.occur = Occur::Should);
    }
    Query {
        clauses,
        ..Query::default()
    }
}
