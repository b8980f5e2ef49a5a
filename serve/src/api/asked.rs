//! Requests to an index: the path, and the state of the index.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::extract::Place;
use super::reply::{Answer, json};
use crate::problem::Problem;
use crate::served::Snapshot;
use crate::service::{RequestId, Shared, to_json};
use crate::verbs::Call;

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
    /// The request.
    pub call: Call,
    /// The variable parts of the path.
    pub place: P,
}

impl<P: InIndex> FromRequestParts<Shared> for Aimed<P> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, service: &Shared) -> Result<Self, Problem> {
        let started = Instant::now();
        let Place(place) = Place::from_request_parts(parts, service).await?;
        let id = RequestId::from_request_parts(parts, service).await?;
        let call = Call {
            service: Arc::clone(service),
            started,
            id,
            until: None,
        };
        Ok(Aimed { call, place })
    }
}

/// A request that reads one state of an index.
pub struct Asked<P = IndexPath> {
    /// The request.
    pub call: Call,
    /// The variable parts of the path.
    pub place: P,
    /// The state of the index.
    pub snapshot: Arc<Snapshot>,
}

impl<P: InIndex> FromRequestParts<Shared> for Asked<P> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, service: &Shared) -> Result<Self, Problem> {
        let Aimed { call, place } = Aimed::<P>::from_request_parts(parts, service).await?;
        let snapshot = service.catalog.snapshot(place.index())?;
        Ok(Asked {
            call,
            place,
            snapshot,
        })
    }
}

impl<P: InIndex + 'static> Asked<P> {
    /// Reads the index in the queue of searches; the answer as JSON.
    ///
    /// # Errors
    /// The queue is full; the time is over; the answer is too large; those of `read`.
    pub async fn read<A: Serialize>(
        self,
        read: impl FnOnce(&Snapshot, P) -> Result<A, Problem> + Send + 'static,
    ) -> Answer {
        let (place, mut room) = (self.place, self.call.room());
        let read = move |snapshot: &Snapshot| {
            let answer = to_json(&read(snapshot, place)?)?;
            room.take(answer.len())?;
            Ok(answer)
        };
        self.call.read(self.snapshot, None, read).await.map(json)
    }
}
