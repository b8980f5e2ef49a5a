//! The terms of an index.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{RawQuery, State};
use axum::response::Response;

use super::extract::Place;
use super::parameters::Parameters;
use super::reply::json;
use crate::limits::at_most;
use crate::model::TermsAnswer;
use crate::problem::Problem;
use crate::search::Deadline;
use crate::served::Snapshot;
use crate::service::Service;

/// Terms, postings or values of a page unless a limit is given.
pub(super) const PAGE: usize = 100;

/// List the terms of an index
#[utoipa::path(
    get,
    path = "/v1/indexes/{index}/terms",
    tag = "terms",
    operation_id = "terms",
    params(
        ("index" = String, Path, description = "The name of the index"),
        ("prefix" = Option<String>, Query, description = "The beginning of the terms"),
        ("after" = Option<String>, Query, description = "The last term of the page before"),
        ("limit" = Option<usize>, Query, description = "The number of terms; 100 unless given"),
    ),
    responses(
        (status = 200, description = "Terms in ascending order", body = TermsAnswer),
        (status = "default", description = "A problem", body = Problem, content_type = "application/problem+json"),
    )
)]
pub async fn terms(
    State(service): State<Arc<Service>>,
    Place(index): Place<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let mut parameters = Parameters::new(query.as_deref());
    let prefix = parameters.text("prefix")?.unwrap_or_default();
    let after = parameters.text("after")?;
    let limit = parameters.value("limit")?.unwrap_or(PAGE);
    parameters.finish()?;
    at_most("limit", limit, service.limits.page)?;
    let snapshot = service.catalog.snapshot(&index)?;
    let deadline = Deadline::after(&service.limits, Instant::now(), None)?;
    let read = move |snapshot: &Snapshot| {
        let (terms, is_end) = snapshot.terms(&prefix, after.as_deref(), limit)?;
        let last = terms.last().filter(|_| !is_end);
        Ok(TermsAnswer {
            index: snapshot.name().to_owned(),
            epoch: snapshot.epoch(),
            complete: true,
            next: last.map(|last| last.term.clone()),
            terms,
        })
    };
    service.read(snapshot, deadline, read).await.map(json)
}
