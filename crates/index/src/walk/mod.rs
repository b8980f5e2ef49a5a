//! The lists of several parts merged into one: terms ascend, deleted documents are left out, and
//! the others are numbered without gaps.

mod page;
mod shares;

use std::vec::IntoIter;

use crate::part::Part;
use crate::part::cursor::Cursor;
use crate::part::deleted::Deleted;
use crate::part::lists::{Found, Lists};
use tokapi_storage::error::Result;
use tokapi_storage::ranks::Ranks;

pub(crate) use shares::{OwnedShare, PostingSource, Shares};

/// New numbers for the remaining documents of a part.
pub(crate) struct Renumbered {
    /// The first new number.
    first: u32,
    /// The remaining documents; none if no document is deleted.
    live: Option<Ranks>,
    /// Whether deleted documents keep their numbers.
    with_gaps: bool,
}

impl Renumbered {
    /// Numbers the documents of `parts`, one part after the other, without gaps.
    pub fn all(parts: &[Part]) -> Result<Vec<Renumbered>> {
        Renumbered::of_parts(parts, false)
    }

    /// The document numbers of `parts` in their index.
    pub fn as_in_index(parts: &[Part]) -> Result<Vec<Renumbered>> {
        Renumbered::of_parts(parts, true)
    }

    fn of_parts(parts: &[Part], with_gaps: bool) -> Result<Vec<Renumbered>> {
        let mut first = 0;
        let mut renumbered = Vec::with_capacity(parts.len());
        for part in parts {
            let live = match part.note.deleted {
                // Fewer than 2^32.
                Some(_) => Some(Ranks::without(
                    &part.deleted_documents()?,
                    part.documents() as usize,
                )),
                None => None,
            };
            let count = live.as_ref().map(|live| live.count() as u64);
            if count.is_some_and(|count| count != part.note.live().documents) {
                return Err(part
                    .lists
                    .damaged("the manifest counts other deleted documents"));
            }
            renumbered.push(Renumbered {
                first,
                live,
                with_gaps,
            });
            let count = match with_gaps {
                true => part.documents(),
                false => part.note.live().documents as u32,
            };
            // The total is below 2^32, unless the caller ignores the numbers; a caller that uses
            // them has checked the count.
            first = first.wrapping_add(count);
        }
        Ok(renumbered)
    }

    /// The new number of a document; none if it is deleted.
    #[inline]
    pub fn of(&self, document: u32) -> Option<u32> {
        match &self.live {
            None => Some(self.first + document),
            Some(live) if !live.contains(document) => None,
            Some(_) if self.with_gaps => Some(self.first + document),
            Some(live) => Some(self.first + live.rank(document)),
        }
    }
}

/// Terms that follow each other: from one on, and before another.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TermRange {
    pub(crate) from: Vec<u8>,
    /// None for all.
    pub(crate) to: Option<Vec<u8>>,
}

/// A walk through the lists of several parts.
pub(crate) struct Walk<'a> {
    streams: Vec<Stream<'a>>,
    numbers: &'a [Renumbered],
    /// The lists of the current term, the last part first: the number of the part, and a cursor.
    rest: Vec<(usize, Cursor<'a>)>,
    /// The next posting of the current block.
    at: usize,
}

/// The terms of a part, ascending.
struct Stream<'a> {
    lists: &'a Lists,
    /// Counts deleted documents; without it they are counted by reading lists.
    deleted: Option<&'a Deleted>,
    shard: usize,
    /// The end of the range.
    to: Option<&'a [u8]>,
    terms: IntoIter<(Vec<u8>, Found<'a>)>,
    next: Option<(Vec<u8>, Found<'a>)>,
}

impl<'a> Stream<'a> {
    fn new(
        lists: &'a Lists,
        deleted: Option<&'a Deleted>,
        range: Option<&'a TermRange>,
    ) -> Result<Self> {
        let from = range.map_or(&[][..], |range| &range.from);
        let mut stream = Stream {
            lists,
            deleted,
            shard: lists.shard_of(from)?.unwrap_or(0),
            to: range.and_then(|range| range.to.as_deref()),
            terms: Vec::new().into_iter(),
            next: None,
        };
        stream.go_on()?;
        while stream.next.as_ref().is_some_and(|(next, _)| &**next < from) {
            stream.go_on()?;
        }
        Ok(stream)
    }

    /// Advances to the next term. Returns the entry of the previous one.
    fn go_on(&mut self) -> Result<Option<Found<'a>>> {
        let mut next = self.terms.next();
        if next.is_none() && self.shard < self.lists.shard_count() {
            self.terms = self.lists.terms_of_shard(self.shard)?.into_iter();
            self.shard += 1;
            next = self.terms.next();
        }
        let is_before = |term: &[u8]| self.to.is_none_or(|to| term < to);
        let next = next.filter(|(term, _)| is_before(term));
        Ok(std::mem::replace(&mut self.next, next).map(|(_, found)| found))
    }
}

impl<'a> Walk<'a> {
    /// A walk through `lists`, with document numbers from `numbers`.
    pub fn new(
        lists: impl IntoIterator<Item = &'a Lists>,
        numbers: &'a [Renumbered],
    ) -> Result<Self> {
        let streams = lists.into_iter();
        let streams = streams.map(|lists| Stream::new(lists, None, None));
        Walk::of(streams.collect::<Result<_>>()?, numbers)
    }

    /// A walk through a range of the terms of `parts`, with document numbers from `numbers`.
    pub fn of_parts(
        parts: impl IntoIterator<Item = &'a Part>,
        numbers: &'a [Renumbered],
        range: &'a TermRange,
    ) -> Result<Self> {
        let streams = parts.into_iter();
        let streams =
            streams.map(|part| Stream::new(&part.lists, part.deleted.as_deref(), Some(range)));
        Walk::of(streams.collect::<Result<_>>()?, numbers)
    }

    fn of(streams: Vec<Stream<'a>>, numbers: &'a [Renumbered]) -> Result<Self> {
        Ok(Walk {
            streams,
            numbers,
            rest: Vec::new(),
            at: 0,
        })
    }

    /// The documents of a list that are not deleted.
    fn live(&self, part: usize, found: &Found<'a>, cursor: &mut Cursor<'a>) -> Result<u64> {
        let Some(live) = &self.numbers[part].live else {
            return Ok(cursor.df);
        };
        if let Some(deleted) = self.streams[part].deleted {
            return deleted.left_of(found);
        }
        let mut count = 0;
        for block in 0..cursor.block_count() {
            cursor.go_to_block(block);
            cursor.decode()?;
            let documents = cursor.documents().iter();
            count += documents
                .filter(|&&document| live.contains(document))
                .count() as u64;
        }
        cursor.go_to_block(0);
        Ok(count)
    }
}

impl PostingSource for Walk<'_> {
    fn next_term(&mut self, term: &mut Vec<u8>) -> Result<Option<u64>> {
        loop {
            let nexts = self
                .streams
                .iter()
                .filter_map(|stream| stream.next.as_ref());
            let Some((least, _)) = nexts.min_by(|a, b| a.0.cmp(&b.0)) else {
                return Ok(None);
            };
            term.clear();
            term.extend_from_slice(least);
            self.rest.clear();
            self.at = 0;
            let mut df = 0;
            for part in (0..self.streams.len()).rev() {
                let stream = &mut self.streams[part];
                if stream.next.as_ref().is_some_and(|(next, _)| next == term)
                    && let Some(found) = stream.go_on()?
                {
                    let mut cursor = Cursor::new(&found)?;
                    df += self.live(part, &found, &mut cursor)?;
                    self.rest.push((part, cursor));
                }
            }
            if df > 0 {
                return Ok(Some(df));
            }
        }
    }

    fn take(&mut self, room: usize, documents: &mut Vec<u32>, tfs: &mut Vec<u32>) -> Result<()> {
        let full = documents.len() + room;
        while documents.len() < full {
            let Some((part, cursor)) = self.rest.last_mut() else {
                let lists = self.streams[0].lists;
                return Err(lists.damaged("a df is not the number of documents"));
            };
            let block = cursor.block();
            if block == cursor.block_count() {
                self.rest.pop();
                continue;
            }
            let numbers = &self.numbers[*part];
            let (from, of_from) = cursor.postings()?;
            let (from, of_from) = (&from[self.at..], &of_from[self.at..]);
            let mut taken = from.len().min(full - documents.len());
            if numbers.live.is_none() {
                let first = numbers.first;
                documents.extend(from[..taken].iter().map(|document| first + document));
                tfs.extend_from_slice(&of_from[..taken]);
            } else {
                taken = 0;
                for (&document, &tf) in from.iter().zip(of_from) {
                    if documents.len() == full {
                        break;
                    }
                    taken += 1;
                    if let Some(number) = numbers.of(document) {
                        documents.push(number);
                        tfs.push(tf);
                    }
                }
            }
            self.at += taken;
            if taken == from.len() {
                cursor.go_to_block(block + 1);
                self.at = 0;
            }
        }
        Ok(())
    }
}
