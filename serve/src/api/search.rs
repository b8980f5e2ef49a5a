//! Searches, one or several at a time.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join_all;

use super::asked::Asked;
use super::extract::Json;
use super::reply::{Answer, json, with_time};
use crate::limits::at_most;
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
    let (tail, took_us) = found(&asked, request).await?;
    let mut body = Vec::new();
    with_time(took_us, &tail, &mut body);
    Ok(json(body))
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
