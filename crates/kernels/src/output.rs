//! The results of a device.

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
    /// Its term frequency, capped at 255.
    pub frequencies: &'a [u8],
    /// The postings whose frequency is 255 or more, ascending.
    pub large_places: &'a [u32],
    /// The exact frequency of each of these.
    pub large_frequencies: &'a [u32],
    /// The length of every document, in terms.
    pub lengths: &'a [u32],
}

/// The result of the local pass over a collection.
#[derive(Debug, Clone)]
pub struct Collected {
    /// The total length of all documents.
    pub total_length: u64,
    /// Every distinct df, ascending: at most the square root of twice the number of postings.
    pub df_values: Vec<u32>,
}

/// The terms of a collection by id, and the documents' lengths.
#[derive(Debug, Clone, Copy)]
pub struct Lexicon<'a> {
    /// The terms one after the other.
    pub term_bytes: &'a [u8],
    /// Term t is `term_bytes[term_offsets[t]..term_offsets[t + 1]]`.
    pub term_offsets: &'a [u64],
    /// The df of every term.
    pub df: &'a [u32],
    /// The ids, sorted by the bytes of the terms.
    pub order: &'a [u32],
    /// The length of every document.
    pub lengths: &'a [u32],
}

/// The weighed postings of one chunk.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    /// The id of every term in the chunk.
    pub segment_terms: &'a [u32],
    /// Postings `segment_starts[s]..segment_starts[s + 1]` belong to `segment_terms[s]`.
    pub segment_starts: &'a [u32],
    /// The document of every posting, numbered within the collection.
    pub documents: &'a [u32],
    /// Its weight.
    pub weights: &'a [f32],
}
