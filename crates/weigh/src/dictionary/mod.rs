//! Terms to dense integers and back, by a succinct trie that is built once and then only read.
//!
//! Terms are any byte strings. An id is exact: a term that is not in the dictionary is unknown, it
//! never gets another's id. The trie is a few flat arrays ([`Arrays`]), the same in memory, in a
//! mapped file and on a GPU (`kernels/cpp/dictionary.hpp` has the same lookup in C++).
//!
//! ```
//! use tokapi_weigh::dictionary::Dictionary;
//!
//! # fn main() -> tokapi_storage::error::Result<()> {
//! let dictionary = Dictionary::build(["boundary", "layer", "bound"])?;
//! let id = dictionary.lookup(b"layer").unwrap();
//! assert_eq!(dictionary.term(id).unwrap(), b"layer");
//! assert_eq!(dictionary.lookup(b"lay"), None);
//! # Ok(())
//! # }
//! ```

mod arrays;
mod build;
mod file;
mod layout;
#[cfg(test)]
mod tests;
mod validate;

use std::io::Write;
use std::path::Path;

pub use arrays::Arrays;

use file::Image;
use layout::Layout;
use tokapi_storage::error::Result;
use tokapi_storage::strings::Strings;
use tokapi_storage::whole::Staged;

/// A static map from terms to the integers 0 to n - 1.
///
/// Ids go by the level of the trie at which few terms are left that share a path, within a level by
/// the path, and then by the rest of the term; they depend on the set of terms alone.
pub struct Dictionary {
    image: Image,
    layout: Layout,
}

/// The size of a dictionary.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stats {
    /// Terms.
    pub terms: u64,
    /// Nodes of the trie that have branches.
    pub nodes: u64,
    /// Leaves, each of a few terms.
    pub leaves: u64,
    /// Bytes of what follows the last branch of every term.
    pub tail_bytes: u64,
    /// Bytes of the whole file, header and directories included.
    pub bytes: u64,
}

impl Stats {
    /// Bytes of the whole file for a term; 0 without terms.
    pub fn bytes_per_term(&self) -> f64 {
        ratio(self.bytes, self.terms)
    }

    /// Bits of the whole file for a node or leaf; 0 without terms.
    pub fn bits_per_node(&self) -> f64 {
        ratio(8 * self.bytes, self.nodes + self.leaves)
    }
}

fn ratio(a: u64, b: u64) -> f64 {
    match b {
        0 => 0.0,
        _ => a as f64 / b as f64,
    }
}

impl Dictionary {
    /// The dictionary of `terms`, in any order and with any number of repeats.
    ///
    /// Terms that come sorted are not sorted again. Takes twice the memory of the terms.
    ///
    /// # Errors
    /// [`Error::Limit`](tokapi_storage::error::Error::Limit): 2^32 or more terms, or as many branches.
    pub fn build<S: AsRef<[u8]>>(terms: impl IntoIterator<Item = S>) -> Result<Self> {
        let terms: Strings = terms.into_iter().collect();
        let (layout, image) = build::build(&build::sorted(terms)?)?;
        Ok(Dictionary {
            image: Image::Memory(image),
            layout,
        })
    }

    /// Maps the file that [`Dictionary::save`] wrote, after checking all of it.
    ///
    /// The file must not be changed while it is open; `save` never does, it replaces the file.
    ///
    /// # Errors
    /// [`Error::Read`](tokapi_storage::error::Error::Read); [`Error::Input`](tokapi_storage::error::Error::Input) for a file that is
    /// no dictionary, of another version, cut off or damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let image = Image::map(path)?;
        Self::checked(image).map_err(|what| file::damaged(path, what))
    }

    /// The dictionary in the bytes of a file, which errors call `name`.
    ///
    /// # Errors
    /// As [`Dictionary::open`].
    pub fn from_bytes(name: &str, bytes: &[u8]) -> Result<Self> {
        Image::copy(bytes)
            .and_then(Self::checked)
            .map_err(|what| file::damaged(Path::new(name), what))
    }

    fn checked(image: Image) -> Result<Self, String> {
        let layout = Layout::read(image.words())?;
        let dictionary = Dictionary { image, layout };
        validate::validate(&dictionary.arrays(), &dictionary.layout.header)?;
        Ok(dictionary)
    }

    /// Writes the dictionary to `path`, whole or not at all; `-` is standard output.
    ///
    /// # Errors
    /// [`Error::Write`](tokapi_storage::error::Error::Write).
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let mut staged = Staged::create(path.as_ref())?;
        let written = staged.write_all(bytemuck::cast_slice(self.image.words()));
        written.map_err(|source| staged.failed(source))?;
        staged.commit()
    }

    /// The id of `term`, if it is in the dictionary.
    ///
    /// Costs two dependent memory accesses for every byte on the way to a leaf, less at the first
    /// bytes, and two more for the leaf.
    pub fn lookup(&self, term: &[u8]) -> Option<u32> {
        self.arrays().lookup(term)
    }

    /// The term with this id, if there is one.
    ///
    /// Costs a binary search of the nodes for every byte; lookup is the fast direction.
    pub fn term(&self, id: u32) -> Option<Vec<u8>> {
        (u64::from(id) < self.layout.header.terms).then(|| self.arrays().term(id))
    }

    /// The number of terms.
    pub fn len(&self) -> u64 {
        self.layout.header.terms
    }

    /// Whether there is no term.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How large it is.
    pub fn stats(&self) -> Stats {
        Stats {
            terms: self.layout.header.terms,
            nodes: self.layout.header.nodes,
            leaves: self.layout.header.leaves().unwrap_or_default(),
            tail_bytes: self.layout.header.tail_bytes,
            bytes: 8 * self.image.words().len() as u64,
        }
    }

    /// The words of its file.
    pub fn words(&self) -> &[u64] {
        self.image.words()
    }

    /// Checks all of the words of a file that is part of another.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn check(words: &[u64]) -> Result<(), String> {
        let layout = Layout::read(words)?;
        validate::validate(&layout.arrays(words), &layout.header)
    }

    /// The arrays in words that [`Dictionary::check`] has found to be right, and the number of terms.
    pub fn checked_arrays(words: &[u64]) -> Option<(Arrays<'_>, u64)> {
        let layout = Layout::of_header(words)?;
        Some((layout.arrays(words), layout.header.terms))
    }

    /// The arrays that it is made of, for lookups elsewhere.
    pub fn arrays(&self) -> Arrays<'_> {
        self.layout.arrays(self.image.words())
    }
}
