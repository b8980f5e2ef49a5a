//! The health of the server: it serves until it ends.

use std::pin::Pin;

use futures_util::stream::{Stream, StreamExt, once};
use tonic::server::NamedService;
use tonic::{Request, Response, Status};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_server::Health;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

use super::documents::Documents;
use super::indexes::Indexes;
use super::proto::document_service_server::DocumentServiceServer;
use super::proto::index_service_server::IndexServiceServer;
use super::proto::search_service_server::SearchServiceServer;
use super::proto::snapshot_service_server::SnapshotServiceServer;
use super::search::Searches;
use super::snapshots::Snapshots;
use crate::service::Shared;

/// The names of the services.
const SERVICES: [&str; 4] = [
    SearchServiceServer::<Searches>::NAME,
    DocumentServiceServer::<Documents>::NAME,
    IndexServiceServer::<Indexes>::NAME,
    SnapshotServiceServer::<Snapshots>::NAME,
];

/// The health of the server as a whole and of each of its services, which are equal.
pub struct Healthy(pub Shared);

#[tonic::async_trait]
impl Health for Healthy {
    async fn check(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        known(&request.get_ref().service)?;
        let status = match self.0.is_draining() {
            false => ServingStatus::Serving,
            true => ServingStatus::NotServing,
        };
        Ok(Response::new(response(status)))
    }

    type WatchStream = Pin<Box<dyn Stream<Item = Result<HealthCheckResponse, Status>> + Send>>;

    async fn watch(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        known(&request.get_ref().service)?;
        let service = Shared::clone(&self.0);
        let now = once(async { Ok(response(ServingStatus::Serving)) });
        let end = once(async move {
            service.ends().await;
            Ok(response(ServingStatus::NotServing))
        });
        Ok(Response::new(Box::pin(now.chain(end))))
    }
}

fn response(status: ServingStatus) -> HealthCheckResponse {
    HealthCheckResponse {
        status: status.into(),
    }
}

/// Checks that the name is that of a service, or empty for all.
fn known(name: &str) -> Result<(), Status> {
    match name.is_empty() || SERVICES.contains(&name) {
        true => Ok(()),
        false => Err(Status::not_found("no service has this name")),
    }
}
