//! Snapshots of indexes.

use std::sync::Arc;

use prost::Message;
use tonic::{Request, Response, Status};

use super::arrive::arrived;
use super::proto::snapshot_service_server::SnapshotService;
use super::proto::{
    EpochResponse, GetSnapshotRequest, ListSnapshotsRequest, ListSnapshotsResponse,
    RemoveSnapshotRequest, RestoreSnapshotRequest, Snapshot, TakeSnapshotRequest,
};
use super::values::{all, key_of};
use crate::model::SnapshotAnswer;
use crate::problem::Problem;
use crate::service::{Service, Shared};
use crate::verbs::{Call, blocking};

/// Snapshots of indexes.
pub struct Snapshots;

#[tonic::async_trait]
impl SnapshotService for Snapshots {
    async fn list_snapshots(
        &self,
        request: Request<ListSnapshotsRequest>,
    ) -> Result<Response<ListSnapshotsResponse>, Status> {
        let (call, _) = arrived(request)?;
        let service = call.service;
        let snapshots = blocking(move || service.writers.snapshots()).await?;
        Ok(Response::new(ListSnapshotsResponse {
            snapshots: all(snapshots),
        }))
    }

    async fn get_snapshot(
        &self,
        request: Request<GetSnapshotRequest>,
    ) -> Result<Response<Snapshot>, Status> {
        let (call, GetSnapshotRequest { snapshot }) = arrived(request)?;
        let service = call.service;
        let found = blocking(move || service.writers.snapshot(&snapshot)).await?;
        Ok(Response::new(found.into()))
    }

    async fn take_snapshot(
        &self,
        request: Request<TakeSnapshotRequest>,
    ) -> Result<Response<Snapshot>, Status> {
        let (call, request) = arrived(request)?;
        let name = ("take", request.snapshot.clone(), request.idempotency_key);
        let take = move |service: &Service| {
            let (writers, catalog) = (&service.writers, &service.catalog);
            writers.take_snapshot(catalog, &request.snapshot, &request.index)
        };
        changed(&call, name, move |service| {
            Ok(Snapshot::from(take(service)?))
        })
        .await
    }

    async fn restore_snapshot(
        &self,
        request: Request<RestoreSnapshotRequest>,
    ) -> Result<Response<EpochResponse>, Status> {
        let (call, request) = arrived(request)?;
        let name = ("restore", request.snapshot.clone(), request.idempotency_key);
        let restore = move |service: &Service| {
            let (writers, catalog) = (&service.writers, &service.catalog);
            writers.restore(catalog, &request.snapshot, request.index.as_deref())
        };
        changed(&call, name, move |service| {
            Ok(EpochResponse::from(restore(service)?))
        })
        .await
    }

    async fn remove_snapshot(
        &self,
        request: Request<RemoveSnapshotRequest>,
    ) -> Result<Response<Snapshot>, Status> {
        let (call, request) = arrived(request)?;
        let name = ("remove", request.snapshot.clone(), request.idempotency_key);
        let remove = move |service: &Service| service.writers.remove_snapshot(&request.snapshot);
        changed(&call, name, move |service| {
            Ok(Snapshot::from(remove(service)?))
        })
        .await
    }
}

/// Changes snapshots. `name` has the verb, the snapshot and the client's name of the request.
async fn changed<M: Message + Default + 'static>(
    call: &Call,
    (verb, snapshot, key): (&'static str, String, Option<String>),
    change: impl FnOnce(&Service) -> Result<M, Problem> + Send + 'static,
) -> Result<Response<M>, Status> {
    let service: Shared = Arc::clone(&call.service);
    service.writers.snapshots_folder()?;
    let key = key_of(key)?.map(|key| format!("grpc {verb} {snapshot} {key}"));
    let change = move || {
        let bytes = || Ok(change(&service)?.encode_to_vec().into());
        service.writers.change_snapshots(key, bytes)
    };
    let message = M::decode(blocking(change).await?).map_err(Problem::internal)?;
    Ok(Response::new(message))
}

impl From<SnapshotAnswer> for Snapshot {
    fn from(answer: SnapshotAnswer) -> Self {
        Snapshot {
            snapshot: answer.snapshot,
            index: answer.index,
            created_ms: answer.created_ms,
            epoch: answer.epoch,
            documents: answer.documents,
            bytes: answer.bytes,
        }
    }
}
