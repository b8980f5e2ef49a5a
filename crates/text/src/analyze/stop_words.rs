//! Stop words: terms that are dropped.

use std::collections::HashSet;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Cut;
use tokapi_storage::error::{Error, Place, Position, Result};

/// The 33 words that Lucene's `EnglishAnalyzer` drops.
const ENGLISH: [&str; 33] = [
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it",
    "no", "not", "of", "on", "or", "such", "that", "the", "their", "then", "there", "these",
    "they", "this", "to", "was", "will", "with",
];

/// The terms that an analyzer drops.
///
/// [`Analyzer`](super::Analyzer) has an example.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum StopWords {
    /// None.
    #[default]
    None,
    /// The 33 English stop words of Lucene.
    English,
    /// The lines of a file, one term each; empty lines and lines that begin with `#` are skipped.
    File(PathBuf),
    /// The given terms.
    These(Vec<String>),
}

impl StopWords {
    /// The set of stop words, folded as the terms of `cut` are.
    ///
    /// # Errors
    /// The file cannot be read or is not UTF-8.
    pub(super) fn load(&self, cut: Cut) -> Result<HashSet<Box<[u8]>>> {
        let set = |words: &mut dyn Iterator<Item = &str>| {
            let words = words.filter_map(|word| cut.fold(word));
            words.map(|word| Box::from(word.as_bytes())).collect()
        };
        match self {
            StopWords::None => Ok(HashSet::new()),
            StopWords::English => Ok(set(&mut ENGLISH.into_iter())),
            StopWords::These(words) => Ok(set(&mut words.iter().map(String::as_str))),
            StopWords::File(path) => {
                let bytes = std::fs::read(path).map_err(|source| Error::Read {
                    path: path.clone(),
                    source,
                })?;
                let text = String::from_utf8(bytes).map_err(|_| Error::Input {
                    place: Place {
                        path: path.clone(),
                        position: Position::Whole,
                    },
                    what: "stop words are not valid UTF-8; convert the file".into(),
                })?;
                // Some editors begin a file with a byte order mark.
                let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
                let words = text.lines().map(str::trim);
                Ok(set(
                    &mut words.filter(|word| !word.is_empty() && !word.starts_with('#'))
                ))
            }
        }
    }
}
