//! What raw terms become, found out once per distinct raw term.

use std::borrow::Cow;

use hashbrown::HashMap;

use crate::analyze::Analyzer;
use crate::strings::Strings;

/// What a raw term becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    /// It stays as it is.
    Same,
    /// It is no term.
    Dropped,
    /// The name at this place in [`Names`].
    At(u32),
}

/// Raw terms that are remembered: their names take some 100 MB then.
const MOST_KNOWN: usize = 1 << 20;

/// The names of the raw terms met so far.
pub(super) struct Names<'a> {
    analyzer: &'a Analyzer,
    known: HashMap<Box<[u8]>, Name>,
    names: Strings,
}

impl<'a> Names<'a> {
    pub(super) fn new(analyzer: &'a Analyzer) -> Self {
        Names {
            analyzer,
            known: HashMap::new(),
            names: Strings::default(),
        }
    }

    /// Forgets the names if they have become too many; to be called between chunks.
    pub(super) fn bound(&mut self) {
        if self.known.len() > MOST_KNOWN {
            *self = Names::new(self.analyzer);
        }
    }

    /// Whether all raw terms of `text`, its ASCII lower-cased, stay as they are.
    pub(super) fn all_same(&self, text: &[u8]) -> bool {
        self.analyzer.keeps_folded_ascii()
            && (!self.analyzer.lowers_beyond_ascii() || text.is_ascii())
    }

    /// What `raw` becomes.
    pub(super) fn of(&mut self, raw: &[u8]) -> Name {
        if self.analyzer.keeps_folded_ascii() && raw.is_ascii() {
            return Name::Same;
        }
        // Documents are valid UTF-8 and are cut between characters: nothing is replaced.
        let text = String::from_utf8_lossy(raw);
        if raw.is_ascii() && !self.analyzer.stems() {
            // Found out as fast as looked up.
            return match self.analyzer.normalize(&text) {
                None => Name::Dropped,
                Some(_) => Name::Same,
            };
        }
        if let Some(&name) = self.known.get(raw) {
            return name;
        }
        let name = match self.analyzer.normalize(&text) {
            None => Name::Dropped,
            Some(Cow::Borrowed(_)) => Name::Same,
            Some(Cow::Owned(name)) if name.as_bytes() == raw => Name::Same,
            Some(Cow::Owned(name)) => {
                self.names.push(name.as_bytes());
                // No more names than terms, of which 2^32 are refused.
                Name::At((self.names.len() - 1) as u32)
            }
        };
        self.known.insert(Box::from(raw), name);
        name
    }

    /// The name at `place`.
    pub(super) fn get(&self, place: u32) -> &[u8] {
        self.names.get(place as usize)
    }
}
