//! The runs' blocks, cut into buckets. A bucket has terms of all runs that no later bucket has.
//!
//! One block of every run is in memory. The least of their last terms is the cut: all terms up to it are complete. A
//! term whose postings fill more than a block of a run comes in its own buckets, one per block, so no term is too
//! large.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use crate::collection::run::{Block, Blocks, Run};
use crate::lexicon::TermSlice;
use tokapi_storage::error::Result;
use tokapi_storage::progress::Progress;

/// Some terms of a block.
pub(super) struct Slice {
    /// The number of the run.
    pub run: usize,
    pub block: Arc<Block>,
    pub terms: Range<usize>,
}

/// All postings of some consecutive terms, or a piece of one term.
pub(super) struct Bucket {
    /// The slices, in the order of the runs.
    pub slices: Vec<Slice>,
    /// The number of its postings.
    pub rows: u64,
    pub piece: Option<Piece>,
}

impl Bucket {
    /// The terms of the slices.
    pub(super) fn term_slices(&self) -> Vec<TermSlice<'_>> {
        let slices = self.slices.iter().map(|slice| TermSlice {
            terms: &slice.block.terms,
            range: slice.terms.clone(),
        });
        slices.collect()
    }
}

/// A piece of a term that comes in several buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    /// Its df in all runs.
    pub df: u64,
    /// Whether this is the first piece.
    pub first: bool,
    /// Whether more pieces follow.
    pub continues: bool,
}

/// The parts of the runs that have not been dealt out.
pub(super) struct Buckets {
    heads: Vec<Head>,
    /// The large term that is being dealt out, if any.
    pieces: Option<Pieces>,
    /// The bytes and the postings of all runs.
    bytes: u64,
    postings: u64,
    /// The postings that have been reported.
    reported: u64,
}

struct Head {
    blocks: Blocks,
    block: Arc<Block>,
    /// The first term that has not been dealt out.
    next: usize,
}

/// A term that is being dealt out piece by piece.
struct Pieces {
    term: Vec<u8>,
    df: u64,
    /// The run of the next piece.
    run: usize,
    first: bool,
}

impl Head {
    fn new(mut blocks: Blocks) -> Result<Self> {
        let block = Arc::new(blocks.next()?.unwrap_or_default());
        Ok(Head {
            blocks,
            block,
            next: 0,
        })
    }

    /// Goes to the next block if all of this one has been dealt out.
    fn advance(&mut self) -> Result<()> {
        if self.is_at_end()
            && let Some(block) = self.blocks.next()?
        {
            self.block = Arc::new(block);
            self.next = 0;
        }
        Ok(())
    }

    fn is_at_end(&self) -> bool {
        self.next == self.block.len()
    }

    fn term(&self) -> Option<&[u8]> {
        (!self.is_at_end()).then(|| self.block.terms.get(self.next))
    }

    /// The last term of the block, and whether its postings end here.
    fn last(&self) -> (&[u8], bool) {
        let last = self.block.terms.get(self.block.len() - 1);
        (last, !self.block.continues)
    }

    /// The first term from `next` on that is above `term`; with `below`, the first that is not below it.
    fn cut(&self, term: &[u8], below: bool) -> usize {
        let stays = |place: usize| match self.block.terms.get(place).cmp(term) {
            Ordering::Less => true,
            Ordering::Equal => !below,
            Ordering::Greater => false,
        };
        // Buckets take few terms of a run, so the cut is near.
        let (mut low, mut step) = (self.next, 1);
        let mut high = loop {
            let place = low + step - 1;
            match place < self.block.len() && stays(place) {
                true => low = place + 1,
                false => break place.min(self.block.len()),
            }
            step *= 2;
        };
        while low < high {
            let middle = low.midpoint(high);
            match stays(middle) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }
}

impl Buckets {
    /// All of `runs`, each read through a buffer of `buffer_bytes`.
    ///
    /// # Errors
    /// A run cannot be read, or is damaged.
    pub(super) fn new(runs: &[Run], buffer_bytes: usize) -> Result<Self> {
        let head = |run: &Run| {
            run.file.check()?;
            Head::new(run.blocks(buffer_bytes))
        };
        Ok(Buckets {
            heads: runs.iter().map(head).collect::<Result<_>>()?,
            pieces: None,
            bytes: runs.iter().map(|run| run.file.length).sum(),
            postings: runs.iter().map(|run| run.postings).sum(),
            reported: 0,
        })
    }

    /// The next bucket; none at the end. Adds to `progress` the bytes of the runs in proportion to the bucket's share
    /// of the postings.
    ///
    /// # Errors
    /// As [`Buckets::next`]; `progress` is cancelled.
    pub(super) fn next_reported(&mut self, progress: &Progress) -> Result<Option<Bucket>> {
        progress.check()?;
        let bucket = self.next()?;
        let share = |postings: u64| {
            let share =
                u128::from(self.bytes) * u128::from(postings) / u128::from(self.postings.max(1));
            // At most all bytes.
            share as u64
        };
        let before = self.reported;
        let now = before + bucket.as_ref().map_or(0, |bucket| bucket.rows);
        progress.add(share(now) - share(before));
        self.reported = now;
        Ok(bucket)
    }

    /// The next bucket; none at the end.
    ///
    /// # Errors
    /// A run cannot be read, or is damaged.
    pub(super) fn next(&mut self) -> Result<Option<Bucket>> {
        if let Some(bucket) = self.next_piece()? {
            return Ok(Some(bucket));
        }
        // The least last term of the blocks that others follow. If its postings end there, the block that ends before
        // it comes first.
        let cut = self
            .heads
            .iter()
            .filter(|head| head.blocks.has_more() && !head.is_at_end())
            .map(Head::last)
            .min();
        let cut = cut.map(|(term, whole)| (term.to_vec(), whole));
        let mut slices = Vec::new();
        let mut rows = 0;
        for (run, head) in self.heads.iter_mut().enumerate() {
            let end = match &cut {
                Some((term, whole)) => head.cut(term, !whole),
                None => head.block.len(),
            };
            if end > head.next {
                let terms = std::mem::replace(&mut head.next, end)..end;
                rows += head.block.count(terms.clone());
                let block = Arc::clone(&head.block);
                slices.push(Slice { run, block, terms });
                head.advance()?;
            }
        }
        match (slices.is_empty(), cut) {
            (false, _) => Ok(Some(Bucket {
                slices,
                rows,
                piece: None,
            })),
            (true, None) => Ok(None),
            // The only term below the cut continues beyond its block.
            (true, Some((term, _))) => {
                let with_term = self.heads.iter().filter(|head| head.term() == Some(&term));
                self.pieces = Some(Pieces {
                    df: with_term
                        .map(|head| u64::from(head.block.df[head.next]))
                        .sum(),
                    term,
                    run: 0,
                    first: true,
                });
                self.next_piece()
            }
        }
    }

    /// The next piece of the large term, if one is being dealt out.
    fn next_piece(&mut self) -> Result<Option<Bucket>> {
        let Some(pieces) = &mut self.pieces else {
            return Ok(None);
        };
        let has_term = |head: &Head| head.term() == Some(&pieces.term);
        while pieces.run < self.heads.len() && !has_term(&self.heads[pieces.run]) {
            pieces.run += 1;
        }
        let Some(head) = self.heads.get_mut(pieces.run) else {
            self.pieces = None;
            return Ok(None);
        };
        let terms = head.next..head.next + 1;
        let block = Arc::clone(&head.block);
        head.next += 1;
        head.advance()?;
        let later = &self.heads[pieces.run..];
        let bucket = Bucket {
            rows: block.count(terms.clone()),
            piece: Some(Piece {
                df: pieces.df,
                first: std::mem::replace(&mut pieces.first, false),
                continues: later.iter().any(|head| head.term() == Some(&pieces.term)),
            }),
            slices: vec![Slice {
                run: pieces.run,
                block,
                terms,
            }],
        };
        Ok(Some(bucket))
    }
}
