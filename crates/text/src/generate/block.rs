//! A block: some consecutive documents, rendered. Blocks are made in parallel, each by one thread.

use super::format::{Spelling, id};
use super::random::Stream;
use super::sampler::Sampler;
use super::vocabulary::Vocabulary;
use super::{LENGTH_MU, LENGTH_SIGMA};
use crate::corpus::Format;
use tokapi_storage::error::Result;

/// Made-up words kept ready: 2 MiB of slots, which serve 97.8 % of the draws; the others are spelled when drawn. 500 MB
/// take 0.54 s on one core, against 0.57 s with half as many words and 0.56 s with twice as many.
const READY: usize = 131_072;

/// Words drawn at a time.
const BATCH: usize = 128;

/// A term and the separator after it, 16 bytes in little-endian order. The first 15 are the text; the last is the
/// length or [`ELSEWHERE`].
type Slot = u128;

/// Marks a slot that points into `Renderer::long`: the low half is the position, and the rest of the high half the
/// length.
const ELSEWHERE: u8 = u8::MAX;

/// The state shared by all documents of a collection.
pub(super) struct Renderer<'a> {
    seed: u64,
    length_mu: f64,
    format: Format,
    vocabulary: &'a Vocabulary,
    sampler: Sampler,
    slots: Vec<Slot>,
    long: Vec<u8>,
}

/// One document of a block.
pub(super) struct Document {
    /// The start and end in the block's text.
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) words: u64,
    /// The bytes that it adds to the size of the collection.
    pub(super) bytes: u64,
}

/// Consecutive documents. The memory is reused from one fill to the next.
#[derive(Default)]
pub(super) struct Block {
    /// Number of the first document, counted from 0.
    pub(super) first: u64,
    pub(super) documents: Vec<Document>,
    /// The text, followed by bytes without meaning.
    buffer: Vec<u8>,
}

impl Block {
    /// The text of all documents.
    pub(super) fn text(&self) -> &[u8] {
        &self.buffer[..self.documents.last().map_or(0, |document| document.end)]
    }

    /// The text of one document.
    pub(super) fn text_of(&self, document: &Document) -> &[u8] {
        &self.buffer[document.start..document.end]
    }
}

impl<'a> Renderer<'a> {
    /// # Errors
    /// [`tokapi_storage::error::Error::Usage`] if a term of the vocabulary cannot be written in the format.
    pub(super) fn new(
        vocabulary: &'a Vocabulary,
        format: Format,
        seed: u64,
        words: Option<f64>,
    ) -> Result<Self> {
        let sampler = vocabulary.sampler();
        let mut renderer = Self {
            seed,
            // The mean of the log-normal distribution is exp(mu + sigma^2 / 2).
            length_mu: words.map_or(LENGTH_MU, |words| {
                libm::log(words.max(1.0)) - LENGTH_SIGMA * LENGTH_SIGMA / 2.0
            }),
            format,
            vocabulary,
            sampler,
            slots: Vec::new(),
            long: Vec::new(),
        };
        let mut spelled = Vec::new();
        for term in vocabulary.listed() {
            spelled.clear();
            format.push_term(term, &mut spelled)?;
            spelled.push(format.separator());
            let slot = renderer.slot(&spelled);
            renderer.slots.push(slot);
        }
        let ready = READY.min(vocabulary.ranks() as usize);
        for rank in renderer.slots.len()..ready {
            let slot = renderer.made_up(rank as u32);
            renderer.slots.push(slot);
        }
        Ok(renderer)
    }

    /// Replaces the content of `block` by `count` documents, from number `first`.
    pub(super) fn fill(&self, block: &mut Block, first: u64, count: u64) {
        block.first = first;
        block.documents.clear();
        let mut at = 0;
        let mut prefix = Vec::new();
        let mut ranks = [0; BATCH];
        for number in first..first + count {
            prefix.clear();
            self.format.push_prefix(number, &mut prefix);
            let start = at;
            let mut stream = Stream::new(self.seed, number);
            let words = stream.log_normal_length(self.length_mu, LENGTH_SIGMA);
            // Room for copying every word as a whole slot; long words reserve their own.
            let frame = prefix.len() + self.format.suffix().len();
            let room = words as usize * size_of::<Slot>() + frame;
            if block.buffer.len() < at + room {
                block.buffer.resize(at + room, 0);
            }
            at = put(&mut block.buffer, at, &prefix);
            let mut left = words;
            while left > 0 {
                let batch = left.min(BATCH as u64);
                left -= batch;
                let ranks = &mut ranks[..batch as usize];
                self.sampler.draw(&mut stream, ranks);
                for &rank in &*ranks {
                    let slot = match self.slots.get(rank as usize) {
                        Some(slot) => *slot,
                        None => self.made_up(rank),
                    };
                    let length = (slot >> 120) as u8;
                    if length == ELSEWHERE {
                        let term = self.long_term(slot);
                        let needed = block.buffer.len() + term.len();
                        block.buffer.resize(needed, 0);
                        at = put(&mut block.buffer, at, term);
                    } else {
                        // The whole slot: a copy of 16 bytes is cheaper than a copy of the word's exact length.
                        put(&mut block.buffer, at, &slot.to_le_bytes());
                        at += usize::from(length);
                    }
                }
            }
            if !self.format.ends_with_separator() {
                at -= 1;
            }
            at = put(&mut block.buffer, at, self.format.suffix());
            let id_bytes = if self.format == Format::Parquet {
                id(number).len()
            } else {
                0
            };
            let bytes = (at - start + id_bytes) as u64;
            block.documents.push(Document {
                start,
                end: at,
                words,
                bytes,
            });
        }
    }

    fn slot(&mut self, spelled: &[u8]) -> Slot {
        if spelled.len() < 16 {
            let mut bytes = [0; 16];
            bytes[..spelled.len()].copy_from_slice(spelled);
            bytes[15] = spelled.len() as u8;
            return Slot::from_le_bytes(bytes);
        }
        // A term is far shorter than 2^56 bytes: the marker stands above its length.
        let (start, length) = (self.long.len() as u128, spelled.len() as u128);
        self.long.extend_from_slice(spelled);
        start | length << 64 | u128::from(ELSEWHERE) << 120
    }

    #[cold]
    fn long_term(&self, slot: Slot) -> &[u8] {
        // The inverse of the packing in `slot`: both were usize.
        let (start, length) = (slot as u64 as usize, (slot << 8 >> 72) as usize);
        &self.long[start..start + length]
    }

    #[inline(never)]
    fn made_up(&self, rank: u32) -> Slot {
        let word = self.vocabulary.made_up(rank);
        let mut bytes = word.letters;
        bytes[word.length] = self.format.separator();
        // At most 13 letters.
        bytes[15] = (word.length + 1) as u8;
        Slot::from_le_bytes(bytes)
    }
}

/// Copies `bytes` to a position; returns the position after them.
#[inline(always)]
fn put(buffer: &mut [u8], at: usize, bytes: &[u8]) -> usize {
    buffer[at..at + bytes.len()].copy_from_slice(bytes);
    at + bytes.len()
}
