//! The part of a text that queries ask for.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use search_peer::Outcome;

/// Postings of some terms, and the lengths of all documents.
pub struct Text {
    pub lengths: Vec<u32>,
    /// Documents and frequencies, in order of the documents.
    pub postings: HashMap<String, Vec<(usize, u32)>>,
}

impl Text {
    /// Reads a TSV file of `id<TAB>text`, whose ids are line numbers.
    pub fn read<'a>(path: &Path, terms: impl Iterator<Item = &'a str>) -> Outcome<Self> {
        let mut postings: HashMap<String, Vec<(usize, u32)>> =
            terms.map(|term| (term.into(), Vec::new())).collect();
        let mut lengths = Vec::new();
        for (document, line) in BufReader::new(File::open(path)?).lines().enumerate() {
            let line = line?;
            let (_, contents) = line.split_once('\t').ok_or("a line without a tab")?;
            let mut length = 0;
            for term in contents.split_ascii_whitespace() {
                length += 1;
                let Some(list) = postings.get_mut(term) else {
                    continue;
                };
                match list.last_mut() {
                    Some((last, frequency)) if *last == document => *frequency += 1,
                    _ => list.push((document, 1)),
                }
            }
            lengths.push(length);
        }
        Ok(Self { lengths, postings })
    }
}
