//! From a chunk's text to its postings, by one of several engines.

mod cpu;
mod fallback;
#[cfg(feature = "kernels")]
mod gpu;
mod names;
mod reference;
#[cfg(feature = "kernels")]
mod rename;
mod verified;

pub use cpu::CpuInverter;
pub use fallback::Fallback;
#[cfg(feature = "kernels")]
pub use gpu::GpuInverter;
pub use reference::ReferenceInverter;
pub use verified::Verified;

use crate::postings::Postings;
use tokapi_storage::error::Result;
use tokapi_text::corpus::Chunk;

/// An inverted chunk. Every engine gives the same integers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inverted {
    /// The postings, with documents counted from the first of the chunk.
    pub postings: Postings,
    /// The length of every document, in terms.
    pub lengths: Vec<u32>,
}

impl Inverted {
    /// Removes the documents numbered `gone`, ascending. The others are renumbered.
    pub(crate) fn remove(&mut self, gone: &[u32]) {
        if gone.is_empty() {
            return;
        }
        let kept = |document: u32| gone.binary_search(&document).is_err();
        let Inverted { postings, lengths } = self;
        let documents = postings.documents.iter();
        let keep: Vec<bool> = documents.map(|&document| kept(document)).collect();
        postings.retain(&keep);
        postings.drop_empty_terms();
        for document in &mut postings.documents {
            // Fewer than the number of documents, which is below 2^32.
            *document -= gone.partition_point(|gone| gone < document) as u32;
        }
        let mut documents = 0..;
        lengths.retain(|_| documents.next().is_some_and(kept));
    }
}

/// An engine that inverts chunks, one after the other.
pub trait Invert {
    /// Inverts `chunk`. Its text may be overwritten.
    ///
    /// # Errors
    /// A chunk of 2^32 or more terms.
    fn invert(&mut self, chunk: &mut Chunk) -> Result<Inverted>;
}
