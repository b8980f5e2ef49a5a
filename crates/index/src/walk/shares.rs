//! Cuts postings by term, from any source, into shares.

use crate::part::encode::{SHARE_POSTINGS, Share};
use tokapi_storage::error::Result;
use tokapi_storage::strings::Strings;

/// A source of postings, by term, then by document.
pub(crate) trait PostingSource {
    /// Advances to the next term, and writes its name to `term`. Returns its df, which is at least
    /// 1; none at the end.
    fn next_term(&mut self, term: &mut Vec<u8>) -> Result<Option<u64>>;

    /// Appends the next postings of the term: at least one, or returns an error; at most `room`.
    fn take(&mut self, room: usize, documents: &mut Vec<u32>, tfs: &mut Vec<u32>) -> Result<()>;
}

/// The shares of a source, one after the other.
pub(crate) struct Shares<S> {
    source: S,
    term: Vec<u8>,
    df: u64,
    /// Remaining postings of the term.
    left: u64,
}

/// A share that owns its postings.
#[derive(Default)]
pub(crate) struct OwnedShare {
    terms: Strings,
    df: Vec<u64>,
    offsets: Vec<u64>,
    documents: Vec<u32>,
    tfs: Vec<u32>,
    goes_on: bool,
}

impl<S: PostingSource> Shares<S> {
    pub fn new(source: S) -> Self {
        Shares {
            source,
            term: Vec::new(),
            df: 0,
            left: 0,
        }
    }

    /// The next share; none at the end.
    pub fn next(&mut self) -> Result<Option<OwnedShare>> {
        let mut share = OwnedShare {
            goes_on: self.left > 0,
            offsets: vec![0],
            ..OwnedShare::default()
        };
        let OwnedShare {
            terms,
            df,
            offsets,
            documents,
            tfs,
            ..
        } = &mut share;
        while documents.len() < SHARE_POSTINGS {
            if self.left == 0 {
                match self.source.next_term(&mut self.term)? {
                    Some(next) => (self.df, self.left) = (next, next),
                    None => break,
                }
            }
            terms.push(&self.term);
            df.push(self.df);
            while self.left > 0 && documents.len() < SHARE_POSTINGS {
                let before = documents.len();
                let room = (SHARE_POSTINGS - before) as u64;
                // At most `room`.
                let room = room.min(self.left) as usize;
                self.source.take(room, documents, tfs)?;
                self.left -= (documents.len() - before) as u64;
            }
            offsets.push(documents.len() as u64);
        }
        Ok((!share.documents.is_empty()).then_some(share))
    }
}

impl OwnedShare {
    /// The number of postings.
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    /// The share in the form that the encoder takes.
    pub fn share(&self) -> Share<'_> {
        Share {
            terms: &self.terms,
            range: 0..self.terms.len(),
            df: &self.df,
            offsets: &self.offsets,
            documents: &self.documents,
            tfs: &self.tfs,
            goes_on: self.goes_on,
        }
    }
}
