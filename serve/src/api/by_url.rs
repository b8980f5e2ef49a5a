//! Searches and counts whose requests are the parameters of a URL.

use utoipa::IntoParams;

use super::asked::Asked;
use super::extract::Json;
use super::parameters::{FromUrl, Parameters, Url};
use super::reply::Answer;
use super::{count, search};
use crate::limits::Limits;
use crate::model::{
    CountAnswer, CountRequest, FilterRequest, Mode, SearchAnswer, SearchRequest, Weighting,
};
use crate::problem::Problem;

/// Search an index by a URL
#[utoipa::path(
    get,
    path = "/v1/indexes/{index}/search",
    operation_id = "search_by_url",
    params(QueryParameters, Weighting, HitParameters),
    responses((status = 200, description = "The best documents", body = SearchAnswer))
)]
pub async fn search(asked: Asked, Url(request): Url<SearchRequest>) -> Answer {
    search::search(asked, Json(request)).await
}

/// Count the documents that match, by a URL
#[utoipa::path(
    get,
    path = "/v1/indexes/{index}/count",
    operation_id = "count_by_url",
    params(QueryParameters),
    responses((status = 200, description = "The number of documents", body = CountAnswer))
)]
pub async fn count(asked: Asked, Url(request): Url<CountRequest>) -> Answer {
    count::count(asked, Json(request)).await
}

/// A query, and the longest time for its answer.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub struct QueryParameters {
    /// The query: words, +word, -word, "a phrase", -"a phrase"
    #[param(value_type = Option<String>, example = "boundary layer")]
    pub q: String,
    /// The words that a document must have; or unless given
    #[param(value_type = Option<Mode>)]
    pub mode: Mode,
    /// Whether + - and " are operators; otherwise they are text
    #[param(value_type = Option<bool>, default = true)]
    pub operators: bool,
    /// field:value or -field:value; several times for several
    #[param(value_type = Option<Vec<String>>, example = json!(["lang:en"]))]
    pub filter: Vec<FilterRequest>,
    /// The most milliseconds to wait
    #[param(minimum = 1)]
    pub timeout_ms: Option<u64>,
}

impl FromUrl for QueryParameters {
    fn take(from: &mut Parameters<'_>, _: &Limits) -> Result<Self, Problem> {
        let filters = from.all("filter").into_iter().map(FilterRequest::Text);
        Ok(QueryParameters {
            q: from.text("q")?.unwrap_or_default(),
            mode: from.name("mode")?.unwrap_or_default(),
            operators: from.value("operators")?.unwrap_or(true),
            filter: filters.collect(),
            timeout_ms: from.value("timeout_ms")?,
        })
    }
}

impl FromUrl for CountRequest {
    fn take(from: &mut Parameters<'_>, limits: &Limits) -> Result<Self, Problem> {
        let query = QueryParameters::take(from, limits)?;
        Ok(CountRequest {
            query: query.q,
            mode: query.mode,
            operators: query.operators,
            filters: query.filter,
            timeout_ms: query.timeout_ms,
        })
    }
}

/// The hits to find, and what is shown of them.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub struct HitParameters {
    /// The number of documents to find
    #[param(value_type = Option<usize>, minimum = 1, default = 10)]
    k: usize,
    /// `next` of the page before
    after: Option<String>,
    /// Whether hits have snippets, if the index keeps texts
    #[param(value_type = Option<bool>, default = true)]
    snippets: bool,
    /// The length of a snippet in characters
    #[param(value_type = Option<usize>, minimum = 1, default = 200)]
    snippet_characters: usize,
    /// A field of hits; several times for several
    #[param(value_type = Option<Vec<String>>)]
    field: Vec<String>,
    /// Whether hits have the whole text
    #[param(value_type = Option<bool>, default = false)]
    text: bool,
    /// Whether hits have the parts of their scores
    #[param(value_type = Option<bool>, default = false)]
    explain: bool,
    /// Whether the answer has the number of all matches
    #[param(value_type = Option<bool>, default = false)]
    count: bool,
    /// A field whose values are counted; several times for several
    #[param(value_type = Option<Vec<String>>)]
    facet: Vec<String>,
}

impl FromUrl for HitParameters {
    fn take(from: &mut Parameters<'_>, _: &Limits) -> Result<Self, Problem> {
        let usual = SearchRequest::default();
        let snippet_characters = from.value("snippet_characters")?;
        Ok(HitParameters {
            k: from.value("k")?.unwrap_or(usual.k),
            after: from.text("after")?,
            snippets: from.value("snippets")?.unwrap_or(usual.snippets),
            snippet_characters: snippet_characters.unwrap_or(usual.snippet_characters),
            field: from.all("field"),
            text: from.value("text")?.unwrap_or(false),
            explain: from.value("explain")?.unwrap_or(false),
            count: from.value("count")?.unwrap_or(false),
            facet: from.all("facet"),
        })
    }
}

impl FromUrl for SearchRequest {
    fn take(from: &mut Parameters<'_>, limits: &Limits) -> Result<Self, Problem> {
        let query = QueryParameters::take(from, limits)?;
        let formula = Weighting::take(from, limits)?;
        let hits = HitParameters::take(from, limits)?;
        Ok(SearchRequest {
            query: query.q,
            mode: query.mode,
            operators: query.operators,
            filters: query.filter,
            formula: formula.formula,
            k1: formula.k1,
            b: formula.b,
            delta: formula.delta,
            avdl: formula.avdl,
            k: hits.k,
            after: hits.after,
            snippets: hits.snippets,
            snippet_characters: hits.snippet_characters,
            fields: (!hits.field.is_empty()).then_some(hits.field),
            text: hits.text,
            explain: hits.explain,
            count: hits.count,
            facets: hits.facet,
            timeout_ms: query.timeout_ms,
        })
    }
}
