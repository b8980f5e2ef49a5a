//! Word counters for comparison: two by the book, one made for this text format.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Terms and their counts, by term.
pub type Counts = Vec<(Vec<u8>, u64)>;

/// The size of the text that a thread takes at a time.
const SPLIT_BYTES: usize = 4 << 20;

/// Runs `work` on splits of `text`, which end at line ends, on all threads. Returns the result of
/// `end` for each thread's state.
fn over_splits<S, T: Send>(
    text: &[u8],
    threads: usize,
    begin: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, &[u8]) + Sync,
    end: impl Fn(S) -> T + Sync,
) -> Vec<T> {
    let line_end = |at: usize| match text.get(at..) {
        None => text.len(),
        Some(rest) => {
            at + rest
                .iter()
                .position(|&byte| byte == b'\n')
                .map_or(rest.len(), |end| end + 1)
        }
    };
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let mut state = begin();
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        let from = match number {
                            0 => 0,
                            number => line_end(number * SPLIT_BYTES),
                        };
                        if number * SPLIT_BYTES >= text.len() {
                            break end(state);
                        }
                        let to = line_end((number + 1) * SPLIT_BYTES);
                        work(&mut state, &text[from..to]);
                    }
                })
            })
            .collect();
        let joined = workers.into_iter().map(|worker| worker.join());
        joined
            .map(|outcome| outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

/// The terms of a text in the format `terms`.
fn terms(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&byte| byte == b'\n')
        .filter(|term| !term.is_empty())
}

/// MapReduce with the standard library's maps and locks. Pairs go one by one into shared
/// partitions. Each partition is a map behind a lock and combines on insert.
pub fn shared_maps(text: &[u8], threads: usize) -> Counts {
    let partitions: Vec<Mutex<HashMap<Vec<u8>, u64>>> =
        (0..16 * threads).map(|_| Mutex::default()).collect();
    let hasher = RandomState::new();
    let work = |_: &mut (), split: &[u8]| {
        for term in terms(split) {
            // The remainder is below the number of partitions.
            let partition = (hasher.hash_one(term) % partitions.len() as u64) as usize;
            let partition = partitions[partition].lock();
            let mut counts = partition.unwrap_or_else(PoisonError::into_inner);
            match counts.get_mut(term) {
                Some(count) => *count += 1,
                None => {
                    counts.insert(term.to_vec(), 1);
                }
            }
        }
    };
    over_splits(text, threads, || (), work, |()| ());
    let partitions = partitions.into_iter().map(Mutex::into_inner);
    let partitions = partitions.map(|counts| counts.unwrap_or_else(PoisonError::into_inner));
    sorted(partitions.flatten().collect())
}

/// The design of Phoenix++, with the standard library's maps. Every thread combines in its own
/// maps, one a partition, and adds them to the shared maps behind locks at the end.
pub fn own_maps(text: &[u8], threads: usize) -> Counts {
    let count = 4 * threads;
    let partitions: Vec<Mutex<HashMap<Vec<u8>, u64>>> =
        (0..count).map(|_| Mutex::default()).collect();
    let hasher = RandomState::new();
    let work = |maps: &mut Vec<HashMap<Vec<u8>, u64>>, split: &[u8]| {
        for term in terms(split) {
            // As above.
            let counts = &mut maps[(hasher.hash_one(term) % count as u64) as usize];
            match counts.get_mut(term) {
                Some(count) => *count += 1,
                None => {
                    counts.insert(term.to_vec(), 1);
                }
            }
        }
    };
    let end = |maps: Vec<HashMap<Vec<u8>, u64>>| {
        for (map, partition) in maps.into_iter().zip(&partitions) {
            let mut counts = partition.lock().unwrap_or_else(PoisonError::into_inner);
            for (term, count) in map {
                *counts.entry(term).or_default() += count;
            }
        }
    };
    over_splits(text, threads, || vec![HashMap::new(); count], work, end);
    let partitions = partitions.into_iter().map(Mutex::into_inner);
    let partitions = partitions.map(|counts| counts.unwrap_or_else(PoisonError::into_inner));
    sorted(partitions.flatten().collect())
}

/// Made for this text format only. A term of up to 15 bytes is one word, bytes and length, in an
/// open table with its count; longer terms are in a map.
pub fn special(text: &[u8], threads: usize) -> Counts {
    let tables = over_splits(text, threads, Table::new, Table::count, |table| table);
    let mut tables = tables.into_iter();
    let mut all = tables.next().unwrap_or_else(Table::new);
    for table in tables {
        for (key, count) in table.slots.into_iter().filter(|&(key, _)| key != 0) {
            all.add(key, count);
        }
        for (term, count) in table.long {
            *all.long.entry(term).or_default() += count;
        }
    }
    let short = all.slots.into_iter().filter(|&(key, _)| key != 0);
    let short = short.map(|(key, count)| {
        let bytes = key.to_le_bytes();
        (bytes[..usize::from(bytes[15])].to_vec(), count)
    });
    sorted(short.chain(all.long).collect())
}

struct Table {
    /// Keys and counts. The size is a power of two, and at most half of the slots are used; 0 is
    /// no key.
    slots: Vec<(u128, u64)>,
    used: usize,
    long: HashMap<Vec<u8>, u64>,
}

impl Table {
    fn new() -> Self {
        Table {
            slots: vec![(0, 0); 1 << 16],
            used: 0,
            long: HashMap::new(),
        }
    }

    fn count(&mut self, text: &[u8]) {
        let mut from = 0;
        // The position of a line end in the 16 bytes from `from` on, found without a branch a
        // byte.
        while let Some(word) = text
            .get(from..from + 16)
            .and_then(|word| word.try_into().ok())
        {
            let word = u128::from_le_bytes(word);
            let ones = u128::MAX / 255;
            let zero_at_end = word ^ (ones * 10);
            let found = zero_at_end.wrapping_sub(ones) & !zero_at_end & (ones << 7);
            let length = (found.trailing_zeros() / 8) as usize;
            if length >= 16 {
                from = self.count_long(text, from);
                continue;
            }
            if length > 0 {
                let key = word & !(u128::MAX << (8 * length)) | (length as u128) << 120;
                self.add(key, 1);
            }
            from += length + 1;
        }
        while from < text.len() {
            from = self.count_long(text, from);
        }
    }

    /// Counts the term at `from`, of any length; returns the start of the next term.
    #[cold]
    fn count_long(&mut self, text: &[u8], from: usize) -> usize {
        let rest = &text[from..];
        let length = rest
            .iter()
            .position(|&byte| byte == b'\n')
            .unwrap_or(rest.len());
        let term = &rest[..length];
        if (1..16).contains(&length) {
            let mut word = [0; 16];
            word[..length].copy_from_slice(term);
            // Below 16.
            word[15] = length as u8;
            self.add(u128::from_le_bytes(word), 1);
        } else if length > 0 {
            *self.long.entry(term.to_vec()).or_default() += 1;
        }
        from + length + 1
    }

    #[inline]
    fn add(&mut self, key: u128, count: u64) {
        let mask = self.slots.len() - 1;
        let product = u128::from(key as u64 ^ 0x9e37_79b9_7f4a_7c15)
            * u128::from((key >> 64) as u64 ^ 0xd6e8_feb8_6659_fd93);
        // Masked, so it fits.
        let mut slot = (product as u64 ^ (product >> 64) as u64) as usize & mask;
        loop {
            let (held, sum) = &mut self.slots[slot];
            if *held == key {
                *sum += count;
                return;
            }
            if *held == 0 {
                (*held, *sum) = (key, count);
                self.used += 1;
                if self.used > self.slots.len() / 2 {
                    self.grow();
                }
                return;
            }
            slot = (slot + 1) & mask;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let slots = vec![(0, 0); 2 * self.slots.len()];
        let slots = std::mem::replace(&mut self.slots, slots);
        self.used = 0;
        for (key, count) in slots.into_iter().filter(|&(key, _)| key != 0) {
            self.add(key, count);
        }
    }
}

fn sorted(mut counts: Counts) -> Counts {
    counts.sort_unstable();
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_count_the_same() {
        let long = "a_term_of_sixteen_and_more\nexactly_fifteen\nexactly_sixteen_\n";
        let text = format!(
            "to\nbe\n\nor\n{long}not\nto\n{long}{}be",
            "x\ny\n".repeat(1 << 20)
        );
        let text = text.as_bytes();
        let mut expected: HashMap<Vec<u8>, u64> = HashMap::new();
        for term in terms(text) {
            *expected.entry(term.to_vec()).or_default() += 1;
        }
        let expected = sorted(expected.into_iter().collect());
        for threads in [1, 3] {
            assert_eq!(shared_maps(text, threads), expected);
            assert_eq!(own_maps(text, threads), expected);
            assert_eq!(special(text, threads), expected);
        }
    }
}
