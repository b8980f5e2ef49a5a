//! What raw terms become, found out once per distinct raw term.

use hashbrown::HashMap;

use tokapi_storage::strings::Strings;
use tokapi_text::analyze::Analyzer;

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

/// Stems that are remembered: they take some 100 MB then.
const MOST_KNOWN: usize = 1 << 20;

/// The names of the raw terms met so far; in the chunk at hand, unless they are stems.
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

    /// Forgets the names that are too many to keep; to be called between chunks.
    pub(super) fn bound(&mut self) {
        if !self.analyzer.stems() || self.known.len() > MOST_KNOWN {
            *self = Names::new(self.analyzer);
        }
    }

    /// Whether all raw terms of `text`, its ASCII lower-cased, stay as they are.
    pub(super) fn all_same(&self, text: &[u8]) -> bool {
        self.analyzer.keeps_folded_ascii()
            && (!self.analyzer.folds_beyond_ascii() || text.is_ascii())
    }

    /// What `raw` becomes.
    pub(super) fn of(&mut self, raw: &[u8]) -> Name {
        if self.analyzer.keeps_folded_ascii() && raw.is_ascii() {
            return Name::Same;
        }
        // Documents are valid UTF-8 and are cut between characters: nothing is replaced.
        let text = String::from_utf8_lossy(raw);
        // Without a stemmer a name is found out as fast as looked up, once in a chunk.
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
                // No more names than terms, of which 2^32 are refused.
                Name::At((self.names.len() - 1) as u32)
            }
        }
    }

    /// The name at `place`.
    pub(super) fn get(&self, place: u32) -> &[u8] {
        self.names.get(place as usize)
    }
}
