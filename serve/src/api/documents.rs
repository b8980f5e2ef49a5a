//! Documents by id, whole and as sparse vectors of weights.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{RawQuery, State};
use axum::response::Response;
use tokapi::{Error, Kept, Query, SearchOptions};

use super::extract::Place;
use super::parameters::Parameters;
use super::reply::json;
use crate::model::{DocumentAnswer, FormulaName, VectorAnswer};
use crate::problem::{Kind, Problem};
use crate::search::{Deadline, explain_terms, fields_json};
use crate::served::Snapshot;
use crate::service::Service;

/// Read a document
#[utoipa::path(
    get,
    path = "/v1/indexes/{index}/documents/{id}",
    tag = "documents",
    operation_id = "document",
    params(
        ("index" = String, Path, description = "The name of the index"),
        ("id" = String, Path, description = "The id of the document"),
    ),
    responses(
        (status = 200, description = "The document", body = DocumentAnswer),
        (status = "default", description = "A problem", body = Problem, content_type = "application/problem+json"),
    )
)]
pub async fn document(
    State(service): State<Arc<Service>>,
    Place((index, id)): Place<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    Parameters::new(query.as_deref()).finish()?;
    let snapshot = service.catalog.snapshot(&index)?;
    let deadline = Deadline::after(&service.limits, Instant::now(), None)?;
    let read = move |snapshot: &Snapshot| {
        let index = snapshot.index();
        let number = find(snapshot, &id)?;
        let mut stored = index.document(number)?;
        let nothing = Query::default();
        Ok(DocumentAnswer {
            index: snapshot.name().to_owned(),
            epoch: snapshot.epoch(),
            complete: true,
            sequence: index.sequence(number)?,
            length: index
                .explain(&nothing, &SearchOptions::default(), number)?
                .length,
            fields: fields_json(&mut stored, |_| true),
            text: stored.text,
            id,
        })
    };
    service.read(snapshot, deadline, read).await.map(json)
}

/// Read a document as a sparse vector of weights
///
/// The index must keep texts.
#[utoipa::path(
    get,
    path = "/v1/indexes/{index}/documents/{id}/vector",
    tag = "documents",
    operation_id = "vector",
    params(
        ("index" = String, Path, description = "The name of the index"),
        ("id" = String, Path, description = "The id of the document"),
        ("formula" = Option<FormulaName>, Query, description = "The formula of weights"),
        ("k1" = Option<f64>, Query, description = "How much repetitions of a term add"),
        ("b" = Option<f64>, Query, description = "How much the length of a document counts"),
        ("delta" = Option<f64>, Query, description = "The parameter delta of bm25l and bm25plus"),
        ("avdl" = Option<f64>, Query, description = "The average length of a document"),
    ),
    responses(
        (status = 200, description = "The weights of all terms of the document", body = VectorAnswer),
        (status = "default", description = "A problem", body = Problem, content_type = "application/problem+json"),
    )
)]
pub async fn vector(
    State(service): State<Arc<Service>>,
    Place((index, id)): Place<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let mut parameters = Parameters::new(query.as_deref());
    let bm25 = parameters.bm25()?;
    parameters.finish()?;
    let snapshot = service.catalog.snapshot(&index)?;
    let formula = snapshot.check_formula(&bm25)?.to_string();
    let deadline = Deadline::after(&service.limits, Instant::now(), None)?;
    let read = move |snapshot: &Snapshot| {
        let index = snapshot.index();
        let number = find(snapshot, &id)?;
        let Some(text) = index.document(number)?.text else {
            return Err(Error::NotKept(Kept::Texts).into());
        };
        // Each term once: the query counts its repetitions, the document has them as tf.
        let mut seen = std::collections::HashSet::new();
        let terms = index.analyzer().terms(&text);
        let terms: Vec<String> = terms.filter(|term| seen.insert(term.clone())).collect();
        let options = SearchOptions::default().bm25(bm25);
        let explained = index.explain(&Query::any(terms), &options, number)?;
        Ok(VectorAnswer {
            index: snapshot.name().to_owned(),
            epoch: snapshot.epoch(),
            complete: true,
            id,
            length: explained.length,
            formula,
            terms: explain_terms(index, explained),
        })
    };
    service.read(snapshot, deadline, read).await.map(json)
}

/// The number of the document with an id.
fn find(snapshot: &Snapshot, id: &str) -> Result<u64, Problem> {
    let found = snapshot.find(id)?;
    found.ok_or_else(|| {
        Problem::new(
            Kind::UnknownDocument,
            format!(
                "no document of the index `{}` has the id `{}`",
                snapshot.name(),
                id.escape_debug()
            ),
        )
    })
}
