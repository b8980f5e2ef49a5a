//! The verbs of `/v1` by gRPC: the services of `serve/proto`, health and reflection.
//!
//! A method turns its message into a request of [`model`](crate::model), calls the same function of
//! [`verbs`](crate::verbs) as the route of `/v1`, and turns the answer into a message.

mod arrive;
mod documents;
mod health;
mod indexes;
pub mod proto;
mod search;
mod snapshots;
mod status;
mod stream;
mod values;

use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::middleware::from_fn_with_state;
use axum::response::IntoResponse;
use axum::routing::post_service;
use prost::Message;
use prost_types::FileDescriptorSet;
use tokapi::{Error, Result};
use tonic::codegen::Service;
use tonic::server::NamedService;
use tonic_health::pb::health_server::HealthServer;

use self::arrive::in_time;
use self::documents::Documents;
use self::health::Healthy;
use self::indexes::Indexes;
use self::proto::document_service_server::DocumentServiceServer;
use self::proto::index_service_server::IndexServiceServer;
use self::proto::search_service_server::SearchServiceServer;
use self::proto::snapshot_service_server::SnapshotServiceServer;
use self::search::Searches;
use self::snapshots::Snapshots;
use crate::service::Shared;

pub use self::arrive::arrive;

/// The routes of all methods.
///
/// # Errors
/// The descriptors of the services are damaged, which is a bug.
pub fn routes(service: &Shared) -> Result<Router<Shared>> {
    let limit = service.limits.body_bytes;
    let searches = SearchServiceServer::new(Searches).max_decoding_message_size(limit);
    let documents = DocumentServiceServer::new(Documents).max_decoding_message_size(limit);
    let indexes = IndexServiceServer::new(Indexes).max_decoding_message_size(limit);
    let snapshots = SnapshotServiceServer::new(Snapshots).max_decoding_message_size(limit);
    let descriptors = FileDescriptorSet::decode(proto::DESCRIPTORS).map_err(wrong)?;
    let mut router = Router::new();
    router = add(router, searches, &descriptors, service);
    router = add(router, documents, &descriptors, service);
    router = add(router, indexes, &descriptors, service);
    router = add(router, snapshots, &descriptors, service);
    router = add_whole(router, reflection().build_v1().map_err(wrong)?);
    router = add_whole(router, reflection().build_v1alpha().map_err(wrong)?);
    let health = HealthServer::new(Healthy(Arc::clone(service)));
    Ok(add_whole(router, health))
}

fn wrong(error: impl std::fmt::Display) -> Error {
    Error::Limit(format!("cannot start gRPC: {error}"))
}

/// A service that describes the others, for tools.
fn reflection() -> tonic_reflection::server::Builder<'static> {
    tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(proto::DESCRIPTORS)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
}

/// Adds a route for each method of a service.
fn add<S>(
    mut router: Router<Shared>,
    server: S,
    descriptors: &FileDescriptorSet,
    service: &Shared,
) -> Router<Shared>
where
    S: Service<Request, Error = Infallible, Response: IntoResponse, Future: Send + 'static>,
    S: NamedService + Clone + Send + Sync + 'static,
{
    let services = descriptors.file.iter().flat_map(|file| {
        let name = |name: &str| format!("{}.{name}", file.package());
        let services = file.service.iter();
        services.filter(move |service| name(service.name()) == S::NAME)
    });
    for method in services.flat_map(|service| &service.method) {
        let mut route = post_service(server.clone());
        // The methods of streams have their own time for each message.
        if !method.client_streaming() {
            route = route.layer(from_fn_with_state(Arc::clone(service), in_time));
        }
        router = router.route(&format!("/{}/{}", S::NAME, method.name()), route);
    }
    router
}

/// Adds one route for all methods of a service.
fn add_whole<S>(router: Router<Shared>, server: S) -> Router<Shared>
where
    S: Service<Request, Error = Infallible, Response: IntoResponse, Future: Send + 'static>,
    S: NamedService + Clone + Send + Sync + 'static,
{
    router.route_service(&format!("/{}/{{method}}", S::NAME), server)
}
