//! The values of a field.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{RawQuery, State};
use axum::response::Response;

use super::extract::Place;
use super::parameters::Parameters;
use super::reply::json;
use super::terms::PAGE;
use crate::limits::at_most;
use crate::model::ValuesAnswer;
use crate::problem::Problem;
use crate::search::Deadline;
use crate::served::Snapshot;
use crate::service::Service;

/// List the values of a field, the most frequent first
#[utoipa::path(
    get,
    path = "/v1/indexes/{index}/fields/{field}/values",
    tag = "indexes",
    operation_id = "values",
    params(
        ("index" = String, Path, description = "The name of the index"),
        ("field" = String, Path, description = "The field, one of those that the index keeps"),
        ("limit" = Option<usize>, Query, description = "The number of values; 100 unless given"),
    ),
    responses(
        (status = 200, description = "Values and the number of documents with each", body = ValuesAnswer),
        (status = "default", description = "A problem", body = Problem, content_type = "application/problem+json"),
    )
)]
pub async fn values(
    State(service): State<Arc<Service>>,
    Place((index, field)): Place<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let mut parameters = Parameters::new(query.as_deref());
    let limit = parameters.value("limit")?.unwrap_or(PAGE);
    parameters.finish()?;
    at_most("limit", limit, service.limits.page)?;
    let snapshot = service.catalog.snapshot(&index)?;
    snapshot.check_field(&field)?;
    let deadline = Deadline::after(&service.limits, Instant::now(), None)?;
    let read = move |snapshot: &Snapshot| {
        let column = snapshot.column(&field)?;
        Ok(ValuesAnswer {
            index: snapshot.name().to_owned(),
            epoch: snapshot.epoch(),
            complete: true,
            values: column.count(0..snapshot.index().numbered(), limit),
            distinct: column.distinct(),
            field,
        })
    };
    service.read(snapshot, deadline, read).await.map(json)
}
