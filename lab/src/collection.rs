//! A generated collection in memory.

use std::path::Path;

use tokapi::Format;
use tokapi::{Corpus, CorpusOptions, Error, Progress};
use tokapi_text::generate;
use tokapi_text::generate::{Extent, Options, RANKS, Vocabulary};

/// Text in the format `terms`: a term a line, an empty line after every document.
pub struct Generated {
    pub text: Vec<u8>,
    /// Where documents begin.
    pub starts: Vec<u64>,
}

impl Generated {
    /// The collection that `tokapi generate --size` makes.
    pub fn new(bytes: u64, threads: usize) -> Result<Self, Error> {
        let options = Options::new(Extent::Bytes(bytes), Format::Terms)
            .vocabulary(Vocabulary::built_in(RANKS)?)
            .threads(threads);
        let mut text = Vec::new();
        generate::to_stream(&options, &mut text, Path::new("memory"), &Progress::new())?;
        let mut starts = vec![0];
        let mut at = 0;
        while let Some(end) = text[at..].windows(2).position(|pair| pair == b"\n\n") {
            at += end + 2;
            starts.push(at as u64);
        }
        // Nothing begins at the end.
        starts.pop_if(|start| *start == text.len() as u64);
        Ok(Generated { text, starts })
    }

    /// A copy of it as a corpus.
    pub fn corpus(&self) -> Corpus {
        let options = CorpusOptions::default().format(Some(Format::Terms));
        Corpus::from_bytes("generated", self.text.as_slice(), options)
    }
}
