//! From a chunk's text to its postings, by any of several engines.

mod cpu;
mod fallback;
#[cfg(feature = "kernels")]
mod gpu;
mod names;
mod reference;
#[cfg(feature = "kernels")]
mod rename;
mod verified;

pub use cpu::Cpu;
pub use fallback::Fallback;
#[cfg(feature = "kernels")]
pub use gpu::Gpu;
pub use reference::Reference;
pub use verified::Verified;

use crate::corpus::Chunk;
use crate::error::Result;
use crate::postings::Postings;

/// What inverting a chunk gives. Every engine gives the same integers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inverted {
    /// The postings, with documents counted from the first of the chunk.
    pub postings: Postings,
    /// The length of every document, in terms.
    pub lengths: Vec<u32>,
}

/// An engine that inverts chunks, one after the other.
pub trait Invert {
    /// Inverts `chunk`, whose text may be overwritten on the way.
    ///
    /// # Errors
    /// A chunk of 2^32 or more terms.
    fn invert(&mut self, chunk: &mut Chunk) -> Result<Inverted>;
}
