//! The fast engine on one core. Chunks run on all cores at once.
//!
//! For each chunk: cut and intern every term, which gives a sequence of ids; normalize the distinct raw terms; sort the
//! distinct terms; group the sequence by term with a counting sort that writes the document of every occurrence; count
//! equal neighbours, which gives the frequencies. Nothing is allocated per occurrence, and all buffers are kept for the
//! next chunk.

use super::names::{Name, Names};
use super::{Invert, Inverted};
use crate::lexicon::interner;
use crate::lexicon::interner::{Interner, Key};
use crate::postings::{Frequencies, Postings};
use tokapi_storage::error::{Error, Result};
use tokapi_storage::strings::Strings;
use tokapi_text::analyze::Analyzer;
use tokapi_text::analyze::cut::{Cutter, State};
use tokapi_text::corpus::Chunk;

/// The bytes of text cut at a time. Their edges stay in the first-level cache.
const SEGMENT: usize = 1 << 14;

/// Stands for the new id of a raw term that is dropped.
const DROPPED: u32 = u32::MAX;

/// The fast engine `cpu`: one for each thread. It keeps its buffers from chunk to chunk.
pub struct CpuInverter<'a> {
    analyzer: &'a Analyzer,
    cutter: Cutter,
    interner: Interner,
    edges: Vec<u32>,
    /// The id of every occurrence, in text order.
    occurrences: Vec<u32>,
    /// The number of occurrences of every id.
    counts: Vec<u32>,
    /// The end of every document's occurrences.
    ends: Vec<u32>,
    /// The document of every occurrence, grouped by term.
    documents: Vec<u32>,
    names: Names<'a>,
}

pub(super) fn too_many_terms() -> Error {
    Error::Limit("a chunk has 2^32 or more terms; split its largest document".into())
}

impl<'a> CpuInverter<'a> {
    /// An engine that cuts terms by `analyzer`.
    pub fn new(analyzer: &'a Analyzer) -> Self {
        Self::with_hash_mask(analyzer, u64::MAX)
    }

    /// An engine whose hashes differ only in the bits of `hash_mask`, for tests of collisions.
    #[doc(hidden)]
    pub fn with_hash_mask(analyzer: &'a Analyzer, hash_mask: u64) -> Self {
        CpuInverter {
            analyzer,
            cutter: analyzer.cutter(),
            interner: Interner::new(hash_mask),
            edges: Vec::new(),
            occurrences: Vec::new(),
            counts: Vec::new(),
            ends: Vec::new(),
            documents: Vec::new(),
            names: Names::new(analyzer),
        }
    }

    /// Cuts and interns the whole chunk: fills `occurrences`, `counts` and `ends`.
    fn intern(&mut self, chunk: &mut Chunk) -> Result<()> {
        self.interner.clear();
        self.occurrences.clear();
        self.counts.clear();
        self.ends.clear();
        let spans = &chunk.spans;
        let from = spans.first().map_or(0, |span| span.start);
        let to = spans.last().map_or(0, |span| span.end);
        // Each term is followed by a byte outside of terms.
        if u32::try_from((to - from) / 2 + 1).is_err() {
            return Err(too_many_terms());
        }
        if self.analyzer.folds_ascii() {
            chunk.text[from..to].make_ascii_lowercase();
        }
        let text = &chunk.text[..];
        let mut state = State::default();
        self.edges.clear();
        // Edges count from here. A term that a segment cuts off is carried over.
        let mut base = from;
        let mut at = from;
        // At least one byte of padding is cut too: it ends the last term.
        while at <= to && !spans.is_empty() {
            let end = (at + SEGMENT).min(at + (to + 1 - at).next_multiple_of(64));
            let carried = self.edges.len();
            self.cutter
                .edges(text, at, end, &mut state, &mut self.edges);
            for edge in &mut self.edges[carried..] {
                *edge += (at - base) as u32;
            }
            at = end;
            let whole = self.edges.len() & !1;
            self.take(text, base, whole, spans);
            let open = self.edges[whole..]
                .first()
                .map(|&start| base + start as usize);
            self.edges.clear();
            base = at;
            if let Some(start) = open {
                if at - start > usize::try_from(u32::MAX / 2).unwrap_or(usize::MAX) {
                    return Err(Error::Limit("a term is longer than 2 GiB".into()));
                }
                base = start;
                self.edges.push(0);
            }
        }
        debug_assert!(self.edges.is_empty(), "padding ends the last term");
        self.ends.resize(spans.len(), self.occurrences.len() as u32);
        Ok(())
    }

    /// Interns the terms between the first `whole` edges.
    fn take(
        &mut self,
        text: &[u8],
        base: usize,
        whole: usize,
        spans: &[tokapi_text::corpus::Span],
    ) {
        let before = self.occurrences.len();
        let edges = &self.edges[..whole];
        self.interner
            .intern(text, base, edges, &mut self.occurrences);
        self.counts.resize(self.interner.keys().len(), 0);
        for &id in &self.occurrences[before..] {
            self.counts[id as usize] += 1;
        }
        // Documents end in ascending order. All that end before the start of a term end before the term.
        let mut next_end = spans
            .get(self.ends.len())
            .map_or(usize::MAX, |span| span.end);
        if base + edges.last().map_or(0, |&edge| edge as usize) <= next_end {
            return;
        }
        for (number, pair) in edges.chunks_exact(2).enumerate() {
            while base + pair[0] as usize >= next_end {
                self.ends.push((before + number) as u32);
                next_end = spans
                    .get(self.ends.len())
                    .map_or(usize::MAX, |span| span.end);
            }
        }
    }

    /// The distinct terms in byte order and their ids, if raw terms stay unchanged.
    fn sort_raw(&self, text: &[u8]) -> (Strings, Vec<u32>) {
        let keys = self.interner.keys();
        // Most terms differ within their first 8 bytes, so only these are moved.
        let starts = keys.iter().map(|key| key.start(text));
        let mut order: Vec<(u64, u32)> = starts.zip(0..).collect();
        order.sort_unstable_by(|a, b| {
            a.0.cmp(&b.0)
                .then_with(|| keys[a.1 as usize].compare(keys[b.1 as usize], text))
        });
        let mut terms = Strings::with_capacity(keys.len(), 8 * keys.len());
        for &(_, id) in &order {
            terms.push(keys[id as usize].bytes(text, &mut [0; 16]));
        }
        (terms, order.into_iter().map(|(_, id)| id).collect())
    }

    /// The distinct terms in byte order, if raw terms are normalized, and for each the id that now stands for it.
    /// Rewrites `occurrences`, `counts` and `ends` accordingly.
    fn sort_normalized(&mut self, text: &[u8]) -> (Strings, Vec<u32>) {
        let keys = self.interner.keys();
        let mut named = Vec::with_capacity(keys.len());
        let mut order: Vec<(u64, u32)> = Vec::with_capacity(keys.len());
        for (key, id) in keys.iter().zip(0..) {
            let name = self.names.of(key.bytes(text, &mut [0; 16]));
            named.push(name);
            match name {
                Name::Dropped => {}
                Name::Same => order.push((key.start(text), id)),
                Name::At(place) => order.push((interner::start(self.names.get(place)), id)),
            }
        }
        // Text in a script without cases, or all in lower case.
        if named.iter().all(|&name| name == Name::Same) {
            return self.sort_raw(text);
        }
        let distinct = Distinct {
            keys,
            named,
            names: &self.names,
            text,
        };
        order.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| distinct.compare(a.1, b.1)));
        let (mut terms, mut ids) = (Strings::default(), Vec::new());
        let mut becomes = vec![DROPPED; keys.len()];
        let mut stands = DROPPED;
        for &(_, id) in &order {
            let mut word = [0; 16];
            let term = distinct.term(id, &mut word);
            if terms.is_empty() || terms.get(terms.len() - 1) != term {
                stands = id;
                ids.push(id);
                terms.push(term);
            }
            becomes[id as usize] = stands;
        }
        let drops = order.len() < keys.len();
        if drops {
            self.drop_and_rename(&becomes);
        } else if ids.len() < becomes.len() {
            self.rename(&becomes);
        }
        (terms, ids)
    }

    /// Replaces every id by its new one in `becomes`.
    fn rename(&mut self, becomes: &[u32]) {
        for id in &mut self.occurrences {
            *id = becomes[*id as usize];
        }
        for (id, &becomes) in becomes.iter().enumerate() {
            if becomes as usize != id {
                self.counts[becomes as usize] += std::mem::take(&mut self.counts[id]);
            }
        }
    }

    /// As [`CpuInverter::rename`], and removes dropped terms.
    fn drop_and_rename(&mut self, becomes: &[u32]) {
        let (mut from, mut kept) = (0, 0);
        self.counts.fill(0);
        for end in &mut self.ends {
            for at in std::mem::replace(&mut from, *end)..*end {
                let id = becomes[self.occurrences[at as usize] as usize];
                if id != DROPPED {
                    self.occurrences[kept] = id;
                    self.counts[id as usize] += 1;
                    kept += 1;
                }
            }
            *end = kept as u32;
        }
        self.occurrences.truncate(kept);
    }

    /// Groups `occurrences` by the terms `ids`. Fills `documents`, and turns `counts` into the ends of the groups.
    fn group(&mut self, ids: &[u32]) {
        let mut start = 0;
        for &id in ids {
            let count = &mut self.counts[id as usize];
            start += std::mem::replace(count, start);
        }
        self.documents.resize(self.occurrences.len(), 0);
        let mut from = 0;
        for (&end, document) in self.ends.iter().zip(0..) {
            for &id in &self.occurrences[from as usize..end as usize] {
                let cursor = &mut self.counts[id as usize];
                self.documents[*cursor as usize] = document;
                *cursor += 1;
            }
            from = end;
        }
    }

    /// Counts equal neighbours within every group of `documents`.
    fn count(&mut self, terms: Strings, ids: &[u32]) -> Postings {
        let documents = &mut self.documents[..];
        let mut small = vec![0; documents.len()];
        let mut large: Vec<(u64, u32)> = Vec::new();
        let mut offsets = Vec::with_capacity(ids.len() + 1);
        offsets.push(0);
        let (mut from, mut out) = (0, 0);
        for &id in ids {
            let to = self.counts[id as usize] as usize;
            let (mut document, mut tf) = (documents[from], 0);
            for at in from..to {
                let next = documents[at];
                let differs = next != document;
                out += usize::from(differs);
                tf = if differs { 1 } else { tf + 1 };
                document = next;
                documents[out] = document;
                small[out] = tf.min(255) as u8;
                if tf >= 255 {
                    match large.last_mut() {
                        Some(last) if last.0 == out as u64 => last.1 = tf,
                        _ => large.push((out as u64, tf)),
                    }
                }
            }
            out += 1;
            from = to;
            offsets.push(out as u64);
        }
        Postings {
            terms,
            offsets,
            documents: documents[..out].to_vec(),
            frequencies: Frequencies::from_raw(small[..out].to_vec(), large),
        }
    }
}

/// The distinct raw terms of a chunk, and their normalized terms.
struct Distinct<'a> {
    keys: &'a [Key],
    named: Vec<Name>,
    names: &'a Names<'a>,
    text: &'a [u8],
}

impl Distinct<'_> {
    /// The bytes of the term for raw term `id`. They may be stored in `word`.
    fn term<'b>(&'b self, id: u32, word: &'b mut [u8; 16]) -> &'b [u8] {
        match self.named[id as usize] {
            Name::At(place) => self.names.get(place),
            _ => self.keys[id as usize].bytes(self.text, word),
        }
    }

    fn compare(&self, a: u32, b: u32) -> std::cmp::Ordering {
        if (self.named[a as usize], self.named[b as usize]) == (Name::Same, Name::Same) {
            return self.keys[a as usize].compare(self.keys[b as usize], self.text);
        }
        self.term(a, &mut [0; 16]).cmp(self.term(b, &mut [0; 16]))
    }
}

/// The terms of a chunk in the order of its text.
pub struct Tokens<'a> {
    /// The distinct terms.
    pub terms: Strings,
    /// The id of each distinct term.
    pub ids: Vec<u32>,
    /// The id of every occurrence, in text order.
    pub occurrences: &'a [u32],
    /// The end of every document's occurrences.
    pub ends: &'a [u32],
}

impl CpuInverter<'_> {
    /// Cuts `chunk` into terms. Its text may be overwritten.
    ///
    /// # Errors
    /// A chunk of 2^32 or more terms.
    pub fn tokens(&mut self, chunk: &mut Chunk) -> Result<Tokens<'_>> {
        let (terms, ids) = self.cut(chunk)?;
        Ok(Tokens {
            terms,
            ids,
            occurrences: &self.occurrences,
            ends: &self.ends,
        })
    }

    /// The distinct terms in byte order and their ids; fills `occurrences`, `counts` and `ends`.
    fn cut(&mut self, chunk: &mut Chunk) -> Result<(Strings, Vec<u32>)> {
        self.names.bound();
        self.intern(chunk)?;
        Ok(match self.names.all_same(&chunk.text) {
            true => self.sort_raw(&chunk.text),
            false => self.sort_normalized(&chunk.text),
        })
    }
}

impl Invert for CpuInverter<'_> {
    fn invert(&mut self, chunk: &mut Chunk) -> Result<Inverted> {
        let (terms, ids) = self.cut(chunk)?;
        self.group(&ids);
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let lengths = self
            .ends
            .iter()
            .zip(starts)
            .map(|(end, start)| end - start)
            .collect();
        Ok(Inverted {
            postings: self.count(terms, &ids),
            lengths,
        })
    }
}
