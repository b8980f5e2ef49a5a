//! The same searches without a server: by the library, in this process.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use tokapi::{Error, Index, Occur, Query, SearchOptions};

use super::source::Span;
use super::tally::Tally;
use crate::arrivals::{Arrivals, wait_until};

/// An index, and queries for it.
pub struct Library<'a> {
    pub index: &'a Index,
    pub queries: &'a [String],
    pub k: usize,
    pub threads: usize,
}

impl Library<'_> {
    /// A query from its text to the ids of the documents.
    fn search(&self, number: usize) -> Result<(), Error> {
        let text = &self.queries[number % self.queries.len()];
        let query = Query::parse(text, self.index.analyzer(), Occur::Should);
        let hits = self
            .index
            .search(&query, &SearchOptions::default().k(self.k))?;
        for hit in hits {
            std::hint::black_box((self.index.id(hit.document)?, hit.score));
        }
        Ok(())
    }

    /// One thread answers queries that are due at random moments.
    pub fn open(&self, mut arrivals: Arrivals, span: Span) -> Result<Tally, Error> {
        let mut tally = Tally::default();
        for number in 0.. {
            let due = arrivals.next();
            if due >= span.end {
                break;
            }
            wait_until(due);
            let late = due.elapsed();
            self.search(number)?;
            if due >= span.counted {
                tally.late.push(late);
                tally.answer(200, 0, due.elapsed());
            }
        }
        Ok(tally)
    }

    /// Every thread takes the next query that none has taken.
    pub fn closed(&self, span: Span) -> Result<Tally, Error> {
        let next = AtomicUsize::new(0);
        let work = || -> Result<Tally, Error> {
            let mut tally = Tally::default();
            loop {
                let started = Instant::now();
                if started >= span.end {
                    return Ok(tally);
                }
                self.search(next.fetch_add(1, Ordering::Relaxed))?;
                if started >= span.counted {
                    tally.answer(200, 0, started.elapsed());
                }
            }
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..self.threads).map(|_| scope.spawn(work)).collect();
            let mut all = Tally::default();
            for worker in workers {
                match worker.join() {
                    Ok(tally) => all.add(tally?),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            Ok(all)
        })
    }
}
