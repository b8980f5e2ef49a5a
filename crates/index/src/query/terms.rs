//! The terms of a query, resolved in a part.

use hashbrown::HashMap;

use super::filter::Filters;
use super::{Occur, Query, QueryStatistics};
use crate::Index;
use crate::part::cursor::Cursor;
use crate::part::lists::Found;
use crate::weighing::{Weigher, Weighing};
use tokapi_storage::error::Result;
use tokapi_weigh::formula::{Bm25, Statistics};

/// A distinct term of a query.
pub(crate) struct Weighed<'i, 'q> {
    pub term: &'q str,
    /// Whether documents must have the term, and whether they must not. If both hold, no document
    /// matches.
    pub must: bool,
    pub not: bool,
    /// Number of times the term occurs in the query.
    pub times: f64,
    pub df: u64,
    pub idf: f64,
    /// Its entry in every part.
    pub found: Vec<Option<Found<'i>>>,
}

/// A query, weighed in a whole index or in a larger collection.
pub(crate) struct WeighedQuery<'i, 'q> {
    pub weighing: Weighing,
    /// The statistics that weights depend on.
    pub statistics: Statistics,
    /// The distinct terms, in the order of the query.
    pub terms: Vec<Weighed<'i, 'q>>,
}

impl<'i, 'q> WeighedQuery<'i, 'q> {
    /// Weighs the terms of `query` by the statistics of `index`, or by those `given`.
    pub fn new(
        index: &'i Index,
        query: &'q Query,
        weighing: Weighing,
        given: Option<&QueryStatistics>,
    ) -> Result<Self> {
        let local = index.statistics();
        given.map_or(Ok(()), |given| given.check(&local))?;
        let statistics = given.map_or(local, |given| given.collection);
        let mut terms = distinct(index, query)?;
        for term in &mut terms {
            let mut df = 0;
            for (part, found) in index.parts().iter().zip(&term.found) {
                if let Some(found) = found {
                    df += part.live_df(found)?;
                }
            }
            if df == 0 {
                // All documents with the term are deleted.
                term.found.fill_with(|| None);
            }
            let given = given.map(|given| given.df_of(term.term, df));
            term.df = given.unwrap_or(Ok(df))?;
            if df > 0 {
                term.idf = weighing.idf(statistics.documents, term.df);
            }
        }
        Ok(WeighedQuery {
            weighing,
            statistics,
            terms,
        })
    }

    /// The terms of `query` without weights: they decide which documents match.
    pub fn unweighed(index: &'i Index, query: &'q Query) -> Result<Self> {
        Ok(WeighedQuery {
            weighing: Weighing::by(&Bm25::default()),
            statistics: index.statistics(),
            terms: distinct(index, query)?,
        })
    }
}

/// The distinct terms of a query in its order, not weighed.
fn distinct<'i, 'q>(index: &'i Index, query: &'q Query) -> Result<Vec<Weighed<'i, 'q>>> {
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
                terms.push(Weighed {
                    term: &clause.term,
                    must,
                    not,
                    times: 1.0,
                    df: 0,
                    idf: 0.0,
                    found: parts
                        .map(|part| part.find(clause.term.as_bytes()))
                        .collect::<Result<_>>()?,
                });
            }
        }
    }
    Ok(terms)
}

/// The terms of a query, resolved in a part.
pub(crate) struct Terms<'a> {
    pub weigher: Weigher<'a>,
    /// The terms that add to the score, in the order of the query.
    pub scored: Vec<Term<'a>>,
    /// The filters; documents with an excluded term do not pass.
    pub filters: Filters<'a>,
    /// The number of required scored terms, found in the part or not.
    must: usize,
    /// Whether all documents that pass the filters match, with the score 0.
    pub filters_alone: bool,
}

/// A term that adds to the score.
pub(crate) struct Term<'a> {
    pub cursor: Cursor<'a>,
    pub idf: f64,
    pub times: f64,
    pub must: bool,
    /// The maximum that it adds to a score.
    pub bound: f64,
    /// The maximum absolute value that it adds.
    pub magnitude: f64,
    /// The bounds of all blocks, once they are computed.
    bounds: Vec<f32>,
}

impl<'a> Terms<'a> {
    /// The terms of `query` that part `number` has.
    pub fn new(
        index: &'a Index,
        number: usize,
        query: &Query,
        weighed: &WeighedQuery<'a, '_>,
    ) -> Result<Self> {
        let part = &index.parts()[number];
        let mut terms = Terms {
            weigher: Weigher::new(part, &weighed.weighing, &weighed.statistics),
            scored: Vec::new(),
            filters: Filters::new(part, query)?,
            must: 0,
            filters_alone: query.is_filters_alone(),
        };
        for weighed in &weighed.terms {
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

    /// The weigher, the scored terms and the filters, borrowed apart.
    #[inline]
    pub fn parts(&mut self) -> (&Weigher<'a>, &mut [Term<'a>], &mut Filters<'a>) {
        (&self.weigher, &mut self.scored, &mut self.filters)
    }

    /// The number of required terms.
    pub fn must(&self) -> usize {
        self.must
    }

    /// Resets every list to its beginning.
    pub fn rewind(&mut self) {
        self.filters.rewind();
        for term in &mut self.scored {
            term.cursor.go_to_block(0);
        }
    }

    /// Whether a required term or value is missing from the part.
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

    /// Computes the bound of every block.
    pub fn bound_blocks(&mut self, weigher: &Weigher<'_>) {
        if self.idf > 0.0 {
            self.bounds = weigher.magnitudes(self.idf, self.cursor.entries());
            let times = self.times as f32;
            for bound in &mut self.bounds {
                *bound = (*bound * times).next_up();
            }
        }
    }

    /// The maximum that the term adds to the score of a document of block `block`.
    #[inline]
    pub fn block_bound(&self, weigher: &Weigher<'_>, block: usize) -> f64 {
        match (self.bounds.get(block), self.cursor.front(block)) {
            _ if self.idf <= 0.0 => 0.0,
            (Some(&bound), _) => bound.into(),
            (None, Some(front)) => weigher.magnitude(self.idf, front) * self.times,
            (None, None) => self.bound,
        }
    }

    /// The share of the term in the score of `document`, the current document of its cursor.
    pub fn weight_here(&mut self, weigher: &Weigher<'_>, document: u32) -> Result<f64> {
        let tf = self.cursor.tf()?;
        Ok(f64::from(weigher.weight(self.idf, document, tf)?) * self.times)
    }
}
