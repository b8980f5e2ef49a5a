//! A search and its answer.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokapi::{Bm25, Formula};
use utoipa::{IntoParams, ToSchema};

use super::browse::ValueCount;
use super::filter::FilterRequest;
use super::term::TermAnswer;
use crate::problem::Problem;

/// The words that a document must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Any of the words.
    #[default]
    Or,
    /// All of the words.
    And,
    /// The words one after the other.
    Phrase,
}

/// The formula of scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum FormulaName {
    /// ln(1 + (N - df + 0.5) / (df + 0.5)) * tf / (tf + k1 L)
    Lucene,
    /// ln((N - df + 0.5) / (df + 0.5)) * (k1 + 1) tf / (k1 L + tf)
    Robertson,
    /// ln((N + 0.5) / (df + 0.5)) * (k1 + 1) tf / (k1 L + tf)
    Smoothed,
    /// ln(N / df) * (k1 + 1) tf / (tf + k1 L)
    Atire,
    /// ln((N + 1) / (df + 0.5)) * (k1 + 1)(c + delta) / (k1 + c + delta), c = tf / L
    Bm25l,
    /// ln((N + 1) / df) * ((k1 + 1) tf / (k1 L + tf) + delta)
    Bm25plus,
    /// ln(N / df) * tf
    Tfidf,
}

impl From<FormulaName> for Formula {
    fn from(name: FormulaName) -> Self {
        match name {
            FormulaName::Lucene => Formula::Lucene,
            FormulaName::Robertson => Formula::Robertson,
            FormulaName::Smoothed => Formula::Smoothed,
            FormulaName::Atire => Formula::Atire,
            FormulaName::Bm25l => Formula::Bm25L,
            FormulaName::Bm25plus => Formula::Bm25Plus,
            FormulaName::Tfidf => Formula::TfIdf,
        }
    }
}

/// A formula and its parameters.
#[derive(Debug, Clone, Copy, Default, PartialEq, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Weighting {
    /// The formula of weights and scores; lucene unless given
    pub formula: Option<FormulaName>,
    /// How much repetitions of a term add
    #[param(minimum = 0, maximum = 1e9, default = 1.2)]
    pub k1: Option<f64>,
    /// How much the length of a document counts
    #[param(minimum = 0, maximum = 1, default = 0.75)]
    pub b: Option<f64>,
    /// The parameter delta of bm25l (0.5 unless given) and bm25plus (1)
    #[param(minimum = 0, maximum = 1e9)]
    pub delta: Option<f64>,
    /// The average length of a document; that of the collection unless given
    #[param(minimum = 1e-9, maximum = 1e9)]
    pub avdl: Option<f64>,
}

impl From<Weighting> for Bm25 {
    fn from(given: Weighting) -> Self {
        let usual = Bm25::default();
        usual
            .formula(given.formula.map_or(usual.formula, Into::into))
            .k1(given.k1.unwrap_or(usual.k1))
            .b(given.b.unwrap_or(usual.b))
            .delta(given.delta)
            .avdl(given.avdl)
    }
}

/// A search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SearchRequest {
    /// The query: words, `+word` that must occur, `-word` that must not, `"a phrase"`, `-"a phrase"`.
    #[schema(example = "boundary layer +flow")]
    pub query: String,
    /// The words that a document must have.
    pub mode: Mode,
    /// Whether `+`, `-` and `"` are operators; otherwise they are text.
    #[schema(default = true)]
    pub operators: bool,
    /// Conditions on fields. A document must meet all of them.
    pub filters: Vec<FilterRequest>,
    /// The formula of scores; `lucene` unless given.
    #[schema(default = "lucene")]
    pub formula: Option<FormulaName>,
    /// How much repetitions of a term add; 1.2 unless given.
    #[schema(minimum = 0, maximum = 1e9, default = 1.2)]
    pub k1: Option<f64>,
    /// How much the length of a document counts, from 0 to 1; 0.75 unless given.
    #[schema(minimum = 0, maximum = 1, default = 0.75)]
    pub b: Option<f64>,
    /// The parameter delta of `bm25l` (0.5 unless given) and `bm25plus` (1).
    #[schema(minimum = 0, maximum = 1e9)]
    pub delta: Option<f64>,
    /// The average length of a document; that of the collection unless given.
    #[schema(minimum = 1e-9, maximum = 1e9)]
    pub avdl: Option<f64>,
    /// The number of documents to find.
    #[schema(minimum = 1, default = 10)]
    pub k: usize,
    /// The place behind which the answer begins: `next` of the page before.
    pub after: Option<String>,
    /// Whether hits have snippets, if the index keeps texts.
    #[schema(default = true)]
    pub snippets: bool,
    /// The length of a snippet in characters.
    #[schema(minimum = 1, default = 200)]
    pub snippet_characters: usize,
    /// The fields of a hit; all that the index keeps unless given.
    pub fields: Option<Vec<String>>,
    /// Whether hits have the whole text.
    pub text: bool,
    /// Whether hits have the parts of their scores.
    pub explain: bool,
    /// Whether the answer has the number of all documents that match.
    pub count: bool,
    /// The fields whose values are counted in all documents that match.
    pub facets: Vec<String>,
    /// The most milliseconds to wait for the answer.
    #[schema(minimum = 1)]
    pub timeout_ms: Option<u64>,
}

impl Default for SearchRequest {
    fn default() -> Self {
        SearchRequest {
            query: String::new(),
            mode: Mode::Or,
            operators: true,
            filters: Vec::new(),
            formula: None,
            k1: None,
            b: None,
            delta: None,
            avdl: None,
            k: 10,
            after: None,
            snippets: true,
            snippet_characters: 200,
            fields: None,
            text: false,
            explain: false,
            count: false,
            facets: Vec::new(),
            timeout_ms: None,
        }
    }
}

/// The answer to a search.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct SearchAnswer {
    /// The microseconds from the request to the answer.
    // The first member, and left out when a cached answer is kept: each answer gets its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required, value_type = u64)]
    pub took_us: Option<u64>,
    /// The name of the index.
    pub index: String,
    /// The state of the index that was searched.
    pub epoch: u64,
    /// Whether all of the index was searched.
    pub complete: bool,
    /// The number of all documents that match, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// The documents, the best first.
    pub hits: Vec<HitAnswer>,
    /// `after` of the next page; missing if this is the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// The values of each asked field, the most frequent first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub facets: Option<BTreeMap<String, Vec<ValueCount>>>,
}

/// A document that a search found.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct HitAnswer {
    /// The id.
    pub id: String,
    /// The score. As decimal digits it reads back as the same 32-bit number.
    pub score: f32,
    /// The sequence number: documents are numbered in the order of addition.
    pub sequence: u64,
    /// The part of the text with most words of the query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snippet: Option<String>,
    /// The words of the query in the snippet: from and to, in characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub highlights: Option<Vec<[usize; 2]>>,
    /// The values of the kept fields: a value, or a list of values.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub fields: Option<Map<String, Value>>,
    /// The whole text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The number of terms of the document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<u32>,
    /// The parts of the score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terms: Option<Vec<TermAnswer>>,
}

/// Several searches of one index.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchesRequest {
    /// The searches.
    #[serde(deserialize_with = "super::object::objects")]
    pub searches: Vec<SearchRequest>,
}

/// The answers to several searches.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct SearchesAnswer {
    /// An answer or a problem for each search, in their order.
    pub answers: Vec<AnswerOrProblem>,
}

/// An answer, or the problem of a search.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum AnswerOrProblem {
    /// The answer.
    Answer(Box<SearchAnswer>),
    /// The problem.
    Problem(Problem),
}
