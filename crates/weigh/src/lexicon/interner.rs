//! Exact ids for the raw terms of one chunk: dense, in order of first occurrence.
//!
//! A term of up to 15 bytes *is* its key: the bytes and the length in one 128-bit word. So one comparison decides
//! equality, and no term is stored or reached by a pointer. The key of a longer term is the place of its first
//! occurrence in the chunk. Ids point into a dense array of keys. Frequent terms occur early, so the part of the array
//! in constant use stays in the cache.

use std::cmp::Ordering;

use tokapi_storage::mix::fold;
use tokapi_storage::prefetch::prefetch;

/// The length of the longest term that is its own key.
const INLINE: usize = 15;
/// The length byte of a key that holds the place of a longer term.
const LONG: u8 = 0xff;
/// An unused slot.
const EMPTY: u32 = u32::MAX;

/// The key of a term, together with its text in the chunk: see the [module](self).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Key(u128);

impl Key {
    /// The key of the short term `text[start..end]`. At least 16 bytes follow `start`.
    #[inline]
    fn short(text: &[u8], start: usize, length: usize) -> Key {
        debug_assert!(length <= INLINE);
        let word: [u8; 16] = text[start..start + 16].try_into().expect("16 bytes");
        let mask = !(u128::MAX << (8 * length));
        Key(u128::from_le_bytes(word) & mask | (length as u128) << 120)
    }

    /// The key of the long term that first occurs at `text[start..start + length]`.
    fn long(start: usize, length: usize) -> Key {
        Key(u128::from(LONG) << 120 | (length as u128) << 64 | start as u128)
    }

    fn is_long(self) -> bool {
        (self.0 >> 120) as u8 == LONG
    }

    /// The place of a long term.
    fn span(self) -> std::ops::Range<usize> {
        // The fields as `Key::long` packed them.
        let (start, length) = (
            self.0 as u64 as usize,
            (self.0 >> 64) as usize & ((1 << 48) - 1),
        );
        start..start + length
    }

    /// The term's bytes, from `text` or stored in `word`.
    #[inline]
    pub(crate) fn bytes<'a>(self, text: &'a [u8], word: &'a mut [u8; 16]) -> &'a [u8] {
        if self.is_long() {
            return &text[self.span()];
        }
        *word = self.0.to_le_bytes();
        let length = usize::from(word[INLINE]);
        &word[..length]
    }

    /// A number with the order of the terms' bytes, except that long terms with the same first 15 bytes are equal.
    #[inline]
    fn order(self, text: &[u8]) -> u128 {
        if self.is_long() {
            let start = self.span().start;
            let word: [u8; 16] = text[start..start + 16].try_into().expect("16 bytes");
            return u128::from_be_bytes(word) | u128::from(LONG);
        }
        self.0.swap_bytes()
    }

    /// The term's first 8 bytes, as a number that orders terms that differ in them.
    #[inline]
    pub(crate) fn start(self, text: &[u8]) -> u64 {
        (self.order(text) >> 64) as u64
    }

    /// The order of the terms' bytes.
    pub(crate) fn compare(self, other: Key, text: &[u8]) -> Ordering {
        let (a, b) = (self.order(text), other.order(text));
        a.cmp(&b)
            .then_with(|| match self.is_long() && other.is_long() {
                true => text[self.span()].cmp(&text[other.span()]),
                false => Ordering::Equal,
            })
    }
}

/// The [`Key::start`] of `term`.
pub(crate) fn start(term: &[u8]) -> u64 {
    let mut word = [0; 8];
    let length = term.len().min(8);
    word[..length].copy_from_slice(&term[..length]);
    u64::from_be_bytes(word)
}

/// Terms looked up together, so that their cache misses overlap.
const BATCH: usize = 16;

/// A term on its way to its id.
#[derive(Clone, Copy)]
struct Entry {
    key: Key,
    hash: u64,
    id: u32,
}

impl Entry {
    const NONE: Entry = Entry {
        key: Key(0),
        hash: 0,
        id: EMPTY,
    };
}

/// The table of the terms of one chunk.
pub(crate) struct Interner {
    /// Ids, or `EMPTY`, by hash. The size is a power of two, and at most half is used.
    slots: Vec<u32>,
    keys: Vec<Key>,
    seed: u64,
    /// The bits of the hash that count: all, unless a test forces collisions.
    hash_mask: u64,
}

impl Interner {
    /// An empty table. Only the bits in `hash_mask` distinguish hashes.
    pub(crate) fn new(hash_mask: u64) -> Self {
        use std::hash::{BuildHasher, RandomState};
        Interner {
            slots: vec![EMPTY; 1 << 10],
            keys: Vec::new(),
            // No two processes share a seed, so no text can be crafted to collide.
            seed: RandomState::new().hash_one(0) | 1,
            hash_mask,
        }
    }

    /// The terms, by id.
    pub(crate) fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// Forgets all terms; the table keeps its size.
    pub(crate) fn clear(&mut self) {
        self.keys.clear();
        self.slots.fill(EMPTY);
    }

    /// Appends to `ids` the ids of the terms in `text`. `edges` are pairs of start and end, counted from `base`.
    pub(crate) fn intern(&mut self, text: &[u8], base: usize, edges: &[u32], ids: &mut Vec<u32>) {
        // While one batch is looked up, the slots of the next are prefetched.
        let mut ready = [Entry::NONE; BATCH];
        let mut next = [Entry::NONE; BATCH];
        let mut batches = edges.chunks(2 * BATCH);
        let mut count = self.prepare(text, base, batches.next().unwrap_or_default(), &mut ready);
        while count > 0 {
            let next_count =
                self.prepare(text, base, batches.next().unwrap_or_default(), &mut next);
            if self.keys.len() + BATCH > self.slots.len() / 2 {
                self.grow(text);
            }
            let shift = self.shift();
            for entry in &mut ready[..count] {
                entry.id = self.slots[(entry.hash >> shift) as usize];
                prefetch(&self.keys, entry.id as usize);
            }
            let before = ids.len();
            ids.resize(before + count, EMPTY);
            for (into, entry) in ids[before..].iter_mut().zip(&ready) {
                let found = self.keys.get(entry.id as usize) == Some(&entry.key);
                *into = match found {
                    true => entry.id,
                    false => self.find_or_add(entry.key, (entry.hash >> shift) as usize, text),
                };
            }
            std::mem::swap(&mut ready, &mut next);
            count = next_count;
        }
    }

    /// Makes entries for the terms between `edges`, and prefetches their slots.
    #[inline(always)]
    fn prepare(
        &self,
        text: &[u8],
        base: usize,
        edges: &[u32],
        entries: &mut [Entry; BATCH],
    ) -> usize {
        let shift = self.shift();
        for (entry, pair) in entries.iter_mut().zip(edges.chunks_exact(2)) {
            let (start, end) = (base + pair[0] as usize, base + pair[1] as usize);
            entry.key = match end - start <= INLINE {
                true => Key::short(text, start, end - start),
                false => Key::long(start, end - start),
            };
            entry.hash = self.hash(entry.key, text);
            prefetch(&self.slots, (entry.hash >> shift) as usize);
        }
        edges.len() / 2
    }

    /// The shift that turns a hash into a slot.
    #[inline]
    fn shift(&self) -> u32 {
        64 - self.slots.len().trailing_zeros()
    }

    /// Probes from `slot` to the term's id. A new term gets the next id.
    #[inline(never)]
    fn find_or_add(&mut self, key: Key, mut slot: usize, text: &[u8]) -> u32 {
        loop {
            match self.slots[slot] {
                EMPTY => {
                    // A chunk of over 2^32 distinct terms is refused before.
                    let id = self.keys.len() as u32;
                    self.slots[slot] = id;
                    self.keys.push(key);
                    return id;
                }
                id if same(self.keys[id as usize], key, text) => return id,
                _ => slot = (slot + 1) & (self.slots.len() - 1),
            }
        }
    }

    #[inline]
    fn hash(&self, key: Key, text: &[u8]) -> u64 {
        // The two halves of the key; for a long term, those of a digest of its bytes.
        let word = if key.is_long() {
            self.digest(&text[key.span()])
        } else {
            key.0
        };
        fold(
            word as u64 ^ self.seed,
            (word >> 64) as u64 ^ 0x9e37_79b9_7f4a_7c15,
        ) & self.hash_mask
    }

    #[cold]
    fn digest(&self, bytes: &[u8]) -> u128 {
        let mut state = self.seed;
        for chunk in bytes.chunks(16) {
            let mut word = [0; 16];
            word[..chunk.len()].copy_from_slice(chunk);
            let word = u128::from_le_bytes(word);
            state = fold(
                state ^ word as u64,
                (word >> 64) as u64 ^ 0xd6e8_feb8_6659_fd93,
            );
        }
        u128::from(state) << 64 | bytes.len() as u128
    }

    fn grow(&mut self, text: &[u8]) {
        let size = self.slots.len() * 2;
        let shift = 64 - size.trailing_zeros();
        let mut slots = vec![EMPTY; size];
        for (id, &key) in self.keys.iter().enumerate() {
            let mut slot = (self.hash(key, text) >> shift) as usize;
            while slots[slot] != EMPTY {
                slot = (slot + 1) & (size - 1);
            }
            slots[slot] = id as u32;
        }
        self.slots = slots;
    }
}

/// Whether two keys are the same term. Long terms are compared by their bytes.
#[inline]
fn same(a: Key, b: Key, text: &[u8]) -> bool {
    a == b || (a.is_long() && b.is_long() && text[a.span()] == text[b.span()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    /// Ids by definition: a map from string to order of first occurrence.
    fn expected(words: &[String]) -> Vec<u32> {
        let mut ids = HashMap::new();
        words
            .iter()
            .map(|word| {
                let next = ids.len() as u32;
                *ids.entry(word).or_insert(next)
            })
            .collect()
    }

    fn interned(words: &[String], hash_mask: u64) -> (Vec<u32>, Vec<Vec<u8>>) {
        let mut text: Vec<u8> = Vec::new();
        let mut edges = Vec::new();
        for word in words {
            edges.push(text.len() as u32);
            text.extend(word.as_bytes());
            edges.push(text.len() as u32);
            text.push(b' ');
        }
        text.extend([b' '; 64]);
        let mut interner = Interner::new(hash_mask);
        let mut ids = Vec::new();
        interner.intern(&text, 0, &edges, &mut ids);
        let terms = interner
            .keys()
            .iter()
            .map(|key| key.bytes(&text, &mut [0; 16]).to_vec());
        (ids, terms.collect())
    }

    proptest! {
        #[test]
        fn ids_are_exact_whatever_the_hashes(
            words in prop::collection::vec("[ab]{1,3}|[a\u{0}]{1,17}|a{14,40}b?", 0..400),
            hash_mask in prop::sample::select(vec![u64::MAX, 0, 1 << 63, 3 << 60]),
        ) {
            let (ids, terms) = interned(&words, hash_mask);
            prop_assert_eq!(&ids, &expected(&words));
            for (word, &id) in words.iter().zip(&ids) {
                prop_assert_eq!(word.as_bytes(), &terms[id as usize][..]);
            }
        }
    }

    #[test]
    fn grows_past_many_terms() {
        let words: Vec<String> = (0..200_000).map(|n| format!("t{n}")).collect();
        let (ids, terms) = interned(&words, u64::MAX);
        assert!(ids.iter().enumerate().all(|(i, &id)| i as u32 == id));
        assert_eq!(terms.len(), 200_000);
    }
}
