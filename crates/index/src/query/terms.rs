//! The terms of a query, as a part has them.

use hashbrown::HashMap;

use super::filter::Filters;
use super::{Occur, Query};
use crate::Index;
use crate::part::cursor::Cursor;
use crate::part::lists::Found;
use crate::weighing::{Weigher, Weighing};
use tokapi_storage::error::Result;

/// A distinct term of a query.
pub(crate) struct Weighed<'i, 'q> {
    pub term: &'q str,
    /// Whether documents must have it; whether none may. Both are possible, and then none matches.
    pub must: bool,
    pub not: bool,
    /// How often the query has it.
    pub times: f64,
    pub df: u64,
    pub idf: f64,
    /// Its entry in every part.
    pub found: Vec<Option<Found<'i>>>,
}

/// The distinct terms of a query in its order, with their idf in the whole index, or without where
/// nothing is weighed.
pub(crate) fn weighed<'i, 'q>(
    index: &'i Index,
    query: &'q Query,
    weighing: Option<&Weighing>,
) -> Result<Vec<Weighed<'i, 'q>>> {
    let mut terms: Vec<Weighed<'i, 'q>> = Vec::with_capacity(query.clauses.len());
    let mut known: HashMap<&str, usize> = HashMap::with_capacity(query.clauses.len());
    for clause in &query.clauses {
        let (must, not) = (clause.occur == Occur::Must, clause.occur == Occur::Not);
        match known.get(&*clause.term) {
            Some(&place) => {
                let term = &mut terms[place];
                term.times += 1.0;
                term.must |= must;
                term.not |= not;
            }
            None => {
                known.insert(&clause.term, terms.len());
                let parts = index.parts().iter();
                let mut found: Vec<Option<Found<'i>>> = parts
                    .map(|part| part.find(clause.term.as_bytes()))
                    .collect::<Result<_>>()?;
                let (mut df, is_weighed) = (0, weighing.is_some());
                for (part, found) in index.parts().iter().zip(&found) {
                    if let (Some(found), Some(_)) = (found, weighing) {
                        df += part.live_df(found)?;
                    }
                }
                let weighing = weighing.filter(|_| df > 0);
                if df == 0 && is_weighed {
                    // All that had it are deleted.
                    found.fill_with(|| None);
                }
                terms.push(Weighed {
                    term: &clause.term,
                    must,
                    not,
                    times: 1.0,
                    df,
                    idf: weighing.map_or(0.0, |weighing| {
                        weighing.idf(index.statistics().documents, df)
                    }),
                    found,
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
    /// Which documents may be found, those with a term that none may have left out.
    pub filters: Filters<'a>,
    /// The number of scored terms that documents must have, found here or not.
    must: usize,
    /// Whether all documents that the filters let through match, with the score 0.
    pub filters_alone: bool,
}

/// A term that adds to the score.
pub(crate) struct Term<'a> {
    pub cursor: Cursor<'a>,
    pub idf: f64,
    pub times: f64,
    pub must: bool,
    /// The most that it adds to a score.
    pub bound: f64,
    /// The same, its sign apart.
    pub magnitude: f64,
    /// The bounds of all blocks, where they have been asked for.
    bounds: Vec<f32>,
}

impl<'a> Terms<'a> {
    /// The terms of `query` that part `number` has.
    pub fn new(
        index: &'a Index,
        number: usize,
        query: &Query,
        weighed: &[Weighed<'a, '_>],
        weighing: &Weighing,
    ) -> Result<Self> {
        let part = &index.parts()[number];
        let mut terms = Terms {
            weigher: Weigher::new(part, weighing, &index.statistics()),
            scored: Vec::new(),
            filters: Filters::new(part, query)?,
            must: 0,
            filters_alone: query.is_filters_alone(),
        };
        for weighed in weighed {
            terms.must += usize::from(weighed.must);
            let Some(found) = &weighed.found[number] else {
                continue;
            };
            let cursor = Cursor::new(found)?;
            match weighed.not {
                true => terms.filters.not.push(cursor),
                false => terms
                    .scored
                    .push(Term::new(&terms.weigher, cursor, weighed)?),
            }
        }
        Ok(terms)
    }

    /// The number of terms that documents must have.
    pub fn must(&self) -> usize {
        self.must
    }

    /// Goes back to the beginning of every list.
    pub fn rewind(&mut self) {
        self.filters.rewind();
        for term in &mut self.scored {
            term.cursor.go_to_block(0);
        }
    }

    /// Whether a term or a value that documents must have is not in the part.
    pub fn misses_one(&self) -> bool {
        self.filters.misses_one() || self.scored.iter().filter(|term| term.must).count() < self.must
    }
}

impl<'a> Term<'a> {
    fn new(
        weigher: &Weigher<'_>,
        mut cursor: Cursor<'a>,
        weighed: &Weighed<'_, '_>,
    ) -> Result<Self> {
        let (idf, times) = (weighed.idf, weighed.times);
        let magnitude = match cursor.list_front() {
            Some(front) => weigher.magnitude(idf, front),
            None => {
                let mut weights = [0.0f32; crate::part::block::BLOCK];
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
            bounds: Vec::new(),
        })
    }

    /// Finds the bound of every block.
    pub fn bound_blocks(&mut self, weigher: &Weigher<'_>) {
        if self.idf > 0.0 {
            self.bounds = weigher.magnitudes(self.idf, self.cursor.entries());
            let times = self.times as f32;
            for bound in &mut self.bounds {
                *bound = (*bound * times).next_up();
            }
        }
    }

    /// The most that the term adds to the score of a document of block `block`.
    #[inline]
    pub fn block_bound(&self, weigher: &Weigher<'_>, block: usize) -> f64 {
        match (self.bounds.get(block), self.cursor.front(block)) {
            _ if self.idf <= 0.0 => 0.0,
            (Some(&bound), _) => bound.into(),
            (None, Some(front)) => weigher.magnitude(self.idf, front) * self.times,
            (None, None) => self.bound,
        }
    }

    /// The share of the term in the score of `document`, which its cursor is at.
    pub fn weight_here(&mut self, weigher: &Weigher<'_>, document: u32) -> Result<f64> {
        let tf = self.cursor.tf()?;
        Ok(f64::from(weigher.weight(self.idf, document, tf)?) * self.times)
    }
}
