//! The terms whose lists are on a device, and the numbers of the lists.

use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::{DefaultHashBuilder, HashTable};
use tokapi_kernels::DeviceLists;
use tokapi_storage::strings::Strings;

/// Terms, each with the number of its list.
#[derive(Clone, Default)]
pub(super) struct Terms {
    names: Strings,
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl Terms {
    /// The number of terms.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Makes room for more terms.
    pub fn reserve(&mut self, count: usize) {
        let Terms {
            names,
            numbers,
            hasher,
        } = self;
        numbers.reserve(count, |&number| hasher.hash_one(names.get(number as usize)));
    }

    /// Adds a new term; gives the number of its list.
    pub fn push(&mut self, term: &[u8]) -> u32 {
        let Terms {
            names,
            numbers,
            hasher,
        } = self;
        // Lists are fewer than 2^32.
        let number = names.len() as u32;
        names.push(term);
        let hash = |&number: &u32| hasher.hash_one(names.get(number as usize));
        numbers.insert_unique(hash(&number), number, hash);
        number
    }

    /// The number of a term's list.
    pub fn find(&self, term: &[u8]) -> Option<u32> {
        let is_it = |&number: &u32| self.names.get(number as usize) == term;
        let hash = self.hasher.hash_one(term);
        self.numbers.find(hash, is_it).copied()
    }
}

/// The lists of an index on a device, by their terms.
pub(super) struct TermLists {
    pub lists: DeviceLists,
    pub terms: Arc<Terms>,
    /// Whether a term without a list has no documents.
    pub is_whole: bool,
}

/// The list of a term on the device.
pub(super) enum OnDevice {
    List(u32),
    /// No document of the index has the term.
    Nothing,
    /// The device does not have the list; the index may.
    Elsewhere,
}

impl TermLists {
    /// The list of a term.
    pub fn find(&self, term: &[u8]) -> OnDevice {
        match self.terms.find(term) {
            // All its documents are deleted.
            Some(list) if self.lists.length(list) == 0 => OnDevice::Nothing,
            Some(list) => OnDevice::List(list),
            None if self.is_whole => OnDevice::Nothing,
            None => OnDevice::Elsewhere,
        }
    }

    /// The number of documents in a list.
    pub fn length(&self, list: u32) -> u64 {
        self.lists.length(list).into()
    }
}
