//! Requests to an index: the path, and the state of the index.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::extract::{Place, RequestId};
use super::reply::{Answer, json};
use crate::problem::Problem;
use crate::search::Deadline;
use crate::served::Snapshot;
use crate::service::Shared;

/// The path of an index.
#[derive(Deserialize)]
pub struct IndexPath {
    /// The name of the index
    pub index: String,
}

/// The path of a document.
#[derive(Deserialize)]
pub struct DocumentPath {
    /// The name of the index
    pub index: String,
    /// The id of the document
    pub id: String,
}

/// The variable parts of a path in an index.
pub trait InIndex: DeserializeOwned + Send {
    /// The name of the index.
    fn index(&self) -> &str;
}

impl InIndex for IndexPath {
    fn index(&self) -> &str {
        &self.index
    }
}

impl InIndex for DocumentPath {
    fn index(&self) -> &str {
        &self.index
    }
}

/// The name of an index, and the name of something in it.
impl InIndex for (String, String) {
    fn index(&self) -> &str {
        &self.0
    }
}

/// A request to an index, whatever its state.
pub struct Aimed<P = IndexPath> {
    /// The parts that all routes use.
    pub service: Shared,
    /// The variable parts of the path.
    pub place: P,
}

impl<P: InIndex> FromRequestParts<Shared> for Aimed<P> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, service: &Shared) -> Result<Self, Problem> {
        let Place(place) = Place::from_request_parts(parts, service).await?;
        let service = Arc::clone(service);
        Ok(Aimed { service, place })
    }
}

/// A request that reads one state of an index.
pub struct Asked<P = IndexPath> {
    /// The parts that all routes use.
    pub service: Shared,
    /// The variable parts of the path.
    pub place: P,
    /// The state of the index.
    pub snapshot: Arc<Snapshot>,
    /// When the request arrived.
    pub started: Instant,
    /// The id of the request.
    pub id: RequestId,
}

impl<P: InIndex> FromRequestParts<Shared> for Asked<P> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, service: &Shared) -> Result<Self, Problem> {
        let started = Instant::now();
        let Aimed { service, place } = Aimed::<P>::from_request_parts(parts, service).await?;
        Ok(Asked {
            snapshot: service.catalog.snapshot(place.index())?,
            id: RequestId::from_request_parts(parts, &service).await?,
            service,
            place,
            started,
        })
    }
}

impl<P: InIndex + 'static> Asked<P> {
    /// Reads the index in the queue of searches, for at most `timeout_ms`; the answer as JSON.
    ///
    /// # Errors
    /// The queue is full; the time is over; those of `read`.
    pub async fn read<A: Serialize>(
        self,
        timeout_ms: Option<u64>,
        read: impl FnOnce(&Snapshot, P) -> Result<A, Problem> + Send + 'static,
    ) -> Answer {
        let deadline = Deadline::after(&self.service.limits, self.started, timeout_ms)?;
        let place = self.place;
        let read = move |snapshot: &Snapshot| read(snapshot, place);
        self.service
            .read(self.snapshot, deadline, read)
            .await
            .map(json)
    }
}
