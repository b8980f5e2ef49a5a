//! Searches, one or several at a time.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::Request;
use axum::response::Response;
use bytes::Bytes;
use futures_util::future::join_all;

use super::extract::{Place, RequestId, read_json};
use super::parameters::Parameters;
use super::reply::{json, with_time};
use crate::limits::at_most;
use crate::model::{FilterRequest, SearchAnswer, SearchRequest, SearchesAnswer, SearchesRequest};
use crate::problem::Problem;
use crate::search::plan;
use crate::served::Snapshot;
use crate::service::{Service, to_json};

/// The form of answers in the cache.
const FORM: &[u8] = b"v1";

/// Search an index
#[utoipa::path(
    post,
    path = "/v1/indexes/{index}/search",
    tag = "search",
    operation_id = "search",
    params(("index" = String, Path, description = "The name of the index")),
    request_body = SearchRequest,
    responses(
        (status = 200, description = "The best documents", body = SearchAnswer),
        (status = "default", description = "A problem", body = Problem, content_type = "application/problem+json"),
    )
)]
pub async fn search(
    State(service): State<Arc<Service>>,
    id: RequestId,
    Place(index): Place<String>,
    request: Request<Body>,
) -> Result<Response, Problem> {
    let started = Instant::now();
    let snapshot = service.catalog.snapshot(&index)?;
    let request: SearchRequest = read_json(request, &service.limits).await?;
    one(&service, snapshot, request, started, &id).await
}

/// Search an index by a URL
#[utoipa::path(
    get,
    path = "/v1/indexes/{index}/search",
    tag = "search",
    operation_id = "search_by_url",
    params(
        ("index" = String, Path, description = "The name of the index"),
        ("q" = Option<String>, Query, description = "The query"),
        ("mode" = Option<crate::model::Mode>, Query, description = "The words that a document must have"),
        ("operators" = Option<bool>, Query, description = "Whether + - and \" are operators"),
        ("filter" = Option<Vec<String>>, Query, description = "field:value or -field:value; several times for several"),
        ("formula" = Option<crate::model::FormulaName>, Query, description = "The formula of scores"),
        ("k1" = Option<f64>, Query, description = "How much repetitions of a term add"),
        ("b" = Option<f64>, Query, description = "How much the length of a document counts"),
        ("delta" = Option<f64>, Query, description = "The parameter delta of bm25l and bm25plus"),
        ("avdl" = Option<f64>, Query, description = "The average length of a document"),
        ("k" = Option<usize>, Query, description = "The number of documents to find"),
        ("after" = Option<String>, Query, description = "`next` of the page before"),
        ("snippets" = Option<bool>, Query, description = "Whether hits have snippets"),
        ("snippet_characters" = Option<usize>, Query, description = "The length of a snippet"),
        ("field" = Option<Vec<String>>, Query, description = "A field of hits; several times for several"),
        ("text" = Option<bool>, Query, description = "Whether hits have the whole text"),
        ("explain" = Option<bool>, Query, description = "Whether hits have the parts of their scores"),
        ("count" = Option<bool>, Query, description = "Whether the answer has the number of all matches"),
        ("facet" = Option<Vec<String>>, Query, description = "A field whose values are counted; several times for several"),
        ("timeout_ms" = Option<u64>, Query, description = "The most milliseconds to wait"),
    ),
    responses(
        (status = 200, description = "The best documents", body = SearchAnswer),
        (status = "default", description = "A problem", body = Problem, content_type = "application/problem+json"),
    )
)]
pub async fn search_by_url(
    State(service): State<Arc<Service>>,
    id: RequestId,
    Place(index): Place<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let started = Instant::now();
    let snapshot = service.catalog.snapshot(&index)?;
    let request = of_parameters(Parameters::new(query.as_deref()))?;
    one(&service, snapshot, request, started, &id).await
}

/// Search an index several times, in one state of it
#[utoipa::path(
    post,
    path = "/v1/indexes/{index}/searches",
    tag = "search",
    operation_id = "searches",
    params(("index" = String, Path, description = "The name of the index")),
    request_body = SearchesRequest,
    responses(
        (status = 200, description = "An answer or a problem for each search", body = SearchesAnswer),
        (status = "default", description = "A problem", body = Problem, content_type = "application/problem+json"),
    )
)]
pub async fn searches(
    State(service): State<Arc<Service>>,
    id: RequestId,
    Place(index): Place<String>,
    request: Request<Body>,
) -> Result<Response, Problem> {
    let started = Instant::now();
    let snapshot = service.catalog.snapshot(&index)?;
    let request: SearchesRequest = read_json(request, &service.limits).await?;
    at_most(
        "the number of searches",
        request.searches.len(),
        service.limits.batch,
    )?;
    let ks = request.searches.iter().map(|search| search.k);
    let k = ks.fold(0, usize::saturating_add);
    at_most("the sum of all k", k, service.limits.batch_k)?;
    let searches = request.searches.into_iter();
    let answers = searches.map(|request| {
        let snapshot = Arc::clone(&snapshot);
        found(&service, snapshot, request, started, &id)
    });
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

async fn one(
    service: &Service,
    snapshot: Arc<Snapshot>,
    request: SearchRequest,
    started: Instant,
    id: &RequestId,
) -> Result<Response, Problem> {
    let (tail, took_us) = found(service, snapshot, request, started, id).await?;
    let mut body = Vec::new();
    with_time(took_us, &tail, &mut body);
    Ok(json(body))
}

/// The answer to a search without its time, and the time.
async fn found(
    service: &Service,
    snapshot: Arc<Snapshot>,
    request: SearchRequest,
    started: Instant,
    id: &RequestId,
) -> Result<(Bytes, u64), Problem> {
    let index = Arc::clone(&snapshot);
    let (text, k) = (request.query.clone(), request.k);
    let planned = plan(&service.limits, snapshot, request, started)?;
    // Scores that are no numbers cannot occur: parameters are checked.
    let shape = |answer: SearchAnswer| to_json(&answer).unwrap_or_default();
    let answer = service.engine.cached(planned, FORM, shape).await;
    service.log_if_slow(index.name(), &text, k, started, &id.0);
    // Fewer than 2^64 microseconds.
    Ok((answer?, started.elapsed().as_micros() as u64))
}

/// The search that the parameters of a URL describe.
fn of_parameters(mut from: Parameters<'_>) -> Result<SearchRequest, Problem> {
    let usual = SearchRequest::default();
    let filters = from.all("filter").into_iter().map(FilterRequest::Text);
    let fields = from.all("field");
    let request = SearchRequest {
        query: from.text("q")?.unwrap_or_default(),
        mode: from.name("mode")?.unwrap_or_default(),
        operators: from.value("operators")?.unwrap_or(usual.operators),
        filters: filters.collect(),
        formula: from.name("formula")?,
        k1: from.value("k1")?,
        b: from.value("b")?,
        delta: from.value("delta")?,
        avdl: from.value("avdl")?,
        k: from.value("k")?.unwrap_or(usual.k),
        after: from.text("after")?,
        snippets: from.value("snippets")?.unwrap_or(usual.snippets),
        snippet_characters: from
            .value("snippet_characters")?
            .unwrap_or(usual.snippet_characters),
        fields: (!fields.is_empty()).then_some(fields),
        text: from.value("text")?.unwrap_or(false),
        explain: from.value("explain")?.unwrap_or(false),
        count: from.value("count")?.unwrap_or(false),
        facets: from.all("facet"),
        timeout_ms: from.value("timeout_ms")?,
    };
    from.finish()?;
    Ok(request)
}
