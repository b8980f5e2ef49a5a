//! Searches, one or several at a time.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join_all;
use utoipa::IntoParams;

use super::asked::Asked;
use super::extract::Json;
use super::parameters::{FormulaParameters, FromUrl, Parameters, QueryParameters, Url};
use super::reply::{Answer, json, with_time};
use crate::limits::{Limits, at_most};
use crate::model::{SearchAnswer, SearchRequest, SearchesAnswer, SearchesRequest};
use crate::problem::Problem;
use crate::search::plan;
use crate::service::to_json;

/// The form of answers in the cache.
const FORM: &[u8] = b"v1";

/// Search an index
#[utoipa::path(
    post,
    path = "/v1/indexes/{index}/search",
    request_body = SearchRequest,
    responses((status = 200, description = "The best documents", body = SearchAnswer))
)]
pub async fn search(asked: Asked, Json(request): Json<SearchRequest>) -> Answer {
    one(&asked, request).await
}

/// Search an index by a URL
#[utoipa::path(
    get,
    path = "/v1/indexes/{index}/search",
    params(QueryParameters, FormulaParameters, HitParameters),
    responses((status = 200, description = "The best documents", body = SearchAnswer))
)]
pub async fn search_by_url(asked: Asked, Url(request): Url<SearchRequest>) -> Answer {
    one(&asked, request).await
}

/// Search an index several times, in one state of it
#[utoipa::path(
    post,
    path = "/v1/indexes/{index}/searches",
    request_body = SearchesRequest,
    responses((status = 200, description = "An answer or a problem for each search", body = SearchesAnswer))
)]
pub async fn searches(
    asked: Asked,
    Json(SearchesRequest { searches }): Json<SearchesRequest>,
) -> Answer {
    let limits = &asked.service.limits;
    at_most("the number of searches", searches.len(), limits.batch)?;
    let ks = searches.iter().map(|search| search.k);
    let k = ks.fold(0, usize::saturating_add);
    at_most("the sum of all k", k, limits.batch_k)?;
    let searches = searches.into_iter();
    let answers = searches.map(|request| found(&asked, request));
    let mut body = b"{\"answers\":[".to_vec();
    for (place, answer) in join_all(answers).await.into_iter().enumerate() {
        if place > 0 {
            body.push(b',');
        }
        match answer {
            Ok((tail, took_us)) => with_time(took_us, &tail, &mut body),
            Err(problem) => body.extend_from_slice(&problem.to_json()),
        }
    }
    body.extend_from_slice(b"]}");
    Ok(json(body))
}

async fn one(asked: &Asked, request: SearchRequest) -> Answer {
    let (tail, took_us) = found(asked, request).await?;
    let mut body = Vec::new();
    with_time(took_us, &tail, &mut body);
    Ok(json(body))
}

/// The answer to a search without its time, and the time.
async fn found(asked: &Asked, request: SearchRequest) -> Result<(Bytes, u64), Problem> {
    let Asked {
        service,
        snapshot,
        started,
        id,
        ..
    } = asked;
    let (text, k) = (request.query.clone(), request.k);
    let planned = plan(&service.limits, Arc::clone(snapshot), request, *started)?;
    // Scores that are no numbers cannot occur: parameters are checked.
    let shape = |answer: SearchAnswer| to_json(&answer).unwrap_or_default();
    let answer = service.engine.cached(planned, FORM, shape).await;
    service.log_if_slow(snapshot.name(), &text, k, *started, &id.0);
    // Fewer than 2^64 microseconds.
    Ok((answer?, started.elapsed().as_micros() as u64))
}

/// The hits to find, and what is shown of them.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub struct HitParameters {
    /// The number of documents to find
    k: Option<usize>,
    /// `next` of the page before
    after: Option<String>,
    /// Whether hits have snippets
    snippets: Option<bool>,
    /// The length of a snippet
    snippet_characters: Option<usize>,
    /// A field of hits; several times for several
    #[param(value_type = Option<Vec<String>>)]
    field: Vec<String>,
    /// Whether hits have the whole text
    text: Option<bool>,
    /// Whether hits have the parts of their scores
    explain: Option<bool>,
    /// Whether the answer has the number of all matches
    count: Option<bool>,
    /// A field whose values are counted; several times for several
    #[param(value_type = Option<Vec<String>>)]
    facet: Vec<String>,
}

impl FromUrl for HitParameters {
    fn take(from: &mut Parameters<'_>, _: &Limits) -> Result<Self, Problem> {
        Ok(HitParameters {
            k: from.value("k")?,
            after: from.text("after")?,
            snippets: from.value("snippets")?,
            snippet_characters: from.value("snippet_characters")?,
            field: from.all("field"),
            text: from.value("text")?,
            explain: from.value("explain")?,
            count: from.value("count")?,
            facet: from.all("facet"),
        })
    }
}

impl FromUrl for SearchRequest {
    fn take(from: &mut Parameters<'_>, limits: &Limits) -> Result<Self, Problem> {
        let query = QueryParameters::take(from, limits)?;
        let formula = FormulaParameters::take(from, limits)?;
        let hits = HitParameters::take(from, limits)?;
        let usual = SearchRequest::default();
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
            k: hits.k.unwrap_or(usual.k),
            after: hits.after,
            snippets: hits.snippets.unwrap_or(usual.snippets),
            snippet_characters: hits.snippet_characters.unwrap_or(usual.snippet_characters),
            fields: (!hits.field.is_empty()).then_some(hits.field),
            text: hits.text.unwrap_or(false),
            explain: hits.explain.unwrap_or(false),
            count: hits.count.unwrap_or(false),
            facets: hits.facet,
            timeout_ms: query.timeout_ms,
        })
    }
}
