//! The results that come from a device.

/// An inverted chunk, terms ascending by bytes.
#[derive(Debug, Clone, Copy)]
pub struct Inverted<'a> {
    /// The terms one after the other.
    pub term_bytes: &'a [u8],
    /// Term t is `term_bytes[term_offsets[t]..term_offsets[t + 1]]`.
    pub term_offsets: &'a [u64],
    /// Postings `offsets[t]..offsets[t + 1]` belong to term t.
    pub offsets: &'a [u32],
    /// The document of every posting.
    pub documents: &'a [u32],
    /// Its term frequency, or 255 if that is 255 or more.
    pub frequencies: &'a [u8],
    /// The postings of which it is 255 or more, ascending.
    pub large_places: &'a [u32],
    /// The frequency of each of these.
    pub large_frequencies: &'a [u32],
    /// The length of every document, in terms.
    pub lengths: &'a [u32],
}

/// The result of the local pass over a collection.
#[derive(Debug, Clone)]
pub struct Collected {
    /// The length of all documents together.
    pub total_length: u64,
    /// Every df that occurs, ascending: at most the square root of twice the postings.
    pub df_values: Vec<u32>,
}

/// The terms of a collection by id, and the documents' lengths.
#[derive(Debug, Clone, Copy)]
pub struct Lexicon<'a> {
    /// The terms one after the other.
    pub term_bytes: &'a [u8],
    /// Term t is `term_bytes[term_offsets[t]..term_offsets[t + 1]]`.
    pub term_offsets: &'a [u64],
    /// The documents of every term.
    pub df: &'a [u32],
    /// The ids, ascending by the terms' bytes.
    pub order: &'a [u32],
    /// The length of every document.
    pub lengths: &'a [u32],
}

/// The weighed postings of one chunk.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    /// The id of every term of the chunk.
    pub segment_terms: &'a [u32],
    /// Postings `segment_starts[s]..segment_starts[s + 1]` belong to `segment_terms[s]`.
    pub segment_starts: &'a [u32],
    /// The document of every posting, counted from the first of the collection.
    pub documents: &'a [u32],
    /// Its weight.
    pub weights: &'a [f32],
}
