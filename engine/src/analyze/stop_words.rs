//! Stop words: terms that are dropped.

use std::collections::HashSet;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Place, Position, Result};

/// The 33 words that Lucene's `EnglishAnalyzer` drops.
const ENGLISH: [&str; 33] = [
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it",
    "no", "not", "of", "on", "or", "such", "that", "the", "their", "then", "there", "these",
    "they", "this", "to", "was", "will", "with",
];

/// Which terms an analyzer drops.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StopWords {
    /// None.
    #[default]
    None,
    /// The 33 English stop words of Lucene.
    English,
    /// The lines of a file, one term each; empty lines and lines that begin with `#` are skipped.
    File(PathBuf),
    /// These.
    These(Vec<String>),
}

impl StopWords {
    /// The set of stop words.
    ///
    /// # Errors
    /// A file that cannot be read or is not UTF-8.
    pub(super) fn load(&self) -> Result<HashSet<Box<[u8]>>> {
        let boxed = |word: &str| Box::from(word.as_bytes());
        match self {
            StopWords::None => Ok(HashSet::new()),
            StopWords::English => Ok(ENGLISH.into_iter().map(boxed).collect()),
            StopWords::These(words) => Ok(words.iter().map(|word| boxed(word)).collect()),
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
                let words = text.lines().map(str::trim);
                Ok(words
                    .filter(|word| !word.is_empty() && !word.starts_with('#'))
                    .map(boxed)
                    .collect())
            }
        }
    }
}
