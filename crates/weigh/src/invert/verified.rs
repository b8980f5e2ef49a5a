//! An engine with checked results: some chunks are inverted again on the CPU and compared.

use super::{CpuInverter, Invert, Inverted};
use tokapi_storage::error::{Error, Result};
use tokapi_text::analyze::Analyzer;
use tokapi_text::corpus::Chunk;

/// One chunk out of this many is checked, beginning with the first.
const EVERY: u64 = 8;

/// An engine and its check.
pub struct Verified<'a> {
    engine: Box<dyn Invert + 'a>,
    cpu: CpuInverter<'a>,
    chunks: u64,
}

impl<'a> Verified<'a> {
    /// Checks `engine`, which cuts terms by `analyzer` and leaves chunks unchanged.
    pub fn new(engine: Box<dyn Invert + 'a>, analyzer: &'a Analyzer) -> Self {
        Verified {
            engine,
            cpu: CpuInverter::new(analyzer),
            chunks: 0,
        }
    }
}

impl Invert for Verified<'_> {
    fn invert(&mut self, chunk: &mut Chunk) -> Result<Inverted> {
        let inverted = self.engine.invert(chunk)?;
        self.chunks += 1;
        if (self.chunks - 1).is_multiple_of(EVERY) {
            let expected = self.cpu.invert(chunk)?;
            log::info!(
                "verify: a chunk of {} documents was inverted again",
                chunk.len()
            );
            if let Some(difference) = difference(&inverted, &expected) {
                return Err(Error::Verification(format!(
                    "verification failed, {difference}: the engine gave a wrong result; weigh with \
                     --engine cpu, and report this"
                )));
            }
        }
        Ok(inverted)
    }
}

/// The difference, if any.
fn difference(found: &Inverted, expected: &Inverted) -> Option<String> {
    let (postings, right) = (&found.postings, &expected.postings);
    for document in 0..found.lengths.len().max(expected.lengths.len()) {
        let (length, right) = (found.lengths.get(document), expected.lengths.get(document));
        if length != right {
            return Some(format!(
                "document {document} of a chunk has length {length:?} instead of {right:?}"
            ));
        }
    }
    if postings.terms != right.terms {
        return Some(format!(
            "a chunk has {} distinct terms, {} expected, or others",
            postings.terms.len(),
            right.terms.len()
        ));
    }
    (0..right.terms.len())
        .find(|&term| {
            postings.range(term) != right.range(term)
                || right.range(term).any(|posting| {
                    postings.documents[posting] != right.documents[posting]
                        || postings.frequencies.get(posting) != right.frequencies.get(posting)
                })
        })
        .map(|term| format!("the postings of `{}` differ", right.terms.text(term)))
}
