//! Keys and payloads, column by column: the part of a file that is sorted at a time.

use rayon::prelude::*;

use super::text::{self, Lines};
use super::{Items, KeyType, Sort};
use tokapi_storage::error::Result;
use tokapi_storage::progress::Progress;

/// A word of keys and payloads: `u32` or `u64`.
pub(crate) trait Word: bytemuck::Pod + Ord + Send + Sync {
    /// The bytes of a word.
    const BYTES: usize;

    fn sort(engine: &mut dyn Sort, columns: &mut Columns<Self>) -> Result<()>;
    fn sort_keys(engine: &mut dyn Sort, keys: &mut [Self]) -> Result<()>;
    fn order(key_type: KeyType, keys: &mut [Self]);
    fn restore(key_type: KeyType, keys: &mut [Self]);
    fn parse(lines: &Lines<'_>, text: &[u8], line: u64, columns: &mut Columns<Self>) -> Result<()>;
    fn write_key(key_type: KeyType, key: Self, text: &mut Vec<u8>);
    fn write_payload(payload: Self, text: &mut Vec<u8>);
    fn items(pairs: bool) -> Items;
}

/// Keys, each with a payload or all without.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Columns<W> {
    pub keys: Vec<W>,
    /// The payloads; empty without pairs.
    pub payloads: Vec<W>,
    pub pairs: bool,
}

macro_rules! word {
    ($word:ty, $keys:ident, $pairs:ident, $order:ident, $restore:ident, $write:ident, $items:expr) => {
        impl Word for $word {
            const BYTES: usize = size_of::<$word>();

            fn sort(engine: &mut dyn Sort, columns: &mut Columns<Self>) -> Result<()> {
                match columns.pairs {
                    true => engine.$pairs(&mut columns.keys, &mut columns.payloads),
                    false => engine.$keys(&mut columns.keys),
                }
            }

            fn sort_keys(engine: &mut dyn Sort, keys: &mut [Self]) -> Result<()> {
                engine.$keys(keys)
            }

            fn order(key_type: KeyType, keys: &mut [Self]) {
                key_type.$order(keys);
            }

            fn restore(key_type: KeyType, keys: &mut [Self]) {
                key_type.$restore(keys);
            }

            fn parse(
                lines: &Lines<'_>,
                text: &[u8],
                line: u64,
                columns: &mut Columns<Self>,
            ) -> Result<()> {
                match columns.pairs {
                    true => lines.$pairs(text, line, &mut columns.keys, &mut columns.payloads),
                    false => lines.$keys(text, line, &mut columns.keys),
                }
            }

            fn write_key(key_type: KeyType, key: Self, text: &mut Vec<u8>) {
                text::$write(key_type, key, text);
            }

            fn write_payload(payload: Self, text: &mut Vec<u8>) {
                text::write_unsigned(payload.into(), text);
            }

            fn items(pairs: bool) -> Items {
                $items[usize::from(pairs)]
            }
        }
    };
}

word!(
    u32,
    keys32,
    pairs32,
    order32,
    restore32,
    write_key32,
    [Items::Keys32, Items::Pairs32]
);
word!(
    u64,
    keys64,
    pairs64,
    order64,
    restore64,
    write_key64,
    [Items::Keys64, Items::Pairs64]
);

/// The number of words that one thread converts at a time.
const SHARE: usize = 1 << 18;

/// Converts the bits of keys to words of the same order, on all threads.
///
/// # Errors
/// [`Error::Cancelled`](tokapi_storage::error::Error::Cancelled).
pub(super) fn order<W: Word>(keys: &mut [W], key_type: KeyType, progress: &Progress) -> Result<()> {
    keys.par_chunks_mut(SHARE).try_for_each(|keys| {
        progress.check()?;
        W::order(key_type, keys);
        Ok(())
    })
}

/// Converts words back to the bits of keys, on all threads.
///
/// # Errors
/// As for [`order`].
pub(super) fn restore<W: Word>(
    keys: &mut [W],
    key_type: KeyType,
    progress: &Progress,
) -> Result<()> {
    keys.par_chunks_mut(SHARE).try_for_each(|keys| {
        progress.check()?;
        W::restore(key_type, keys);
        Ok(())
    })
}

impl<W: Word> Columns<W> {
    /// Columns without records.
    pub(crate) fn new(pairs: bool) -> Self {
        Columns {
            keys: Vec::new(),
            payloads: Vec::new(),
            pairs,
        }
    }

    /// The number of records.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The bytes of a record.
    pub(crate) fn record_bytes(pairs: bool) -> usize {
        W::BYTES * (1 + usize::from(pairs))
    }

    /// Adds the records in `bytes`, little-endian, key before payload.
    pub(crate) fn append_bytes(&mut self, bytes: &[u8]) {
        let word = |bytes: &[u8]| bytemuck::pod_read_unaligned::<W>(bytes);
        match self.pairs {
            false => {
                let start = self.keys.len();
                self.keys
                    .resize(start + bytes.len() / W::BYTES, W::zeroed());
                let into: &mut [u8] = bytemuck::cast_slice_mut(&mut self.keys[start..]);
                into.copy_from_slice(bytes);
            }
            true => {
                for record in bytes.chunks_exact(2 * W::BYTES) {
                    self.keys.push(word(&record[..W::BYTES]));
                    self.payloads.push(word(&record[W::BYTES..]));
                }
            }
        }
    }

    /// Adds the records of `range` to `bytes`, little-endian, key before payload.
    pub(crate) fn push_bytes(&self, range: std::ops::Range<usize>, bytes: &mut Vec<u8>) {
        let keys = &self.keys[range.clone()];
        match self.pairs {
            false => bytes.extend_from_slice(bytemuck::cast_slice(keys)),
            true => {
                for (key, payload) in keys.iter().zip(&self.payloads[range]) {
                    bytes.extend_from_slice(bytemuck::bytes_of(key));
                    bytes.extend_from_slice(bytemuck::bytes_of(payload));
                }
            }
        }
    }

    /// Makes room for `count` more records.
    pub(crate) fn reserve(&mut self, count: usize) {
        self.keys.reserve(count);
        if self.pairs {
            self.payloads.reserve(count);
        }
    }

    /// Adds the records of a file from `bytes`, little-endian, key before payload.
    pub(crate) fn append_records(&mut self, key_type: KeyType, bytes: &[u8]) {
        let width = key_type.bytes();
        if width == W::BYTES {
            return self.append_bytes(bytes);
        }
        let word = |bytes: &[u8]| {
            let mut word = W::zeroed();
            bytemuck::bytes_of_mut(&mut word)[..width].copy_from_slice(bytes);
            word
        };
        match self.pairs {
            false => self.keys.extend(bytes.chunks_exact(width).map(word)),
            true => {
                for record in bytes.chunks_exact(2 * width) {
                    self.keys.push(word(&record[..width]));
                    self.payloads.push(word(&record[width..]));
                }
            }
        }
    }

    /// Adds the records of `range` to `bytes`, in the layout of a file.
    pub(crate) fn push_records(
        &self,
        key_type: KeyType,
        range: std::ops::Range<usize>,
        bytes: &mut Vec<u8>,
    ) {
        let width = key_type.bytes();
        if width == W::BYTES {
            return self.push_bytes(range, bytes);
        }
        for record in range {
            bytes.extend_from_slice(&bytemuck::bytes_of(&self.keys[record])[..width]);
            if self.pairs {
                bytes.extend_from_slice(&bytemuck::bytes_of(&self.payloads[record])[..width]);
            }
        }
    }

    /// Adds the records of `range` as lines of text.
    pub(crate) fn push_lines(
        &self,
        key_type: KeyType,
        range: std::ops::Range<usize>,
        text: &mut Vec<u8>,
    ) {
        for record in range {
            W::write_key(key_type, self.keys[record], text);
            if self.pairs {
                text.push(b'\t');
                W::write_payload(self.payloads[record], text);
            }
            text.push(b'\n');
        }
    }

    /// Adds the records of `other` in `range`.
    pub(crate) fn append(&mut self, other: &Columns<W>, range: std::ops::Range<usize>) {
        self.keys.extend_from_slice(&other.keys[range.clone()]);
        if self.pairs {
            self.payloads.extend_from_slice(&other.payloads[range]);
        }
    }

    /// Sorts the records by key, stable.
    pub(crate) fn sort(&mut self, engine: &mut dyn Sort) -> Result<()> {
        W::sort(engine, self)
    }

    /// Empties the columns; the memory is kept.
    pub(crate) fn clear(&mut self) {
        self.keys.clear();
        self.payloads.clear();
    }
}
