//! The keys of a worker: each is stored once and has a number.
//!
//! A key of up to 15 bytes is stored in a 128-bit word, bytes and length, so one comparison
//! decides. For a longer key the word gives its position. Numbers index a dense array of words.
//! Frequent keys occur early, so the most used part of the array stays in the cache. Several short
//! keys are looked up together, so that their cache misses overlap.

use super::codec::{self, Word};
use tokapi_storage::prefetch::prefetch;

/// No key.
const VACANT: u32 = u32::MAX;
/// The length field of a word that only gives a key's position.
const LONG: u128 = 0xff << 120;
/// Number of keys looked up together.
pub(crate) const BATCH: usize = 32;

/// Keys by number, in the order of first occurrence; they are found by hash, or by place in an
/// array.
pub(crate) struct Keys {
    words: Vec<u128>,
    /// Numbers by hash; a power of two, at most half full.
    slots: Vec<u32>,
    /// Keys too long for a word, concatenated.
    long: Vec<u8>,
    /// Total size of all keys in bytes.
    key_bytes: usize,
    /// Short keys and their hashes, to be looked up.
    staged: Vec<(u128, u64)>,
    /// Numbers by place, if keys have places.
    places: Vec<u32>,
}

impl Default for Keys {
    fn default() -> Self {
        Keys {
            words: Vec::new(),
            slots: vec![VACANT; 1 << 10],
            long: Vec::new(),
            key_bytes: 0,
            staged: Vec::with_capacity(BATCH),
            places: Vec::new(),
        }
    }
}

/// The range of a long key.
fn span(word: u128) -> std::ops::Range<usize> {
    // The fields as `Keys::id` packed them.
    let (start, length) = (word as u64 as usize, (word & !LONG) >> 64);
    start..start + length as usize
}

impl Keys {
    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    /// The bytes of key `id`: borrowed, or written to `bytes`.
    #[inline]
    pub(crate) fn get<'a>(&'a self, id: usize, bytes: &'a mut [u8; 16]) -> &'a [u8] {
        let word = self.words[id];
        if word & LONG == LONG {
            return &self.long[span(word)];
        }
        *bytes = word.to_le_bytes();
        &bytes[..usize::from(bytes[15])]
    }

    /// Prefetches the word of key `id`.
    #[inline]
    pub(crate) fn prefetch(&self, id: u32) {
        prefetch(&self.words, id as usize);
    }

    /// Total size of all keys in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.key_bytes
    }

    /// The approximate memory of all keys.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.words.len() * size_of::<u128>()
            + (self.slots.len() + self.places.len()) * size_of::<u32>()
            + self.long.len()
    }

    /// Stages a key that fits in a word, for a lookup with others.
    #[inline]
    pub(crate) fn stage(&mut self, key: u128) {
        let hash = codec::hash_word(key);
        prefetch(&self.slots, (hash >> self.shift()) as usize);
        self.staged.push((key, hash));
    }

    /// Number of staged keys.
    #[inline]
    pub(crate) fn staged(&self) -> usize {
        self.staged.len()
    }

    /// Removes the staged keys.
    pub(crate) fn unstage(&mut self) {
        self.staged.clear();
    }

    /// Appends the numbers of the staged keys to `ids`.
    #[inline]
    pub(crate) fn look_up(&mut self, ids: &mut Vec<u32>) {
        if self.staged.is_empty() {
            // Keys with places are in no slot, and may outnumber the slots.
            return;
        }
        while self.words.len() + self.staged.len() > self.slots.len() / 2 {
            self.grow();
        }
        let shift = self.shift();
        let before = ids.len();
        for &(_, hash) in &self.staged {
            let id = self.slots[(hash >> shift) as usize];
            prefetch(&self.words, id as usize);
            ids.push(id);
        }
        let staged = std::mem::take(&mut self.staged);
        for (id, &(key, hash)) in ids[before..].iter_mut().zip(&staged) {
            if self.words.get(*id as usize) != Some(&key) {
                *id = self.find_or_add(key, (hash >> shift) as usize);
            }
        }
        self.staged = staged;
        self.staged.clear();
    }

    /// The shift from a hash to a slot.
    #[inline]
    fn shift(&self) -> u32 {
        64 - self.slots.len().trailing_zeros()
    }

    /// Probes from `slot` for a short key, and returns its number; a new key gets the next number.
    fn find_or_add(&mut self, key: u128, mut slot: usize) -> u32 {
        loop {
            match self.slots[slot] {
                VACANT => {
                    self.slots[slot] = self.words.len() as u32;
                    // The length is the highest byte.
                    self.key_bytes += (key >> 120) as usize;
                    return self.add(key);
                }
                id if self.words[id as usize] == key => return id,
                _ => slot = (slot + 1) & (self.slots.len() - 1),
            }
        }
    }

    fn add(&mut self, word: u128) -> u32 {
        // A container is emptied long before it has 2^32 keys.
        let id = self.words.len() as u32;
        self.words.push(word);
        id
    }

    /// The number of a key of any length, looked up immediately.
    pub(crate) fn id(&mut self, key: &Word) -> u32 {
        while self.words.len() + 1 > self.slots.len() / 2 {
            self.grow();
        }
        let hash = key.hash();
        let mut slot = (hash >> self.shift()) as usize;
        let bytes = match key.short() {
            Some(word) => return self.find_or_add(word, slot),
            None => key.long(),
        };
        loop {
            match self.slots[slot] {
                VACANT => break,
                id => {
                    let word = self.words[id as usize];
                    if word & LONG == LONG && self.long[span(word)] == *bytes {
                        return id;
                    }
                    slot = (slot + 1) & (self.slots.len() - 1);
                }
            }
        }
        self.slots[slot] = self.words.len() as u32;
        self.add_long(bytes)
    }

    fn add_long(&mut self, bytes: &[u8]) -> u32 {
        let word = LONG | (bytes.len() as u128) << 64 | self.long.len() as u128;
        self.long.extend_from_slice(bytes);
        self.key_bytes += bytes.len();
        self.add(word)
    }

    /// Whether keys have places.
    pub(crate) fn have_places(&self) -> bool {
        !self.places.is_empty()
    }

    /// The numbers of all keys, in the order of their places.
    pub(crate) fn by_place(&self) -> impl Iterator<Item = u32> {
        self.places.iter().copied().filter(|&id| id != VACANT)
    }

    /// The number of the key at `place`, if there is one.
    #[inline]
    pub(crate) fn at(&self, place: usize) -> Option<u32> {
        self.places.get(place).copied().filter(|&id| id != VACANT)
    }

    /// Adds a new key at `place`.
    pub(crate) fn add_at(&mut self, place: usize, key: &Word) -> u32 {
        if self.places.len() <= place {
            self.places.resize(place + 1, VACANT);
        }
        self.places[place] = self.words.len() as u32;
        match key.short() {
            Some(word) => {
                // The length is the highest byte.
                self.key_bytes += (word >> 120) as usize;
                self.add(word)
            }
            None => self.add_long(key.long()),
        }
    }

    #[cold]
    fn grow(&mut self) {
        let count = 2 * self.slots.len();
        self.fill_slots(count);
    }

    /// Rebuilds the table with `count` slots.
    fn fill_slots(&mut self, count: usize) {
        self.slots.clear();
        self.slots.resize(count, VACANT);
        let shift = self.shift();
        for (id, &word) in (0..).zip(&self.words) {
            let hash = match word & LONG == LONG {
                true => codec::hash(&self.long[span(word)]),
                false => codec::hash_word(word),
            };
            let mut slot = (hash >> shift) as usize;
            while self.slots[slot] != VACANT {
                slot = (slot + 1) & (count - 1);
            }
            self.slots[slot] = id;
        }
    }

    /// Removes all keys but the first `count`.
    pub(crate) fn truncate(&mut self, count: usize) {
        if count == self.words.len() {
            return;
        }
        self.words.truncate(count);
        for id in &mut self.places {
            if *id as usize >= count {
                *id = VACANT;
            }
        }
        if self.places.is_empty() {
            self.fill_slots(self.slots.len());
        }
    }

    /// Removes all keys; the tables keep their size.
    pub(crate) fn clear(&mut self) {
        self.words.clear();
        self.slots.fill(VACANT);
        self.places.fill(VACANT);
        self.long.clear();
        self.key_bytes = 0;
        self.staged.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn word(text: &str) -> Word {
        let mut word = Word::default();
        word.encode(&text).unwrap();
        word
    }

    #[test]
    fn every_key_has_one_number_whatever_its_length() {
        let (mut keys, mut ids, mut known) = (Keys::default(), Vec::new(), HashMap::new());
        let texts =
            |n: usize| "abcdefghijklmnopqrstuvwxyz"[..n % 26].to_owned() + &(n % 977).to_string();
        for n in 0..20_000 {
            let text = texts(n);
            let key = word(&text);
            ids.clear();
            match key.short() {
                Some(short) if n % 3 > 0 => {
                    keys.stage(short);
                    keys.look_up(&mut ids);
                }
                _ => ids.push(keys.id(&key)),
            }
            let next = known.len() as u32;
            assert_eq!(*known.entry(text).or_insert(next), ids[0]);
        }
        assert_eq!(keys.len(), known.len());
        for (text, &id) in &known {
            let mut expected = Vec::new();
            codec::encode(&text.as_str(), &mut expected).unwrap();
            assert_eq!(keys.get(id as usize, &mut [0; 16]), expected);
        }
        keys.truncate(5);
        let again = keys.id(&word(&texts(3)));
        assert_eq!((again, keys.id(&word("new"))), (known[&texts(3)], 5));
        keys.clear();
        assert_eq!((keys.len(), keys.bytes(), keys.id(&word("new"))), (0, 0, 0));
    }
}
