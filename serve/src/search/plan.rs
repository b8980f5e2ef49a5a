//! A request becomes a search of the scheduler, and a note of what is shown of each hit.
//!
//! Planning cuts the text of the query into terms, at most [`Limits::query_bytes`] of it: a few microseconds, on the
//! thread that read the request.

use std::sync::Arc;

use tokapi::{Error, Filter, Kept, Occur, Query, SearchOptions};
use tokapi_device::cooperate::Search;

use super::cursor::parse_cursor;
use super::deadline::Deadline;
use crate::limits::{Limits, at_least_1, at_most};
use crate::model::{CountRequest, FilterRequest, Mode, SearchRequest, Weighting};
use crate::problem::Problem;
use crate::served::Snapshot;

/// What an answer shows, beside the ids and scores of hits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shown {
    /// The length of snippets in characters; none without snippets. An index without texts gives none.
    pub snippet_characters: Option<usize>,
    /// The fields of hits; all that the index keeps if this is none.
    pub fields: Option<Vec<String>>,
    /// The whole texts.
    pub text: bool,
    /// The parts of the scores.
    pub explain: bool,
    /// The number of all documents that match.
    pub count: bool,
    /// The fields whose values are counted.
    pub facets: Vec<String>,
    /// Whether there is a next page.
    pub next: bool,
}

/// A checked search in one state of an index.
#[derive(Clone)]
pub struct Planned {
    /// The search of the scheduler.
    pub search: Arc<Search>,
    /// The state of the index.
    pub snapshot: Arc<Snapshot>,
    /// What the answer shows.
    pub shown: Shown,
    /// The time when an answer is of no use any more.
    pub deadline: Deadline,
    /// The number of documents of the answer. The search may find one more, which tells that there is a next page.
    pub k: usize,
    /// Values of a facet.
    pub facet_values: usize,
    /// The most bytes of the answer.
    pub answer_bytes: usize,
}

impl Planned {
    /// A search for a finished query.
    ///
    /// # Errors
    /// The query exceeds a limit; parameters are out of range; the index lacks something that the search needs.
    pub fn new(
        limits: &Limits,
        snapshot: Arc<Snapshot>,
        query: Query,
        mut options: SearchOptions,
        shown: Shown,
        deadline: Deadline,
    ) -> Result<Self, Problem> {
        check_query(limits, &snapshot, &query)?;
        let k = options.k;
        at_most("k", k, limits.k)?;
        // The document behind the page is not shown.
        options.k = k.saturating_add(shown.next.into());
        options.bm25.check()?;
        snapshot.check_formula(&options.bm25)?;
        if let Some(characters) = shown.snippet_characters {
            at_least_1("snippet_characters", characters)?;
            at_most("snippet_characters", characters, limits.snippet_characters)?;
        }
        if shown.text && !snapshot.index().keep().text {
            return Err(Error::NotKept(Kept::Texts).into());
        }
        at_most("the number of facets", shown.facets.len(), limits.facets)?;
        for field in shown.fields.iter().flatten() {
            snapshot.check_field(field)?;
        }
        for field in &shown.facets {
            snapshot.check_values(field)?;
        }
        Ok(Planned {
            search: Arc::new(Search {
                index: Arc::clone(snapshot.index()),
                query,
                options,
            }),
            snapshot,
            shown,
            deadline,
            k,
            facet_values: limits.facet_values,
            answer_bytes: limits.answer_bytes,
        })
    }

    /// The query.
    pub fn query(&self) -> &Query {
        &self.search.query
    }

    /// The bytes that name the answer: equal for searches with equal answers.
    pub fn key(&self) -> Vec<u8> {
        let Planned {
            search,
            snapshot,
            shown,
            ..
        } = self;
        let (query, options) = (&search.query, &search.options);
        let mut key = Key(Vec::with_capacity(128));
        key.number(snapshot.identity());
        key.number(query.clauses.len() as u64);
        for clause in &query.clauses {
            key.number(clause.occur as u64);
            key.text(&clause.term);
        }
        key.number(query.filters.len() as u64);
        for filter in &query.filters {
            key.number(filter.not.into());
            key.text(&filter.field);
            key.text(&filter.value);
        }
        key.number(query.phrases.len() as u64);
        for phrase in &query.phrases {
            key.number(phrase.not.into());
            key.texts(&phrase.terms);
        }
        let bm25 = &options.bm25;
        key.number(bm25.formula as u64);
        for parameter in [Some(bm25.k1), Some(bm25.b), bm25.delta, bm25.avdl] {
            key.optional(parameter.map(f64::to_bits));
        }
        key.number(options.k as u64);
        let after = options.after;
        key.optional(after.map(|rank| rank.score.to_bits().into()));
        key.optional(after.map(|rank| rank.sequence));
        key.optional(shown.snippet_characters.map(|count| count as u64));
        key.optional(shown.fields.as_ref().map(|_| 0));
        key.texts(shown.fields.as_deref().unwrap_or_default());
        key.number(shown.text.into());
        key.number(shown.explain.into());
        key.number(shown.count.into());
        key.texts(&shown.facets);
        key.0
    }
}

/// Writes numbers and texts so that different sequences of them have different bytes.
struct Key(Vec<u8>);

impl Key {
    fn number(&mut self, number: u64) {
        let mut rest = number;
        while rest >= 0x80 {
            self.0.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        self.0.push(rest as u8);
    }

    fn optional(&mut self, number: Option<u64>) {
        self.0.push(number.is_some().into());
        if let Some(number) = number {
            self.number(number);
        }
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }

    fn texts(&mut self, texts: &[String]) {
        self.number(texts.len() as u64);
        texts.iter().for_each(|text| self.text(text));
    }
}

/// Plans a search.
///
/// # Errors
/// As [`Planned::new`]; a filter or a cursor cannot be parsed.
pub fn plan(
    limits: &Limits,
    snapshot: Arc<Snapshot>,
    request: SearchRequest,
    deadline: Deadline,
) -> Result<Planned, Problem> {
    let query = parse(
        limits,
        &snapshot,
        &request.query,
        request.mode,
        request.operators,
        &request.filters,
    )?;
    at_least_1("k", request.k)?;
    let weighting = Weighting {
        formula: request.formula,
        k1: request.k1,
        b: request.b,
        delta: request.delta,
        avdl: request.avdl,
    };
    let options = SearchOptions::default()
        .k(request.k)
        .bm25(weighting.into())
        .after(request.after.as_deref().map(parse_cursor).transpose()?);
    let shown = Shown {
        snippet_characters: request.snippets.then_some(request.snippet_characters),
        fields: request.fields,
        text: request.text,
        explain: request.explain,
        count: request.count,
        facets: request.facets,
        next: true,
    };
    Planned::new(limits, snapshot, query, options, shown, deadline)
}

/// Plans the query of a count.
///
/// # Errors
/// As [`plan`].
pub fn plan_count(
    limits: &Limits,
    snapshot: &Snapshot,
    request: &CountRequest,
) -> Result<Query, Problem> {
    let query = parse(
        limits,
        snapshot,
        &request.query,
        request.mode,
        request.operators,
        &request.filters,
    )?;
    check_query(limits, snapshot, &query)?;
    Ok(query)
}

fn parse(
    limits: &Limits,
    snapshot: &Snapshot,
    text: &str,
    mode: Mode,
    operators: bool,
    filters: &[FilterRequest],
) -> Result<Query, Problem> {
    at_most(
        "the number of bytes of the query",
        text.len(),
        limits.query_bytes,
    )?;
    at_most("the number of filters", filters.len(), limits.query_terms)?;
    let index = snapshot.index();
    let analyzer = index.analyzer();
    let query = match (mode, operators) {
        (Mode::Or, true) => Query::parse(text, analyzer, Occur::Should),
        (Mode::And, true) => Query::parse(text, analyzer, Occur::Must),
        (Mode::Or, false) => Query::any(analyzer.terms(text)),
        (Mode::And, false) => Query::all(analyzer.terms(text)),
        (Mode::Phrase, _) => Query::phrase(analyzer.terms(text)),
    };
    let filters = filters.iter().map(|filter| match filter {
        FilterRequest::Text(text) => Filter::parse(text, index),
        FilterRequest::Parts(parts) => Ok(Filter::new(&parts.field, &parts.value).not(parts.not)),
    });
    let filters: Vec<Filter> = filters.collect::<tokapi::Result<_>>()?;
    Ok(query.filters(filters))
}

/// Checks what a search would find out only on another thread, where errors lose their kind.
fn check_query(limits: &Limits, snapshot: &Snapshot, query: &Query) -> Result<(), Problem> {
    let phrases = query.phrases.iter().map(|phrase| phrase.terms.len());
    let terms = query.clauses.len() + query.filters.len() + phrases.sum::<usize>();
    at_most(
        "the number of terms and filters of the query",
        terms,
        limits.query_terms,
    )?;
    snapshot.index().check_query(query)?;
    Ok(())
}
