//! Maps terms to dense integers and back, by a succinct trie that is built once and then only read.
//!
//! Terms are arbitrary byte strings. Ids are exact: a term outside of the dictionary is unknown and never gets the id
//! of another. The trie consists of a few flat arrays ([`Arrays`]), the same in memory, in a mapped file and on a GPU
//! (`kernels/cpp/dictionary.hpp` has the same lookup in C++).

mod arrays;
mod build;
mod file;
mod layout;
mod ordered;
#[cfg(test)]
mod tests;
mod validate;

use std::io::Write;
use std::path::Path;

pub use arrays::Arrays;
pub use ordered::Ordered;

use file::Image;
use layout::Layout;
use tokapi_storage::error::Result;
use tokapi_storage::strings::Strings;
use tokapi_storage::whole::Staged;

/// A static map from terms to the integers 0 to n - 1.
///
/// Ids are ordered by the level of the trie at which only a few terms share a path, within a level by the path, and
/// then by the rest of the term. They depend on the set of terms alone.
///
/// ```
/// # use tokapi_weigh::dictionary::Dictionary;
/// # fn main() -> tokapi_storage::error::Result<()> {
/// let dictionary = Dictionary::build(["boundary", "layer", "bound"])?;
/// let id = dictionary.lookup(b"layer").expect("a term of the dictionary");
/// assert_eq!(dictionary.term(id).as_deref(), Some(&b"layer"[..]));
/// assert_eq!(dictionary.lookup(b"lay"), None);
/// # Ok(())
/// # }
/// ```
pub struct Dictionary {
    image: Image,
    layout: Layout,
}

/// The size of a dictionary.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stats {
    /// The number of terms.
    pub terms: u64,
    /// The number of trie nodes with branches.
    pub nodes: u64,
    /// The number of leaves, each of a few terms.
    pub leaves: u64,
    /// The bytes after the last branch of every term.
    pub tail_bytes: u64,
    /// The bytes of the whole file, header and directories included.
    pub bytes: u64,
}

impl Stats {
    /// The bytes of the whole file per term; 0 without terms.
    pub fn bytes_per_term(&self) -> f64 {
        ratio(self.bytes, self.terms)
    }

    /// The bits of the whole file per node or leaf; 0 without terms.
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
    /// Sorted terms are not sorted again. Takes twice the memory of the terms.
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

    /// Maps a file of [`Dictionary::save`], after checking all of it.
    ///
    /// The file must not change while it is open. `save` never changes a file; it replaces it.
    ///
    /// # Errors
    /// [`Error::Read`](tokapi_storage::error::Error::Read); [`Error::Input`](tokapi_storage::error::Error::Input) for a
    /// file that is not a dictionary, or has another version, or is truncated or damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let image = Image::map(path)?;
        Self::checked(image).map_err(|what| file::damaged(path, what))
    }

    /// The dictionary from the bytes of a file, which errors call `name`.
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
    /// Costs two dependent memory accesses per byte on the way to a leaf, fewer for the first bytes, and two more for
    /// the leaf.
    pub fn lookup(&self, term: &[u8]) -> Option<u32> {
        self.arrays().lookup(term)
    }

    /// The term with this id, if there is one.
    ///
    /// Costs a binary search of the nodes per byte; lookup is the fast direction.
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

    /// The size of the dictionary.
    pub fn stats(&self) -> Stats {
        Stats {
            terms: self.layout.header.terms,
            nodes: self.layout.header.nodes,
            leaves: self.layout.header.leaves().unwrap_or_default(),
            tail_bytes: self.layout.header.tail_bytes,
            bytes: 8 * self.image.words().len() as u64,
        }
    }

    /// The words of the dictionary's file.
    pub fn words(&self) -> &[u64] {
        self.image.words()
    }

    /// Checks all words of a dictionary within another file.
    ///
    /// # Errors
    /// The fault of the words.
    pub fn check(words: &[u64]) -> Result<(), String> {
        let layout = Layout::read(words)?;
        validate::validate(&layout.arrays(words), &layout.header)
    }

    /// The arrays in words that have passed [`Dictionary::check`], and the number of terms.
    pub fn checked_arrays(words: &[u64]) -> Option<(Arrays<'_>, u64)> {
        let layout = Layout::of_header(words)?;
        Some((layout.arrays(words), layout.header.terms))
    }

    /// The arrays of the dictionary, for lookups elsewhere.
    pub fn arrays(&self) -> Arrays<'_> {
        self.layout.arrays(self.image.words())
    }
}
