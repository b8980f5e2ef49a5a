//! The terms of a query, as a part has them.

use super::weigher::Weigher;
use super::{Occur, Query};
use crate::error::Result;
use crate::index::{Cursor, Index, Part};
use crate::weigh::Bm25;

/// A distinct term of a query.
pub(crate) struct Weighed<'q> {
    pub term: &'q str,
    /// Whether documents must have it; whether none may. Both are possible, and then none matches.
    pub must: bool,
    pub not: bool,
    /// How often the query has it.
    pub times: f64,
    pub df: u64,
    pub idf: f64,
}

/// The distinct terms of a query in its order, with their idf in the whole index.
pub(crate) fn weighed<'q>(
    index: &Index,
    query: &'q Query,
    bm25: &Bm25,
) -> Result<Vec<Weighed<'q>>> {
    let mut terms: Vec<Weighed<'q>> = Vec::new();
    for clause in &query.clauses {
        let (must, not) = (clause.occur == Occur::Must, clause.occur == Occur::Not);
        match terms.iter_mut().find(|known| known.term == clause.term) {
            Some(known) => {
                known.times += 1.0;
                known.must |= must;
                known.not |= not;
            }
            None => {
                let mut df = 0;
                for part in index.parts() {
                    let found = part.find(clause.term.as_bytes())?;
                    df += found.map_or(0, |found| found.df);
                }
                terms.push(Weighed {
                    term: &clause.term,
                    must,
                    not,
                    times: 1.0,
                    df,
                    idf: bm25.idf(index.statistics().documents, df),
                });
            }
        }
    }
    Ok(terms)
}

/// The terms of a query that a part has.
pub(crate) struct Terms<'a> {
    pub weigher: Weigher<'a>,
    /// Those that add to the score, in the order of the query.
    pub scored: Vec<Term<'a>>,
    /// Those that no document may have.
    pub not: Vec<Cursor<'a>>,
    /// The number of scored terms that documents must have, found here or not.
    must: usize,
}

/// A term that adds to the score.
pub(crate) struct Term<'a> {
    pub cursor: Cursor<'a>,
    pub idf: f64,
    pub times: f64,
    pub must: bool,
    /// What it adds to a score at most.
    pub bound: f64,
    /// The same, its sign apart.
    pub magnitude: f64,
    /// The block whose bound was asked for last, and that bound.
    last_bound: (usize, f64),
}

impl<'a> Terms<'a> {
    pub fn new(index: &Index, part: &'a Part, query: &[Weighed<'_>], bm25: &Bm25) -> Result<Self> {
        let mut terms = Terms {
            weigher: Weigher::new(part, bm25, &index.statistics()),
            scored: Vec::new(),
            not: Vec::new(),
            must: 0,
        };
        for weighed in query {
            terms.must += usize::from(weighed.must);
            let Some(found) = part.find(weighed.term.as_bytes())? else {
                continue;
            };
            let cursor = Cursor::new(part, &found)?;
            match weighed.not {
                true => terms.not.push(cursor),
                false => terms
                    .scored
                    .push(Term::new(&terms.weigher, cursor, weighed)?),
            }
        }
        Ok(terms)
    }

    /// Whether there are terms that documents must have.
    pub fn is_conjunction(&self) -> bool {
        self.must > 0
    }

    /// Whether a term that documents must have is not in the part.
    pub fn misses_one(&self) -> bool {
        self.scored.iter().filter(|term| term.must).count() < self.must
    }

    /// Whether `document`, which comes after those asked for before, has a term that none may have.
    pub fn is_excluded(&mut self, document: u32) -> Result<bool> {
        for cursor in &mut self.not {
            if cursor.seek(document)? == Some(document) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl<'a> Term<'a> {
    fn new(weigher: &Weigher<'_>, mut cursor: Cursor<'a>, weighed: &Weighed<'_>) -> Result<Self> {
        let (idf, times) = (weighed.idf, weighed.times);
        let magnitude = match cursor.list_front() {
            Some(front) => weigher.magnitude(idf, front),
            None => {
                let mut weights = [0.0f32; crate::index::BLOCK];
                let (documents, tfs) = cursor.postings()?;
                weigher.weigh_postings(idf, documents, tfs, &mut weights[..documents.len()])?;
                let weights = weights[..documents.len()].iter();
                weights.fold(0.0, |most: f64, weight| most.max(weight.abs().into()))
            }
        };
        let magnitude = magnitude * times;
        Ok(Term {
            cursor,
            idf,
            times,
            must: weighed.must,
            bound: if idf > 0.0 { magnitude } else { 0.0 },
            magnitude,
            last_bound: (usize::MAX, 0.0),
        })
    }

    /// What the term adds to the score of a document of block `block` at most.
    #[inline]
    pub fn block_bound(&mut self, weigher: &Weigher<'_>, block: usize) -> f64 {
        if self.last_bound.0 == block {
            return self.last_bound.1;
        }
        let bound = match self.cursor.front(block) {
            _ if self.idf <= 0.0 => 0.0,
            Some(front) => weigher.magnitude(self.idf, front) * self.times,
            None => self.bound,
        };
        self.last_bound = (block, bound);
        bound
    }

    /// What the term adds to the score of `document`, which its cursor is at.
    pub fn weight_here(&mut self, weigher: &Weigher<'_>, document: u32) -> Result<f64> {
        let tf = self.cursor.tf()?;
        Ok(f64::from(weigher.weight(self.idf, document, tf)?) * self.times)
    }
}
