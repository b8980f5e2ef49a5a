//! Names, numbered in sorted order: in memory if they fit, otherwise on scratch.

use hashbrown::HashTable;

use super::super::{Room, codec};
use super::store::{DocumentStore, DocumentWriter, FRAME_DOCUMENTS};
use tokapi_storage::error::{Error, Result};
use tokapi_storage::strings::Strings;

/// Names, ascending; name n is the nth.
pub(super) struct Names {
    /// The store of documents, with names as ids; lengths are not used.
    store: DocumentStore,
    lookup: Lookup,
}

/// The search structure.
enum Lookup {
    /// The numbers of names in memory, by hash.
    Hashed(HashTable<u32>),
    /// The first name of every frame on scratch.
    Firsts(Strings),
}

impl Names {
    /// Number of names.
    pub(super) fn count(&self) -> u32 {
        // Fewer than 2^32: the writer counted them.
        self.store.len() as u32
    }

    /// The number of a name.
    ///
    /// # Errors
    /// The name does not exist; the scratch file cannot be read, or is damaged.
    pub(super) fn number(&self, name: &[u8]) -> Result<u32> {
        let found = match (&self.lookup, &self.store) {
            (Lookup::Hashed(numbers), DocumentStore::Memory { ids, .. }) => numbers
                .find(codec::hash(name), |&number| {
                    ids.get(number as usize) == name
                })
                .copied(),
            (Lookup::Firsts(firsts), store) => {
                let frames = firsts.len();
                let (mut from, mut to) = (0, frames);
                // The last frame whose first name is not greater than this one.
                while from < to {
                    let middle = from.midpoint(to);
                    match firsts.get(middle) <= name {
                        true => from = middle + 1,
                        false => to = middle,
                    }
                }
                let first = from.saturating_sub(1) * FRAME_DOCUMENTS;
                let end = (first + FRAME_DOCUMENTS).min(store.len());
                let (mut number, mut found) = (first as u32, None);
                store.fetch(first as u32..end as u32, |other, _| {
                    if other == name {
                        found = Some(number);
                    }
                    number += 1;
                    Ok(())
                })?;
                found
            }
            (Lookup::Hashed(_), DocumentStore::Scratch(_)) => None,
        };
        found.ok_or_else(|| {
            let name = String::from_utf8_lossy(name);
            Error::Verification(format!("the node `{name}` of an edge has no number"))
        })
    }

    /// Passes all names to `each`, in order.
    ///
    /// # Errors
    /// The scratch file cannot be read, or is damaged; an error of `each`.
    pub(super) fn each(&self, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.store.fetch(0..self.count(), |name, _| each(name))
    }
}

/// Names that are being numbered.
pub(super) struct NamesWriter<'a> {
    store: DocumentWriter<'a>,
    firsts: Strings,
}

impl<'a> NamesWriter<'a> {
    /// Holds names in memory while `room` has memory for them.
    pub(super) fn new(room: &'a Room) -> Self {
        NamesWriter {
            store: DocumentWriter::new(room),
            firsts: Strings::default(),
        }
    }

    /// Adds a name, which is greater than all previous ones.
    ///
    /// # Errors
    /// There are 2^32 names; the scratch file cannot be written.
    pub(super) fn push(&mut self, name: &[u8]) -> Result<()> {
        let number = self
            .store
            .count()
            .map_err(|_| Error::Limit("the graph has 2^32 or more nodes; split it".into()))?;
        if (number as usize).is_multiple_of(FRAME_DOCUMENTS) {
            self.firsts.push(name);
        }
        self.store.push(name, 0)
    }

    pub(super) fn finish(self) -> Result<Names> {
        let store = self.store.finish()?;
        let lookup = match &store {
            DocumentStore::Scratch(_) => Lookup::Firsts(self.firsts),
            DocumentStore::Memory { ids, .. } => {
                let mut numbers = HashTable::with_capacity(ids.len());
                let hash = |&number: &u32| codec::hash(ids.get(number as usize));
                for (name, number) in ids.iter().zip(0_u32..) {
                    numbers.insert_unique(codec::hash(name), number, hash);
                }
                Lookup::Hashed(numbers)
            }
        };
        Ok(Names { store, lookup })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokapi_storage::progress::Progress;

    #[test]
    fn numbers_go_by_order_in_memory_and_on_scratch() {
        let scratch = tempfile::tempdir().unwrap();
        for memory_bytes in [0, 1 << 20] {
            for count in [0, 1, 64, 65, 1000_u32] {
                let room = Room {
                    memory_bytes,
                    scratch: scratch.path().to_path_buf(),
                    progress: Progress::new(),
                };
                let mut writer = NamesWriter::new(&room);
                let name = |n: u32| format!("n{:05}", 2 * n);
                (0..count).for_each(|n| writer.push(name(n).as_bytes()).unwrap());
                let names = writer.finish().unwrap();
                assert_eq!(names.count(), count);
                for n in 0..count {
                    assert_eq!(names.number(name(n).as_bytes()).unwrap(), n);
                }
                for none in ["", "n00001", "x"] {
                    assert!(names.number(none.as_bytes()).is_err());
                }
            }
        }
    }
}
