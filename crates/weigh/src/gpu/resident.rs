//! A whole collection on the device. Its text goes up chunk by chunk; documents, then weights come down. The transfers
//! overlap and run at the speed of the link.
//!
//! The documents of postings go down while later chunks still arrive. Weights need df, which is complete only after the
//! last chunk, so they follow. Terms have ids in no particular order; the order by bytes comes with the weights.

use tokapi_kernels::{self as kernels, Text, Times};

use super::GpuOptions;
use crate::formula::Bm25;
use crate::formula::Statistics;
use tokapi_storage::error::{Error, Result};
use tokapi_text::analyze::Analyzer;

/// An engine that weighs collections that fit on the device. Its memory is kept for the next collection.
pub struct Resident {
    inverter: kernels::Inverter,
}

/// A weighed collection, in the memory of its [`Resident`].
pub struct ResidentWeights<'a> {
    /// N and the total length.
    pub statistics: Statistics,
    /// The distinct terms by id, and their order by bytes.
    pub lexicon: kernels::Lexicon<'a>,
    /// The postings, chunk by chunk.
    pub parts: Vec<kernels::Part<'a>>,
}

impl Resident {
    /// An engine on a device.
    ///
    /// # Errors
    /// There is no such device; `analyzer` changes terms after cutting, as the default one does.
    pub fn new(options: &GpuOptions, analyzer: &Analyzer) -> Result<Self> {
        if !analyzer.keeps_folded_ascii() || analyzer.folds_beyond_ascii() {
            return Err(Error::Usage(
                "a collection kept on the device is cut by `plain` or `whitespace`, without stop \
                 words, stemmer or length limits; other terms get their names on the CPU: use one of \
                 these, or the engine `gpu`"
                    .into(),
            ));
        }
        Ok(Resident {
            inverter: options.inverter(analyzer)?,
        })
    }

    /// Weighs the documents of `text` in chunks of about `chunk_bytes`. Document d begins at `starts[d]`. Text in
    /// [`Pinned`](kernels::Pinned) memory goes up fastest.
    ///
    /// # Errors
    /// Parameters out of range; too little device memory; the device failed.
    ///
    /// # Panics
    /// If `starts` do not ascend, or exceed the text.
    pub fn weigh(
        &mut self,
        text: Text<'_>,
        chunk_bytes: u64,
        bm25: &Bm25,
    ) -> Result<ResidentWeights<'_>> {
        bm25.check()?;
        let collected = self.inverter.collect(text, chunk_bytes)?;
        let statistics = Statistics {
            documents: text.len() as u64,
            total_length: collected.total_length,
        };
        let df_values = collected.df_values.iter();
        let idf: Vec<f64> = df_values
            .map(|&df| bm25.idf(statistics.documents, u64::from(df)))
            .collect();
        let formula = super::formula(bm25, &statistics, &idf);
        let (lexicon, parts) = self.inverter.weigh(&formula)?;
        Ok(ResidentWeights {
            statistics,
            lexicon,
            parts,
        })
    }

    /// Looks up every term of `text` in the dictionary, `repeat` times. Returns the ids in text order, `u32::MAX` for
    /// unknown terms, and the seconds of all lookups together.
    ///
    /// # Errors
    /// Too little device memory; the device failed.
    pub fn lookup(&mut self, text: Text<'_>, repeat: u32) -> Result<(&[u32], f64)> {
        Ok(self.inverter.lookup(text, repeat)?)
    }

    /// The milliseconds of the stages for the last collection, if they were timed.
    pub fn times(&self) -> Times {
        self.inverter.times()
    }
}

impl ResidentWeights<'_> {
    /// The number of postings.
    pub fn len(&self) -> usize {
        self.parts.iter().map(|part| part.documents.len()).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Every (term, document number, weight), by the term's bytes, then by document.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], u32, f32)> + '_ {
        let mut rank = vec![0; self.lexicon.order.len()];
        for (place, &id) in (0u32..).zip(self.lexicon.order) {
            rank[id as usize] = place;
        }
        let mut segments: Vec<(u32, usize, usize)> = Vec::new();
        for (number, part) in self.parts.iter().enumerate() {
            let terms = part.segment_terms.iter().enumerate();
            segments.extend(terms.map(|(segment, &id)| (rank[id as usize], number, segment)));
        }
        segments.sort_unstable();
        segments.into_iter().flat_map(move |(_, number, segment)| {
            let part = &self.parts[number];
            let term = self.term(part.segment_terms[segment]);
            let range =
                part.segment_starts[segment] as usize..part.segment_starts[segment + 1] as usize;
            range.map(move |posting| (term, part.documents[posting], part.weights[posting]))
        })
    }

    /// The bytes of a term.
    pub fn term(&self, id: u32) -> &[u8] {
        let offsets = &self.lexicon.term_offsets[id as usize..];
        &self.lexicon.term_bytes[offsets[0] as usize..offsets[1] as usize]
    }
}
