//! Buckets grouped into tasks of a fixed number of postings, and merged.

use std::sync::Arc;

use super::buckets::{Bucket, Buckets};
use crate::collection::run::{EncodedBlocks, Run};
use crate::lexicon;
use crate::lexicon::Lexicon;
use tokapi_storage::error::{Error, Result};
use tokapi_storage::progress::Progress;

/// Consecutive postings of the whole collection, by term, then by document.
pub struct Task {
    buckets: Vec<Arc<Bucket>>,
    /// The postings of the first bucket that belong to the previous task.
    skip: u64,
    /// The postings of this task.
    rows: u64,
    /// Whether the last bucket continues in the next task.
    shares_last: bool,
}

/// Tasks with a fixed number of postings each, except the last.
pub struct Tasks {
    buckets: Buckets,
    rows: u64,
    /// The last bucket of the last task, if some is left, and the number of its postings that were taken.
    left: Option<(Arc<Bucket>, u64)>,
    /// Counts the postings of the tasks.
    progress: Progress,
}

impl Tasks {
    /// The postings of `runs`, `rows` at a time.
    ///
    /// # Errors
    /// A run cannot be read, or is damaged.
    pub(crate) fn new(
        runs: &[Run],
        rows: usize,
        buffer_bytes: usize,
        progress: &Progress,
    ) -> Result<Self> {
        Ok(Tasks {
            buckets: Buckets::new(runs, buffer_bytes)?,
            rows: rows as u64,
            left: None,
            progress: progress.clone(),
        })
    }

    /// The next task; none at the end.
    ///
    /// # Errors
    /// A run cannot be read, or is damaged; the progress is cancelled.
    #[allow(
        clippy::should_implement_trait,
        reason = "items borrow from the reader"
    )]
    pub fn next(&mut self) -> Result<Option<Task>> {
        self.progress.check()?;
        let mut task = Task {
            buckets: Vec::new(),
            skip: 0,
            rows: 0,
            shares_last: false,
        };
        if let Some((bucket, taken)) = self.left.take() {
            task.skip = taken;
            task.rows = bucket.rows - taken;
            task.buckets.push(bucket);
        }
        while task.rows < self.rows {
            let Some(bucket) = self.buckets.next()? else {
                break;
            };
            task.rows += bucket.rows;
            task.buckets.push(Arc::new(bucket));
        }
        if let Some(over) = task.rows.checked_sub(self.rows)
            && over > 0
            && let Some(last) = task.buckets.last()
        {
            self.left = Some((Arc::clone(last), last.rows - over));
            task.rows = self.rows;
            task.shares_last = true;
        }
        self.progress.add(task.rows);
        Ok((!task.buckets.is_empty()).then_some(task))
    }
}

/// The merged postings of a task.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct TaskPostings {
    /// The terms with postings in the task. The first and the last may have more postings in other tasks.
    pub lexicon: Lexicon,
    /// Postings `offsets[t]..offsets[t + 1]` belong to term `t`.
    pub offsets: Vec<u64>,
    /// The document of every posting, numbered in the whole collection.
    pub documents: Vec<u32>,
    /// The term frequency of every posting.
    pub tfs: Vec<u32>,
    /// The terms of the task that belong to no earlier one.
    pub new_terms: std::ops::Range<usize>,
}

impl Task {
    /// Merges the buckets. The documents of run `r` begin at `firsts[r]`.
    ///
    /// # Errors
    /// A run is damaged.
    pub(crate) fn merge(mut self, runs: &[Run], firsts: &[u32]) -> Result<TaskPostings> {
        let mut merged = TaskPostings {
            offsets: vec![0],
            ..TaskPostings::default()
        };
        let mut continued = 0;
        // Each bucket is dropped after it is merged.
        for bucket in std::mem::take(&mut self.buckets) {
            merged.append(&bucket, runs, firsts, &mut continued)?;
        }
        merged.clip(&self, continued);
        Ok(merged)
    }
}

impl TaskPostings {
    /// The merged postings of one bucket.
    ///
    /// # Errors
    /// A run is damaged.
    pub(super) fn of_bucket(bucket: &Bucket, runs: &[Run], firsts: &[u32]) -> Result<Self> {
        let mut merged = TaskPostings {
            offsets: vec![0],
            ..TaskPostings::default()
        };
        merged.append(bucket, runs, firsts, &mut 0)?;
        Ok(merged)
    }

    /// The postings as blocks of a run. With `continues`, the last term has more postings.
    pub(super) fn blocks(&self, continues: bool) -> EncodedBlocks {
        let terms = (0..self.lexicon.df.len()).map(|term| {
            // The postings are in memory, so the offset fits.
            let range = self.offsets[term] as usize..self.offsets[term + 1] as usize;
            (
                self.lexicon.terms.get(term),
                self.lexicon.df[term],
                &self.documents[range.clone()],
                &self.tfs[range],
            )
        });
        EncodedBlocks::new(terms, continues)
    }

    /// Adds the postings of a bucket. Counts in `continued` the leading terms that an earlier task has begun.
    fn append(
        &mut self,
        bucket: &Bucket,
        runs: &[Run],
        firsts: &[u32],
        continued: &mut usize,
    ) -> Result<()> {
        let mut terms = lexicon::Bucket::merge(&bucket.term_slices(), |slice, term| {
            u64::from(bucket.slices[slice].block.df[term])
        });
        if let Some(piece) = bucket.piece {
            terms.df = vec![piece.df];
            // A further piece of the last term, or the first piece here of a term that was begun before.
            match piece.first || self.lexicon.df.is_empty() {
                true => *continued += usize::from(!piece.first),
                false => {
                    terms.terms.clear();
                    terms.df.clear();
                    self.offsets.pop();
                }
            }
        }
        let start = self.documents.len();
        // The place of every term's postings, then the place of its next posting.
        let mut cursors = vec![0u64; terms.ids.len().max(1)];
        for (slice, ends) in bucket.slices.iter().zip(terms.ends.windows(2)) {
            for (&id, term) in terms.ids[ends[0]..ends[1]].iter().zip(slice.terms.clone()) {
                cursors[id as usize] += slice.block.count(term..term + 1);
            }
        }
        let distinct = terms.df.len().max(1);
        let mut next = start as u64;
        for cursor in &mut cursors[..distinct] {
            next += std::mem::replace(cursor, next);
            self.offsets.push(next);
        }
        // A bucket is in memory, so the number of its postings fits.
        self.documents.resize(next as usize, 0);
        self.tfs.resize(next as usize, 0);
        for (slice, ends) in bucket.slices.iter().zip(terms.ends.windows(2)) {
            for (&id, term) in terms.ids[ends[0]..ends[1]].iter().zip(slice.terms.clone()) {
                let cursor = &mut cursors[id as usize];
                let to = *cursor + slice.block.count(term..term + 1);
                let range = std::mem::replace(cursor, to) as usize..to as usize;
                let (documents, tfs) = (&mut self.documents[range.clone()], &mut self.tfs[range]);
                slice
                    .block
                    .postings(term, firsts[slice.run], documents, tfs)
                    .ok_or_else(|| damaged(&runs[slice.run]))?;
            }
        }
        self.lexicon.terms.append(&terms.terms);
        self.lexicon.df.append(&mut terms.df);
        Ok(())
    }

    /// Keeps only the postings of the task, and the terms with postings.
    fn clip(&mut self, task: &Task, continued: usize) {
        let (from, to) = (task.skip, task.skip + task.rows);
        // A term belongs to the task that it begins in.
        let begins = |offset: u64| offset >= from && (offset < to || !task.shares_last);
        let starts = &self.offsets[..self.offsets.len() - 1];
        let first = starts.iter().take_while(|&&offset| offset < from).count();
        let end = starts
            .iter()
            .take_while(|&&offset| offset < from || begins(offset));
        self.new_terms = first.max(continued)..end.count().max(first.max(continued));
        for offset in &mut self.offsets {
            *offset = (*offset).clamp(from, to) - from;
        }
        // Both lie within the documents in memory.
        self.documents.truncate(to as usize);
        self.documents.drain(..from as usize);
        self.tfs.truncate(to as usize);
        self.tfs.drain(..from as usize);
    }
}

fn damaged(run: &Run) -> Error {
    run.file.corrupt("a list is not what was written")
}
