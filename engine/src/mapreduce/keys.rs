//! The keys that a worker holds: each once, as bytes, with a number of its own.

use hashbrown::HashTable;

use super::codec;

/// No key has this place.
const VACANT: u32 = u32::MAX;

/// A key: where its bytes stand, and its number.
struct Slot {
    hash: u64,
    start: usize,
    end: usize,
    id: u32,
}

/// Keys by number, in the order of first occurrence; found by hash, or by place in an array.
#[derive(Default)]
pub(crate) struct Keys {
    /// All keys end to end.
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<usize>,
    table: HashTable<Slot>,
    /// Numbers by place, where keys have places.
    places: Vec<u32>,
}

impl Keys {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The bytes of key `id`.
    #[inline]
    pub(crate) fn get(&self, id: usize) -> &[u8] {
        let start = id.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[id]]
    }

    /// The bytes of all keys together.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// What all keys take in memory, about.
    pub(crate) fn memory_bytes(&self) -> usize {
        // Tables are between half and seven eighths full.
        let slot = 3 * size_of::<Slot>() / 2;
        self.bytes.len()
            + self.len() * size_of::<usize>()
            + self.table.len() * slot
            + self.places.len() * size_of::<u32>()
    }

    /// The number of the key whose bytes `encode` adds, and which has `place` if it has one.
    #[inline]
    pub(crate) fn id<E>(
        &mut self,
        place: Option<usize>,
        encode: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<u32, E> {
        if let Some(place) = place {
            return self.id_at(place, encode);
        }
        let start = self.bytes.len();
        encode(&mut self.bytes)?;
        let end = self.bytes.len();
        let (bytes, key) = (&self.bytes[..], &self.bytes[start..]);
        let hash = codec::hash(key);
        let same = |slot: &Slot| slot.hash == hash && bytes[slot.start..slot.end] == *key;
        if let Some(slot) = self.table.find(hash, same) {
            let id = slot.id;
            self.bytes.truncate(start);
            return Ok(id);
        }
        // A container is emptied long before it has 2^32 keys of 40 bytes and more each.
        let id = self.ends.len() as u32;
        let slot = Slot {
            hash,
            start,
            end,
            id,
        };
        self.table.insert_unique(hash, slot, |slot| slot.hash);
        self.ends.push(end);
        Ok(id)
    }

    #[inline]
    fn id_at<E>(
        &mut self,
        place: usize,
        encode: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<u32, E> {
        if let Some(&id) = self.places.get(place)
            && id != VACANT
        {
            return Ok(id);
        }
        if self.places.len() <= place {
            self.places.resize(place + 1, VACANT);
        }
        encode(&mut self.bytes)?;
        // As above.
        let id = self.ends.len() as u32;
        self.places[place] = id;
        self.ends.push(self.bytes.len());
        Ok(id)
    }

    /// Forgets all keys but the first `count`.
    pub(crate) fn truncate(&mut self, count: usize) {
        self.ends.truncate(count);
        self.bytes.truncate(self.ends.last().copied().unwrap_or(0));
        self.table.retain(|slot| (slot.id as usize) < count);
        for id in &mut self.places {
            if *id as usize >= count {
                *id = VACANT;
            }
        }
    }

    /// Forgets all keys; buffers are kept.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.table.clear();
        self.places.fill(VACANT);
    }
}
