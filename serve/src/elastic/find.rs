//! A plan is answered: hits, their number, and the parts of their scores.

use tokapi::{Bm25, Hit, Index, Query, Rank, Result, SearchOptions};

use super::dsl::{After, Matching, Plan, SearchBody, Select};

/// The hits of a page.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// The hits.
    pub hits: Vec<Hit>,
    /// The number of all matches, if it was asked for.
    pub total: Option<Total>,
    /// The highest score of all hits.
    pub max_score: Option<f32>,
}

/// A number of matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Total {
    /// The number.
    pub value: u64,
    /// Whether there may be more.
    pub or_more: bool,
}

/// An index, and the lookup of ids in it.
pub struct Reader<'a> {
    /// The index.
    pub index: &'a Index,
    /// The number of the document with an id.
    pub find: &'a dyn Fn(&str) -> Result<Option<u64>>,
    /// The formula of scores.
    pub bm25: Bm25,
}

/// First hits that are read to fill a page from a set.
const FIRST: usize = 64;
/// Documents of a set that are scored one by one. The ranking of a larger set is read until the page is full.
const FEW: usize = 256;

impl Reader<'_> {
    /// The page of `body`, whose query is `plan`.
    ///
    /// # Errors
    /// The index lacks something that the query needs; it is damaged.
    pub fn page(&self, plan: &Plan, body: &SearchBody) -> Result<Found> {
        if !body.sort.by_score() {
            return self.by_age(plan, body);
        }
        let constant = plan.constant;
        let after = body.after.map(|after| match after {
            // All of the same score stand before it.
            After::One(score) => rank(score, u64::MAX, constant),
            After::Two(score, sequence) => rank(score, sequence, constant),
        });
        let want = body.from + body.size;
        let mut hits = self.ranked(&plan.matching, want, after)?;
        hits.iter_mut().for_each(|hit| hit.score += constant);
        let mut total = None;
        if let Some(least) = body.min_score {
            let is_page_full = hits.len() == want;
            hits.retain(|hit| hit.score >= least);
            total = Some(Total {
                value: hits.len() as u64,
                or_more: is_page_full && hits.len() == want,
            });
        } else if body.total {
            total = Some(Total {
                value: self.count(&plan.matching)?,
                or_more: false,
            });
        }
        let max_score = hits.first().map(|hit| hit.score);
        hits.drain(..body.from.min(hits.len()));
        Ok(Found {
            hits,
            total: total.filter(|_| body.total),
            max_score,
        })
    }

    /// The number of matches.
    ///
    /// # Errors
    /// As [`Reader::page`].
    pub fn count(&self, matching: &Matching) -> Result<u64> {
        match matching {
            Matching::Nothing => Ok(0),
            Matching::Everything => Ok(self.index.statistics().documents),
            Matching::Flat(query) => self.index.count(query),
            Matching::Set(select, _) => Ok(self.set(select)?.len() as u64),
        }
    }

    /// The numbers of all matches, ascending.
    ///
    /// # Errors
    /// As [`Reader::page`].
    pub fn documents(&self, matching: &Matching) -> Result<Vec<u64>> {
        match matching {
            Matching::Nothing => Ok(Vec::new()),
            Matching::Everything => self.live(),
            Matching::Flat(query) => self.index.documents(query),
            Matching::Set(select, _) => self.set(select),
        }
    }

    /// The best `want` matches that rank behind `after`, without the constant score.
    fn ranked(&self, matching: &Matching, want: usize, after: Option<Rank>) -> Result<Vec<Hit>> {
        let options = SearchOptions::default().bm25(self.bm25).after(after);
        match matching {
            _ if want == 0 => Ok(Vec::new()),
            Matching::Nothing => Ok(Vec::new()),
            Matching::Everything => self.unscored(self.live()?, want, after),
            Matching::Flat(query) => self.index.search(query, &options.k(want)),
            Matching::Set(select, query) => {
                let set = self.set(select)?;
                match set.len() <= FEW {
                    true => self.in_few(set, query, &options.k(want)),
                    false => self.in_set(set, query, &options.k(want)),
                }
            }
        }
    }

    /// The best `options.k` of `query` that are in `set`, then the others of `set` with the score 0.
    fn in_set(&self, set: Vec<u64>, query: &Query, options: &SearchOptions) -> Result<Vec<Hit>> {
        let (want, after) = (options.k, options.after);
        if query.clauses.is_empty() {
            return self.unscored(set, want, after);
        }
        let mut k = want.max(FIRST);
        let mut hits = loop {
            let found = self.index.search(query, &options.clone().k(k))?;
            let is_all = found.len() < k;
            let mut kept = found;
            kept.retain(|hit| set.binary_search(&hit.document).is_ok());
            if is_all || kept.len() >= want {
                break kept;
            }
            k = k.saturating_mul(4);
        };
        if hits.len() < want {
            let scored = self.index.documents(query)?;
            let rest = minus(set, &scored);
            hits.extend(self.unscored(rest, want - hits.len(), after)?);
        }
        hits.truncate(want);
        Ok(hits)
    }

    /// As [`Reader::in_set`], from the score of every document of `set`.
    fn in_few(&self, set: Vec<u64>, query: &Query, options: &SearchOptions) -> Result<Vec<Hit>> {
        let want = options.k;
        let (mut hits, mut rest) = (Vec::new(), Vec::new());
        for document in set {
            let explained = self.index.explain(query, options, document)?;
            match explained.terms.is_empty() {
                true => rest.push(document),
                false => hits.push(Hit {
                    document,
                    score: explained.score,
                    sequence: self.index.sequence(document)?,
                }),
            }
        }
        let order = |a: Rank, b: Rank| {
            let by_score = b.score.total_cmp(&a.score);
            by_score.then_with(|| a.sequence.cmp(&b.sequence))
        };
        if let Some(after) = options.after {
            hits.retain(|hit| order(after, hit.rank()).is_lt());
        }
        hits.sort_unstable_by(|a, b| order(a.rank(), b.rank()));
        if hits.len() < want {
            hits.extend(self.unscored(rest, want - hits.len(), options.after)?);
        }
        hits.truncate(want);
        Ok(hits)
    }

    /// The first `want` of `documents` in the order of addition, with the score 0.
    fn unscored(&self, documents: Vec<u64>, want: usize, after: Option<Rank>) -> Result<Vec<Hit>> {
        let first = match after {
            Some(rank) if rank.score < 0.0 => return Ok(Vec::new()),
            Some(rank) if rank.score == 0.0 => Some(rank.sequence),
            _ => None,
        };
        let mut hits = Vec::with_capacity(documents.len());
        for document in documents {
            let sequence = self.index.sequence(document)?;
            if first.is_none_or(|first| sequence > first) {
                hits.push(Hit {
                    document,
                    score: 0.0,
                    sequence,
                });
            }
        }
        hits.sort_unstable_by_key(|hit| hit.sequence);
        hits.truncate(want);
        Ok(hits)
    }

    fn by_age(&self, plan: &Plan, body: &SearchBody) -> Result<Found> {
        let documents = self.documents(&plan.matching)?;
        let total = body.total.then_some(Total {
            value: documents.len() as u64,
            or_more: false,
        });
        let after = match body.after {
            // A whole number, as it was shown.
            Some(After::One(sequence) | After::Two(sequence, _)) => Some(Rank {
                score: 0.0,
                sequence: sequence as u64,
            }),
            None => None,
        };
        let mut hits = self.unscored(documents, body.from + body.size, after)?;
        hits.drain(..body.from.min(hits.len()));
        Ok(Found {
            hits,
            total,
            max_score: None,
        })
    }

    /// The documents of a set, ascending.
    fn set(&self, select: &Select) -> Result<Vec<u64>> {
        match select {
            Select::All => self.live(),
            Select::Nothing => Ok(Vec::new()),
            Select::Query(query) => self.index.documents(query),
            Select::Ids(ids) => {
                let mut documents = Vec::with_capacity(ids.len());
                for id in ids {
                    documents.extend((self.find)(id)?);
                }
                documents.sort_unstable();
                documents.dedup();
                Ok(documents)
            }
            Select::Not(inner) => Ok(minus(self.live()?, &self.set(inner)?)),
            Select::Or(sets) => {
                let mut any = Vec::new();
                for set in sets {
                    any.append(&mut self.set(set)?);
                }
                any.sort_unstable();
                any.dedup();
                Ok(any)
            }
            Select::And(sets) => {
                let (not, of): (Vec<_>, Vec<_>) =
                    sets.iter().partition(|set| matches!(set, Select::Not(_)));
                let mut of = of.into_iter();
                let mut all = match of.next() {
                    Some(first) => self.set(first)?,
                    None => self.live()?,
                };
                for set in of {
                    let other = self.set(set)?;
                    all.retain(|document| other.binary_search(document).is_ok());
                }
                for set in not {
                    if let Select::Not(inner) = set {
                        all = minus(all, &self.set(inner)?);
                    }
                }
                Ok(all)
            }
        }
    }

    /// All documents that are not deleted.
    fn live(&self) -> Result<Vec<u64>> {
        self.index.documents(&Query::everything())
    }
}

/// The place of a shown score.
fn rank(score: f64, sequence: u64, constant: f32) -> Rank {
    Rank {
        score: score as f32 - constant,
        sequence,
    }
}

/// The documents of `all` that are not in `others`; both ascend.
fn minus(mut all: Vec<u64>, others: &[u64]) -> Vec<u64> {
    let mut others = others.iter().peekable();
    all.retain(|document| {
        while others.next_if(|other| *other < document).is_some() {}
        others.peek() != Some(&document)
    });
    all
}

#[cfg(test)]
mod tests {
    use tokapi::{Corpus, CorpusOptions, Document, IndexBuilder};

    use super::*;

    #[test]
    fn differences_of_sets() {
        assert_eq!(minus(vec![1, 2, 3, 5], &[2, 4, 5]), [1, 3]);
        assert_eq!(minus(vec![1], &[]), [1]);
        assert_eq!(minus(vec![], &[1]), [0; 0]);
    }

    #[test]
    fn small_and_large_sets_have_one_ranking() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index");
        let text = |number: u64| {
            let words = ["wing", "flow", "heat", "layer", "other"].into_iter();
            let words = words.enumerate().map(|(at, word)| {
                let times = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (8 * at) & 3;
                format!("{word} ").repeat(times as usize)
            });
            words.collect::<String>()
        };
        let documents = (0..1000).map(|number| Document::new(number.to_string(), text(number)));
        let corpus =
            Corpus::from_documents(documents.collect::<Vec<_>>(), CorpusOptions::default());
        IndexBuilder::new(&path).threads(1).build(corpus).unwrap();
        let index = Index::open(&path).unwrap();
        let reader = Reader {
            index: &index,
            find: &|_| Ok(None),
            bm25: Bm25::default(),
        };
        for words in [
            &["wing"][..],
            &["wing", "flow"],
            &["heat", "heat", "layer"],
            &["nothing"],
        ] {
            let query = Query::any(words.iter().copied());
            for step in [1, 3, 10, 400] {
                let set: Vec<u64> = (0..1000).step_by(step).collect();
                let all = SearchOptions::default();
                let ranking = reader
                    .in_few(set.clone(), &query, &all.clone().k(1000))
                    .unwrap();
                assert_eq!(ranking.len(), set.len());
                assert_eq!(
                    reader
                        .in_set(set.clone(), &query, &all.clone().k(1000))
                        .unwrap(),
                    ranking
                );
                for page in ranking.chunks(100).collect::<Vec<_>>().windows(2) {
                    let options = all.clone().after(page[0].last().map(Hit::rank));
                    let next = reader
                        .in_set(set.clone(), &query, &options.clone().k(100))
                        .unwrap();
                    assert_eq!(next, page[1], "{words:?} {step}");
                    assert_eq!(
                        reader.in_few(set.clone(), &query, &options.k(100)).unwrap(),
                        page[1]
                    );
                }
            }
        }
    }
}
