//! The normalized forms of raw terms, found once per distinct raw term.

use hashbrown::HashMap;

use tokapi_storage::strings::Strings;
use tokapi_text::analyze::Analyzer;

/// The normalized form of a raw term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    /// The raw term unchanged.
    Same,
    /// None: the term is dropped.
    Dropped,
    /// The name at this index in [`Names`].
    At(u32),
}

/// The most stems that are remembered; they then take some 100 MB.
const MOST_KNOWN: usize = 1 << 20;

/// The names of the raw terms so far: stems of all chunks, and other names of the current chunk.
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

    /// Forgets names beyond the limit. To be called between chunks.
    pub(super) fn bound(&mut self) {
        if !self.analyzer.stems() || self.known.len() > MOST_KNOWN {
            *self = Names::new(self.analyzer);
        }
    }

    /// Whether all raw terms of `text` stay unchanged, apart from the case of ASCII letters.
    pub(super) fn all_same(&self, text: &[u8]) -> bool {
        self.analyzer.keeps_folded_ascii()
            && (!self.analyzer.folds_beyond_ascii() || text.is_ascii())
    }

    /// The normalized form of `raw`.
    pub(super) fn of(&mut self, raw: &[u8]) -> Name {
        if self.analyzer.keeps_folded_ascii() && raw.is_ascii() {
            return Name::Same;
        }
        // Documents are valid UTF-8 and are cut between characters, so nothing is replaced.
        let text = String::from_utf8_lossy(raw);
        // Without a stemmer, normalizing takes no longer than a lookup, once per chunk.
        if !self.analyzer.stems() {
            return self.find(&text);
        }
        if let Some(&name) = self.known.get(raw) {
            return name;
        }
        let name = self.find(&text);
        self.known.insert(Box::from(raw), name);
        name
    }

    fn find(&mut self, raw: &str) -> Name {
        match self.analyzer.normalize(raw) {
            None => Name::Dropped,
            Some(name) if name == raw => Name::Same,
            Some(name) => {
                self.names.push(name.as_bytes());
                // There are at most as many names as terms, and 2^32 terms are refused.
                Name::At((self.names.len() - 1) as u32)
            }
        }
    }

    /// The name at index `place`.
    pub(super) fn get(&self, place: u32) -> &[u8] {
        self.names.get(place as usize)
    }
}
