//! The definition of inversion, by plain iterators and maps.

use std::collections::BTreeMap;

use super::{Invert, Inverted};
use crate::postings::Postings;
use tokapi_storage::error::{Error, Result};
use tokapi_text::analyze::Analyzer;
use tokapi_text::corpus::Chunk;

/// The engine that is obviously right.
pub struct ReferenceInverter<'a> {
    analyzer: &'a Analyzer,
}

impl<'a> ReferenceInverter<'a> {
    /// An engine that cuts terms by `analyzer`.
    pub fn new(analyzer: &'a Analyzer) -> Self {
        ReferenceInverter { analyzer }
    }
}

impl Invert for ReferenceInverter<'_> {
    fn invert(&mut self, chunk: &mut Chunk) -> Result<Inverted> {
        let mut frequencies: BTreeMap<String, BTreeMap<u32, u32>> = BTreeMap::new();
        let mut lengths = Vec::new();
        for document in 0..chunk.len() {
            let number = u32::try_from(document).map_err(|_| {
                Error::Limit("a chunk has 2^32 or more documents; use smaller chunks".into())
            })?;
            let text = String::from_utf8_lossy(chunk.text(document));
            let mut length: u32 = 0;
            for term in self.analyzer.terms(&text) {
                *frequencies
                    .entry(term)
                    .or_default()
                    .entry(number)
                    .or_default() += 1;
                length = length
                    .checked_add(1)
                    .ok_or_else(super::cpu::too_many_terms)?;
            }
            lengths.push(length);
        }
        let mut postings = Postings {
            offsets: vec![0],
            ..Postings::default()
        };
        for (term, documents) in frequencies {
            postings.terms.push(term.as_bytes());
            for (document, tf) in documents {
                postings.documents.push(document);
                postings.frequencies.push(tf);
            }
            postings.offsets.push(postings.documents.len() as u64);
        }
        Ok(Inverted { postings, lengths })
    }
}
