//! The keys that a worker holds: each once, with a number of its own.
//!
//! A key of up to 15 bytes *is* a word of 128 bits, bytes and length, so that one comparison
//! decides; of a longer one the word says where it stands. Numbers point into a dense array of
//! words: frequent keys come early, so that the part of it that is used all the time stays in the
//! cache. Short keys are looked up some at a time, so that their cache misses overlap.

use super::codec::{self, Word};
use tokapi_storage::prefetch::prefetch;

/// No key.
const VACANT: u32 = u32::MAX;
/// The length of a word that only says where a key stands.
const LONG: u128 = 0xff << 120;
/// Keys looked up at a time.
pub(crate) const BATCH: usize = 32;

/// Keys by number, in the order of first occurrence; found by hash, or by place in an array.
pub(crate) struct Keys {
    words: Vec<u128>,
    /// Numbers by hash; a power of two, at most half full.
    slots: Vec<u32>,
    /// Keys that do not fit into a word, end to end.
    long: Vec<u8>,
    /// Bytes of all keys together.
    key_bytes: usize,
    /// Short keys and their hashes, to be looked up.
    staged: Vec<(u128, u64)>,
    /// Numbers by place, where keys have places.
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

/// Where a long key stands.
fn span(word: u128) -> std::ops::Range<usize> {
    // The fields as `Keys::id` packed them.
    let (start, length) = (word as u64 as usize, (word & !LONG) >> 64);
    start..start + length as usize
}

impl Keys {
    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    /// The bytes of key `id`, which are here or put into `bytes`.
    #[inline]
    pub(crate) fn get<'a>(&'a self, id: usize, bytes: &'a mut [u8; 16]) -> &'a [u8] {
        let word = self.words[id];
        if word & LONG == LONG {
            return &self.long[span(word)];
        }
        *bytes = word.to_le_bytes();
        &bytes[..usize::from(bytes[15])]
    }

    /// Has the word of key `id` fetched.
    #[inline]
    pub(crate) fn prefetch(&self, id: u32) {
        prefetch(&self.words, id as usize);
    }

    /// The bytes of all keys together.
    pub(crate) fn bytes(&self) -> usize {
        self.key_bytes
    }

    /// What all keys take in memory, about.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.words.len() * size_of::<u128>()
            + (self.slots.len() + self.places.len()) * size_of::<u32>()
            + self.long.len()
    }

    /// Takes a key that fits into a word, to be looked up with others.
    #[inline]
    pub(crate) fn stage(&mut self, key: u128) {
        let hash = codec::hash_word(key);
        prefetch(&self.slots, (hash >> self.shift()) as usize);
        self.staged.push((key, hash));
    }

    /// How many keys are to be looked up.
    #[inline]
    pub(crate) fn staged(&self) -> usize {
        self.staged.len()
    }

    /// Forgets the keys that have not been looked up.
    pub(crate) fn unstage(&mut self) {
        self.staged.clear();
    }

    /// Adds the numbers of the staged keys to `ids`.
    #[inline]
    pub(crate) fn look_up(&mut self, ids: &mut Vec<u32>) {
        if self.staged.is_empty() {
            // Keys that have places are in no slot, and may be many more than there are slots.
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

    /// How far a hash is shifted to give a slot.
    #[inline]
    fn shift(&self) -> u32 {
        64 - self.slots.len().trailing_zeros()
    }

    /// Walks on from `slot` to the number of a short key, or gives it the next one.
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

    /// The number of a key of any length, looked up at once.
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

    /// The numbers of all keys, by their places.
    pub(crate) fn by_place(&self) -> impl Iterator<Item = u32> {
        self.places.iter().copied().filter(|&id| id != VACANT)
    }

    /// The number of the key at `place`, if it is known.
    #[inline]
    pub(crate) fn at(&self, place: usize) -> Option<u32> {
        self.places.get(place).copied().filter(|&id| id != VACANT)
    }

    /// Adds a key, which is not known, at `place`.
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

    /// Makes a table of `count` slots for all keys.
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

    /// Forgets all keys but the first `count`.
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

    /// Forgets all keys; the tables keep their size.
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
