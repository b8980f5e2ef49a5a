//! Snapshots of indexes: taken, listed, restored, removed.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequestParts, State};
use axum::http::Request;
use axum::http::request::Parts;
use bytes::Bytes;

use super::extract::{Key, Place, read_json};
use super::parameters::Url;
use super::reply::{Answer, json};

use crate::model::{EpochAnswer, RestoreRequest, SnapshotAnswer, SnapshotRequest, SnapshotsAnswer};
use crate::problem::Problem;
use crate::service::{Service, Shared, to_json};
use crate::verbs::blocking;

/// A request about a snapshot.
pub struct Named {
    service: Shared,
    snapshot: String,
    /// The method, the path and the client's name of the request; none if the client gives no name.
    key: Option<String>,
}

impl FromRequestParts<Shared> for Named {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, service: &Shared) -> Result<Self, Problem> {
        let Place(snapshot) = Place::from_request_parts(parts, service).await?;
        let Url(()) = Url::from_request_parts(parts, service).await?;
        service.writers.snapshots_folder()?;
        let Key(key) = Key::from_request_parts(parts, service).await?;
        Ok(Named {
            service: Arc::clone(service),
            snapshot,
            key: key.map(|key| format!("{} {} {key}", parts.method, parts.uri.path())),
        })
    }
}

impl Named {
    async fn change(
        self,
        change: impl FnOnce(&Service, &str) -> Result<Bytes, Problem> + Send + 'static,
    ) -> Answer {
        let Named {
            service,
            snapshot,
            key,
        } = self;
        let changed = move || {
            let writers = &service.writers;
            writers.change_snapshots(key, || change(&service, &snapshot))
        };
        blocking(changed).await.map(json)
    }
}

/// List the snapshots
#[utoipa::path(
    get,
    path = "/v1/snapshots",
    responses((status = 200, description = "All snapshots", body = SnapshotsAnswer))
)]
pub async fn list(Url(()): Url<()>, State(service): State<Shared>) -> Answer {
    let read = move || {
        let snapshots = service.writers.snapshots()?;
        to_json(&SnapshotsAnswer { snapshots })
    };
    blocking(read).await.map(json)
}

/// Describe a snapshot
#[utoipa::path(
    get,
    path = "/v1/snapshots/{snapshot}",
    responses((status = 200, description = "The snapshot", body = SnapshotAnswer))
)]
pub async fn read(named: Named) -> Answer {
    let read = move || to_json(&named.service.writers.snapshot(&named.snapshot)?);
    blocking(read).await.map(json)
}

/// Take a snapshot of an index
///
/// The snapshot has the current state of the index, which goes on changing meanwhile. It is on disk when the answer comes.
#[utoipa::path(
    put,
    path = "/v1/snapshots/{snapshot}",
    params(Key),
    request_body = SnapshotRequest,
    responses((status = 200, description = "The snapshot", body = SnapshotAnswer))
)]
pub async fn take(named: Named, request: Request<Body>) -> Answer {
    let request: SnapshotRequest = read_json(request, &named.service.limits).await?;
    let take = move |service: &Service, snapshot: &str| {
        let Service {
            writers, catalog, ..
        } = service;
        to_json(&writers.take_snapshot(catalog, snapshot, &request.index)?)
    };
    named.change(take).await
}

/// Restore a snapshot as an index
///
/// All files of the snapshot are checked first. The snapshot stays as it is.
#[utoipa::path(
    post,
    path = "/v1/snapshots/{snapshot}/restore",
    params(Key),
    request_body = RestoreRequest,
    responses((status = 200, description = "The index is served; its state is that of the snapshot", body = EpochAnswer))
)]
pub async fn restore(named: Named, request: Request<Body>) -> Answer {
    let request: RestoreRequest = read_json(request, &named.service.limits).await?;
    let restore = move |service: &Service, snapshot: &str| {
        let Service {
            writers, catalog, ..
        } = service;
        to_json(&writers.restore(catalog, snapshot, request.index.as_deref())?)
    };
    named.change(restore).await
}

/// Remove a snapshot
#[utoipa::path(
    delete,
    path = "/v1/snapshots/{snapshot}",
    params(Key),
    responses((status = 200, description = "The snapshot that was removed", body = SnapshotAnswer))
)]
pub async fn remove(named: Named) -> Answer {
    let remove =
        |service: &Service, snapshot: &str| to_json(&service.writers.remove_snapshot(snapshot)?);
    named.change(remove).await
}
