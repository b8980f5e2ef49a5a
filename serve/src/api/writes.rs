//! Changes of documents and indexes.

use std::sync::Arc;

use axum::body::Body;
use axum::http::Request;
use serde_json::{Map, Value as Json};
use tokapi::{Analyzer, AnalyzerOptions, Cut, Document, Keep, StopWords, Value};

use super::asked::{Aimed, DocumentPath, IndexPath};
use super::extract::{Key, read_json};
use super::parameters::Url;
use super::reply::{Answer, json};
use crate::model::{DocumentRequest, EpochAnswer, IndexRequest, WriteAnswer, WriteResult};
use crate::problem::{Kind, Problem};
use crate::served::Snapshot;
use crate::service::{Service, to_json};
use crate::write::{Applied, MOST_ID_BYTES, NewIndex, Operation, Outcome, Write, Writer};

/// Add or replace a document
///
/// The change is on disk and visible to searches when the answer comes.
#[utoipa::path(
    put,
    path = "/v1/indexes/{index}/documents/{id}",
    params(Key),
    request_body = DocumentRequest,
    responses((status = 200, description = "The document was added, or replaced another", body = WriteAnswer))
)]
pub async fn put_document(
    aimed: Aimed<DocumentPath>,
    Key(key): Key,
    request: Request<Body>,
) -> Answer {
    let Aimed { service, place } = aimed;
    let DocumentPath { index, id } = place;
    let writer = writer(&service, &index).await?;
    let document: DocumentRequest = read_json(request, &service.limits).await?;
    let snapshot = service.catalog.snapshot(&index)?;
    let document = document_of(&snapshot, id, document.text, document.fields)?;
    one(&writer, index, Operation::Put(document), key).await
}

/// Delete a document
///
/// The change is on disk and visible to searches when the answer comes.
#[utoipa::path(
    delete,
    path = "/v1/indexes/{index}/documents/{id}",
    params(Key),
    responses((status = 200, description = "The document was deleted", body = WriteAnswer))
)]
pub async fn delete_document(
    Url(()): Url<()>,
    Key(key): Key,
    aimed: Aimed<DocumentPath>,
) -> Answer {
    let DocumentPath { index, id } = aimed.place;
    let writer = writer(&aimed.service, &index).await?;
    one(&writer, index, Operation::Delete(id), key).await
}

/// Merge all parts of an index
///
/// Deleted documents take no more space then, and searches are faster.
#[utoipa::path(
    post,
    path = "/v1/indexes/{index}/merge",
    responses((status = 200, description = "All parts are one", body = EpochAnswer))
)]
pub async fn merge(Url(()): Url<()>, aimed: Aimed) -> Answer {
    let index = aimed.place.index;
    let merged = writer(&aimed.service, &index).await?.merge().await?;
    let epoch = merged.epoch;
    to_json(&EpochAnswer { index, epoch }).map(json)
}

/// Create an index
#[utoipa::path(
    put,
    path = "/v1/indexes/{index}",
    request_body = IndexRequest,
    responses((status = 200, description = "The index is there, without documents", body = EpochAnswer))
)]
pub async fn create_index(Aimed { service, place }: Aimed, request: Request<Body>) -> Answer {
    let IndexPath { index } = place;
    service.writers.check_enabled()?;
    let request: IndexRequest = read_json(request, &service.limits).await?;
    let new = NewIndex {
        analyzer: analyzer_of(&request)?,
        keep: Keep::default()
            .text(request.text.unwrap_or(true))
            .positions(request.positions.unwrap_or(true))
            .fields(request.fields),
        attachment: None,
    };
    blocking(move || {
        service.writers.create(&service.catalog, &index, new)?;
        let epoch = service.catalog.snapshot(&index)?.epoch();
        to_json(&EpochAnswer { index, epoch }).map(json)
    })
    .await
}

/// Remove an index that a client created
#[utoipa::path(
    delete,
    path = "/v1/indexes/{index}",
    responses((status = 200, description = "The index is gone; its last state", body = EpochAnswer))
)]
pub async fn remove_index(Url(()): Url<()>, Aimed { service, place }: Aimed) -> Answer {
    let IndexPath { index } = place;
    blocking(move || {
        let epoch = service.catalog.snapshot(&index)?.epoch();
        service.writers.remove(&service.catalog, &index)?;
        to_json(&EpochAnswer { index, epoch }).map(json)
    })
    .await
}

/// The writer of an index.
pub(super) async fn writer(service: &Arc<Service>, index: &str) -> Result<Arc<Writer>, Problem> {
    let (service, index) = (Arc::clone(service), index.to_owned());
    // The first one locks the index and opens its parts.
    blocking(move || service.writers.get(&service.catalog, &index)).await
}

/// Does work that waits for the disk.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(Problem::internal(error)),
    }
}

async fn one(writer: &Writer, index: String, operation: Operation, key: Option<String>) -> Answer {
    let id = operation.id().to_owned();
    check_id(&id)?;
    let write = Write {
        operations: vec![operation],
        key,
        ..Write::default()
    };
    let Applied { epoch, outcomes } = writer.write(write).await?;
    let result = outcomes.first().copied().unwrap_or(Outcome::NotFound);
    if result == Outcome::NotFound {
        return Err(Problem::new(
            Kind::UnknownDocument,
            format!(
                "no document of the index `{index}` has the id `{}`",
                id.escape_debug()
            ),
        ));
    }
    let result = result_of(result);
    to_json(&WriteAnswer {
        index,
        epoch,
        id,
        result,
    })
    .map(json)
}

pub(super) fn result_of(outcome: Outcome) -> WriteResult {
    match outcome {
        Outcome::Created => WriteResult::Created,
        Outcome::Replaced => WriteResult::Replaced,
        Outcome::Deleted => WriteResult::Deleted,
        Outcome::NotFound => WriteResult::NotFound,
        Outcome::Conflict => WriteResult::Conflict,
    }
}

/// Checks the length of an id.
pub(super) fn check_id(id: &str) -> Result<(), Problem> {
    match id.len() {
        0 => Err(Problem::invalid("the id is empty: give the document an id")),
        bytes if bytes > MOST_ID_BYTES => Err(Problem::new(
            Kind::LimitExceeded,
            format!("the id has {bytes} bytes, and the limit is {MOST_ID_BYTES}: shorten it"),
        )),
        _ => Ok(()),
    }
}

/// A document of a request, for an index that keeps all its fields.
pub(super) fn document_of(
    snapshot: &Snapshot,
    id: String,
    text: String,
    fields: Map<String, Json>,
) -> Result<Document, Problem> {
    check_id(&id)?;
    let mut document = Document::new(id, text);
    for (name, value) in fields {
        snapshot.check_field(&name)?;
        let values = match value {
            Json::Array(values) => values,
            value => vec![value],
        };
        for value in values {
            let value = match value {
                Json::Null => continue,
                Json::String(text) => Value::Text(text),
                Json::Bool(value) => Value::Boolean(value),
                Json::Number(number) => match number.as_f64() {
                    Some(number) => Value::Number(number),
                    None => Value::Text(number.to_string()),
                },
                Json::Array(_) | Json::Object(_) => {
                    return Err(Problem::invalid(format!(
                        "the field `{}` has a list or an object as a value: give it strings, numbers or booleans",
                        name.escape_debug()
                    )));
                }
            };
            document = document.field(name.clone(), value);
        }
    }
    Ok(document)
}

fn analyzer_of(request: &IndexRequest) -> Result<Analyzer, Problem> {
    let mut options = AnalyzerOptions::default();
    options = options.cut(match request.analyzer.as_deref() {
        None | Some("unicode") => Cut::Unicode,
        Some("plain") => Cut::Plain,
        Some("python") => Cut::Python,
        Some("whitespace") => Cut::Whitespace,
        Some(other) => {
            return Err(Problem::invalid(format!(
                "no analyzer is named `{}`: there are unicode, plain, python and whitespace",
                other.escape_debug()
            )));
        }
    });
    match request.stop_words.as_deref() {
        None | Some("none") => {}
        Some("english") => options = options.stop_words(StopWords::English),
        Some(other) => {
            return Err(Problem::invalid(format!(
                "no stop words are named `{}`: there are english and none",
                other.escape_debug()
            )));
        }
    }
    options = options.stemmer(request.stemmer.clone());
    Ok(Analyzer::new(&options)?)
}
