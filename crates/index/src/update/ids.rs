//! Sets of ids, and a search for their documents in parts.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::part::Part;
use crate::walk::Renumbered;
use tokapi_storage::error::Result;
use tokapi_storage::memory::Memory;
use tokapi_storage::progress::Progress;
use tokapi_storage::quicksort;
use tokapi_storage::strings::Strings;

/// Maximum number of ids sought at a time. With a smaller number, the ids of the index are read
/// more often.
const MOST_IDS: usize = 1 << 22;
/// Ids are looked up if a part has at least this many times as many documents; otherwise all ids of the part are read. To
/// look one up takes about as long as to read four.
const FEW_IDS: u64 = 4;
/// Bytes of memory an id takes besides its text: its end, and its entry in a hash table that is
/// half full after it has grown.
const ID_BYTES: u64 = 8 + 2 * (4 + 1);

/// A set of ids, numbered in the order of insertion.
#[derive(Default)]
pub(crate) struct IdSet {
    ids: Strings,
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl IdSet {
    /// Adds an id, unless the set has it.
    pub fn insert(&mut self, id: &[u8]) {
        let IdSet {
            ids,
            numbers,
            hasher,
        } = self;
        let hash = hasher.hash_one(id);
        if numbers
            .find(hash, |&number| ids.get(number as usize) == id)
            .is_none()
        {
            // Fewer than 2^32.
            let number = ids.len() as u32;
            ids.push(id);
            numbers.insert_unique(hash, number, |&number| {
                hasher.hash_one(ids.get(number as usize))
            });
        }
    }

    /// Whether `memory` has no room for more ids.
    pub fn is_full(&self, memory: &Memory) -> bool {
        let bytes = self.ids.byte_count() as u64 + ID_BYTES * self.ids.len() as u64;
        self.ids.len() >= MOST_IDS || bytes >= memory.per_document_bytes()
    }

    /// The number of ids.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// The id with this number.
    pub fn get(&self, number: usize) -> &[u8] {
        self.ids.get(number)
    }

    /// The number of an id.
    pub fn number(&self, id: &[u8]) -> Option<u32> {
        let is_it = |&number: &u32| self.ids.get(number as usize) == id;
        self.numbers.find(self.hasher.hash_one(id), is_it).copied()
    }

    /// Passes every document of `part` that is not deleted and has one of the ids to `each`, with
    /// the number of the id, until `progress` is cancelled.
    pub fn each_in(
        &self,
        part: &Part,
        progress: &Progress,
        mut each: impl FnMut(u32, u32),
    ) -> Result<()> {
        // Fewer than 2^32 ids.
        let are_few = self.len() as u64 * FEW_IDS < part.documents().into();
        if are_few && part.has_id_table() {
            for (number, id) in (0..).zip(self.ids.iter()) {
                progress.check()?;
                if let Some(document) = part.find_id(id)?
                    && !part.is_deleted(document)?
                {
                    each(document, number);
                }
            }
            return Ok(());
        }
        let live = Renumbered::all(std::slice::from_ref(part))?.remove(0);
        let mut ids = part.ids(0..part.documents())?;
        while let Some((document, id)) = ids.next()? {
            progress.check()?;
            if let Some(number) = self.number(id)
                && live.of(document).is_some()
            {
                each(document, number);
            }
        }
        Ok(())
    }
}

/// The number of a part, and documents of it.
pub(super) type InPart = (usize, Vec<u32>);

/// Documents whose ids occur in both the new part and an old part.
#[derive(Default)]
pub(super) struct Known {
    /// In the new part, ascending.
    pub new: Vec<u32>,
    /// In each of the old ones.
    pub old: Vec<InPart>,
}

/// The remaining documents of `parts`, without those of `gone`, whose id a document in `new` has, and those documents
/// of `new`.
pub(super) fn ids_of(
    new: &Part,
    parts: &[Part],
    gone: &[InPart],
    memory: &Memory,
    progress: &Progress,
) -> Result<Known> {
    let mut known = Known {
        new: Vec::new(),
        old: (0..parts.len()).map(|part| (part, Vec::new())).collect(),
    };
    let mut from = 0;
    while from < new.documents() {
        let mut ids = IdSet::default();
        let mut of_new = new.ids(from..new.documents())?;
        while let Some((_, id)) = of_new.next()? {
            // All ids are distinct.
            ids.insert(id);
            if ids.is_full(memory) {
                break;
            }
        }
        for ((part, (_, gone)), (_, old)) in parts.iter().zip(gone).zip(&mut known.old) {
            ids.each_in(part, progress, |document, number| {
                if gone.binary_search(&document).is_err() {
                    known.new.push(from + number);
                    old.push(document);
                }
            })?;
        }
        // At most the number of documents; none if the part has fewer documents than the manifest
        // says.
        from = from.saturating_add((ids.len() as u32).max(1));
    }
    quicksort::sort_by(&mut known.new, &Ord::cmp, progress)?;
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_numbered_by_their_turn() {
        let mut set = IdSet::default();
        for number in 0..1000u32 {
            set.insert(format!("d{number}").as_bytes());
            set.insert(format!("d{}", number / 2).as_bytes());
        }
        set.insert(b"");
        assert_eq!(set.len(), 1001);
        for number in 0..1000 {
            assert_eq!(set.number(format!("d{number}").as_bytes()), Some(number));
            assert_eq!(set.get(number as usize), format!("d{number}").as_bytes());
        }
        assert_eq!(set.number(b""), Some(1000));
        assert_eq!(set.number(b"d1000"), None);
        let memory = Memory::new(300_000_000).unwrap();
        assert!(!set.is_full(&memory));
        set.insert(&vec![b'x'; 150_000_000]);
        assert!(set.is_full(&memory));
    }
}
