//! Searches, one or several at a time.

use std::sync::Arc;

use super::asked::Asked;
use super::extract::Json;
use super::reply::{Answer, json, with_time};
use crate::model::{SearchAnswer, SearchRequest, SearchesAnswer, SearchesRequest};
use crate::service::to_json;
use crate::verbs::{Form, Timed};

/// Answers as JSON.
const FORM: Form = Form {
    name: b"v1",
    // Scores that are no numbers cannot occur: parameters are checked.
    write: |answer| to_json(&answer).unwrap_or_default(),
};

/// Search an index
#[utoipa::path(
    post,
    path = "/v1/indexes/{index}/search",
    request_body = SearchRequest,
    responses((status = 200, description = "The best documents", body = SearchAnswer))
)]
pub async fn search(asked: Asked, Json(request): Json<SearchRequest>) -> Answer {
    let Timed { took_us, answer } = asked.call.search(&asked.snapshot, request, &FORM).await?;
    let mut body = Vec::new();
    with_time(took_us, &answer, &mut body);
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
    let Asked { call, snapshot, .. } = asked;
    let searches = searches.into_iter();
    let searches = searches.map(|search| (Arc::clone(&snapshot), search));
    let answers = call.searches(searches.collect(), &FORM).await?;
    let mut body = b"{\"answers\":[".to_vec();
    for (place, answer) in answers.into_iter().enumerate() {
        if place > 0 {
            body.push(b',');
        }
        match answer {
            Ok(Timed { took_us, answer }) => with_time(took_us, &answer, &mut body),
            Err(problem) => body.extend_from_slice(&problem.to_json()),
        }
    }
    body.extend_from_slice(b"]}");
    Ok(json(body))
}
