//! An engine on one device. It inverts chunks to postings, and weighs collections.

use crate::input::last;
use crate::owned::{Owned, check, filled};
use crate::{
    Build, Collected, Formula, Inverted, Lexicon, Method, Options, Part, Result, Text, Times, Trie,
    boundary, slice,
};

/// An engine on one device. It reuses its memory between calls.
pub struct Inverter {
    raw: Owned<boundary::Inverter>,
    /// The postings on the device that are not weighed yet.
    resident: Option<ResidentCounts>,
}

/// The sizes of the collection.
struct ResidentCounts {
    documents: u64,
    parts: u64,
    df_values: usize,
}

impl Inverter {
    /// An engine on a device. `trie` is the dictionary of [`Method::Ppd`].
    ///
    /// # Errors
    /// The device does not exist, or has too little memory.
    ///
    /// # Panics
    /// Panics if the classes do not cover all characters or include the space, or if the
    /// dictionary is missing.
    pub fn new(build: Build, options: &Options, trie: Option<&Trie<'_>>) -> Result<Self> {
        let beyond_ascii = match &options.classes.beyond_ascii {
            None => std::ptr::null(),
            Some(bits) => {
                assert_eq!(bits.len(), 0x110000 / 32, "a bit for every character");
                bits.as_ptr()
            }
        };
        let raw_options = boundary::Options {
            device: options.device,
            method: options.method as u32,
            unknown_one: u32::from(options.unknown_one),
            fold: u32::from(options.classes.fold),
            ascii: options.classes.ascii,
            beyond_ascii,
            hash_mask: options.hash_mask,
            fail_after: options.fail_after.map_or(0, |chunks| chunks + 1),
            timed: u32::from(options.timed),
            sort: options.sort as u32,
        };
        assert_eq!(options.classes.ascii[1] & 1, 0, "the space ends a term");
        assert!(
            trie.is_some() || options.method != Method::Ppd,
            "ppd has a dictionary"
        );
        let trie = trie.map(Trie::raw);
        let trie = trie.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        let api = build.api();
        let raw = Owned::make(build, api.drop, |raw, error| {
            // SAFETY: options and trie are read during the call only.
            unsafe { (api.inverter)(&raw const raw_options, trie, raw, error) }
        })?;
        Ok(Inverter {
            raw,
            resident: None,
        })
    }

    /// Inverts one chunk.
    ///
    /// # Errors
    /// There is too little memory; a count exceeds the device's numbers; the device failed.
    pub fn invert(&mut self, text: Text<'_>) -> Result<Inverted<'_>> {
        self.resident = None;
        let text = text.raw();
        let inverted: boundary::Inverted = filled(|inverted, error| {
            // SAFETY: the text is borrowed for the duration of the call.
            unsafe { (self.raw.api().invert)(self.raw.as_ptr(), &raw const text, inverted, error) }
        })?;
        // SAFETY: the boundary returns arrays of these lengths, valid until the next call, which
        // the borrow of `self` prevents.
        unsafe {
            let term_offsets = slice(inverted.term_offsets, inverted.terms + 1);
            Ok(Inverted {
                term_bytes: slice(inverted.term_bytes, last(term_offsets)),
                term_offsets,
                offsets: slice(inverted.offsets, inverted.terms + 1),
                documents: slice(inverted.documents, inverted.postings),
                frequencies: slice(inverted.frequencies, inverted.postings),
                large_places: slice(inverted.large_places, inverted.large_count),
                large_frequencies: slice(inverted.large_frequencies, inverted.large_count),
                lengths: slice(inverted.lengths, text.documents),
            })
        }
    }

    /// The local pass over a collection in chunks of about `chunk_bytes`. Full speed needs text
    /// in [`Pinned`](crate::Pinned) memory.
    ///
    /// # Errors
    /// As for [`Inverter::invert`].
    pub fn collect(&mut self, text: Text<'_>, chunk_bytes: u64) -> Result<Collected> {
        self.resident = None;
        let text = text.raw();
        let collected: boundary::Collected = filled(|collected, error| {
            let (collect, inverter) = (self.raw.api().collect, self.raw.as_ptr());
            // SAFETY: the text is borrowed for the duration of the call.
            unsafe { collect(inverter, &raw const text, chunk_bytes, collected, error) }
        })?;
        // SAFETY: an array of this length, valid until the next call.
        let df_values = unsafe { slice(collected.df_values, collected.df_count) }.to_vec();
        self.resident = Some(ResidentCounts {
            documents: text.documents,
            parts: collected.parts,
            df_values: df_values.len(),
        });
        Ok(Collected {
            total_length: collected.total_length,
            df_values,
        })
    }

    /// The global pass: weighs the last collected postings, once.
    ///
    /// # Errors
    /// As for [`Inverter::invert`].
    ///
    /// # Panics
    /// Panics if nothing was collected since the last call, or if `formula` lacks the idf of a df.
    pub fn weigh(&mut self, formula: &Formula<'_>) -> Result<(Lexicon<'_>, Vec<Part<'_>>)> {
        let resident = self
            .resident
            .take()
            .expect("collected, and not weighed yet");
        assert_eq!(resident.df_values, formula.idf.len(), "an idf for every df");
        let raw_formula = formula.raw();
        let lexicon: boundary::Lexicon = filled(|lexicon, error| {
            let (weigh, inverter) = (self.raw.api().weigh, self.raw.as_ptr());
            // SAFETY: the formula is read during the call only.
            unsafe { weigh(inverter, &raw const raw_formula, lexicon, error) }
        })?;
        let mut parts = Vec::new();
        for number in 0..resident.parts {
            let part: boundary::Part = filled(|part, error| {
                // SAFETY: the collection has this many parts.
                unsafe { (self.raw.api().part)(self.raw.as_ptr(), number, part, error) }
            })?;
            // SAFETY: arrays of these lengths, valid until the next call, which the borrow of
            // `self` prevents.
            parts.push(unsafe {
                Part {
                    segment_terms: slice(part.segment_terms, part.segments),
                    segment_starts: slice(part.segment_starts, part.segments + 1),
                    documents: slice(part.documents, part.postings),
                    weights: slice(part.weights, part.postings),
                }
            });
        }
        // SAFETY: as above.
        let lexicon = unsafe {
            let term_offsets = slice(lexicon.term_offsets, lexicon.terms + 1);
            Lexicon {
                term_bytes: slice(lexicon.term_bytes, last(term_offsets)),
                term_offsets,
                df: slice(lexicon.df, lexicon.terms),
                order: slice(lexicon.order, lexicon.terms),
                lengths: slice(lexicon.lengths, resident.documents),
            }
        };
        Ok((lexicon, parts))
    }

    /// Looks every term of a text up in the dictionary, `repeat` times. Returns the ids in text
    /// order, `u32::MAX` for unknown terms, and the seconds of all lookups.
    ///
    /// # Errors
    /// As for [`Inverter::invert`].
    pub fn lookup(&mut self, text: Text<'_>, repeat: u32) -> Result<(&[u32], f64)> {
        self.resident = None;
        let text = text.raw();
        let (mut ids, mut count, mut seconds) = (std::ptr::null(), 0, 0.0);
        check(|error| {
            // SAFETY: the text is borrowed for the duration of the call.
            unsafe {
                (self.raw.api().lookup)(
                    self.raw.as_ptr(),
                    &raw const text,
                    repeat,
                    &raw mut ids,
                    &raw mut count,
                    &raw mut seconds,
                    error,
                )
            }
        })?;
        // SAFETY: an array of this length, valid until the next call.
        Ok((unsafe { slice(ids, count) }, seconds))
    }

    /// Milliseconds of the last call's stages, if they were timed.
    pub fn times(&self) -> Times {
        self.raw.times(self.raw.api().times)
    }
}
