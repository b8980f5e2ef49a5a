//! The services of gRPC, as a client of tonic sees them.

mod as_json;
mod changes;
mod equal;
mod operation;
mod refused;

use std::net::SocketAddr;

use tokapi_serve::grpc::proto;
use tokapi_serve::grpc::proto::document_service_client::DocumentServiceClient;
use tokapi_serve::grpc::proto::index_service_client::IndexServiceClient;
use tokapi_serve::grpc::proto::search_service_client::SearchServiceClient;
use tokio::runtime::{Builder, Runtime};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};

/// Clients of a server, and the runtime that they need.
struct Clients {
    runtime: Runtime,
    channel: Channel,
    search: SearchServiceClient<Channel>,
    documents: DocumentServiceClient<Channel>,
    indexes: IndexServiceClient<Channel>,
}

impl Clients {
    fn new(address: SocketAddr) -> Self {
        Clients::of(Endpoint::from_shared(format!("http://{address}")).unwrap())
    }

    fn of(endpoint: Endpoint) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let channel = runtime.block_on(endpoint.connect()).unwrap();
        Clients {
            search: SearchServiceClient::new(channel.clone()).max_decoding_message_size(usize::MAX),
            documents: DocumentServiceClient::new(channel.clone()),
            indexes: IndexServiceClient::new(channel.clone()),
            channel,
            runtime,
        }
    }
}

/// `google.rpc.Status`, as far as the tests read it.
#[derive(Clone, PartialEq, prost::Message)]
struct Details {
    #[prost(message, repeated, tag = "3")]
    details: Vec<prost_types::Any>,
}

/// Checks the code of a status and the kind of its problem; gives the text.
#[track_caller]
fn check_status(status: &Status, code: Code, kind: &str) -> String {
    assert_eq!(status.code(), code, "{status:?}");
    let details: Details = prost::Message::decode(status.details()).unwrap();
    let any = &details.details[0];
    assert_eq!(any.type_url, "type.googleapis.com/tokapi.v1.Problem");
    let problem: proto::Problem = prost::Message::decode(&*any.value).unwrap();
    check_problem(&problem, kind);
    assert_eq!(problem.detail, status.message());
    problem.detail
}

#[track_caller]
fn check_problem(problem: &proto::Problem, kind: &str) {
    let uri = format!("urn:tokapi:problem:{kind}");
    assert_eq!(problem.r#type, uri, "{problem:?}");
    assert!(!problem.detail.is_empty() && !problem.detail.contains('\n'));
}
