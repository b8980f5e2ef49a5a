//! Metrics, ids of requests, health, reflection, the end of the server, and TLS.

use std::future::poll_fn;

use futures_util::{StreamExt, stream};
use prost::Message;
use tokapi_serve::grpc::proto::{self, SearchRequest};
use tonic::codegen::Service;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint};
use tonic::{Code, Request};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use super::{Clients, check_status};
use crate::fixture::Fixture;
use crate::tls::{Files, Pair};

fn search(index: &str) -> SearchRequest {
    SearchRequest {
        index: index.to_owned(),
        query: "flow".to_owned(),
        ..SearchRequest::default()
    }
}

#[test]
fn calls_are_counted_with_the_status_that_they_have_over_http() {
    let fixture = Fixture::new();
    let mut clients = Clients::new(fixture.server().address());
    for index in ["full", "full", "none"] {
        let mut request = Request::new(search(index));
        request
            .metadata_mut()
            .insert("x-request-id", "my-id".parse().unwrap());
        let answer = clients.runtime.block_on(clients.search.search(request));
        let metadata = match &answer {
            Ok(response) => response.metadata(),
            Err(status) => status.metadata(),
        };
        assert_eq!(metadata.get("x-request-id").unwrap(), "my-id");
    }
    let metrics = fixture.client().get("/metrics");
    for line in [
        "tokapi_http_requests_total{route=\"/tokapi.v1.SearchService/Search\",status=\"200\"} 2",
        "tokapi_http_requests_total{route=\"/tokapi.v1.SearchService/Search\",status=\"404\"} 1",
    ] {
        assert!(
            metrics.text().lines().any(|found| found == line),
            "{line}:\n{}",
            metrics.text()
        );
    }
}

#[test]
fn every_method_has_a_route() {
    let fixture = Fixture::new();
    let clients = Clients::new(fixture.server().address());
    let descriptors = prost_types::FileDescriptorSet::decode(proto::DESCRIPTORS).unwrap();
    let mut methods = Vec::new();
    for file in &descriptors.file {
        for service in &file.service {
            let name = format!("/{}.{}", file.package(), service.name());
            methods.extend(
                service
                    .method
                    .iter()
                    .map(|method| format!("{name}/{}", method.name())),
            );
        }
    }
    assert_eq!(methods.len(), 19);
    let call = |path: &str| {
        clients.runtime.block_on(async {
            let mut client = tonic::client::Grpc::new(clients.channel.clone());
            client.ready().await.unwrap();
            let codec = tonic_prost::ProstCodec::<proto::GetIndexRequest, proto::State>::default();
            let path: PathAndQuery = path.parse().unwrap();
            let message = Request::new(proto::GetIndexRequest::default());
            client
                .unary(message, path, codec)
                .await
                .err()
                .map(|status| status.code())
        })
    };
    for method in &methods {
        assert_ne!(call(method), Some(Code::Unimplemented), "{method}");
    }
    for unknown in [
        "/tokapi.v1.SearchService/Serch",
        "/tokapi.v2.SearchService/Search",
        "/x/y",
    ] {
        assert_eq!(call(unknown), Some(Code::Unimplemented), "{unknown}");
    }
}

#[test]
fn a_message_that_is_none_is_refused() {
    let fixture = Fixture::new();
    let clients = Clients::new(fixture.server().address());
    let status = clients.runtime.block_on(async {
        let mut client = tonic::client::Grpc::new(clients.channel.clone());
        client.ready().await.unwrap();
        let codec = tonic_prost::ProstCodec::<proto::Term, proto::SearchResponse>::default();
        let path = PathAndQuery::from_static("/tokapi.v1.SearchService/Search");
        // `df` is a number, where a search has the text of the query.
        let message = proto::Term {
            term: "full".to_owned(),
            df: 7,
        };
        client
            .unary(Request::new(message), path, codec)
            .await
            .unwrap_err()
    });
    check_status(&status, Code::InvalidArgument, "invalid-request");
}

#[test]
fn health_and_reflection_need_no_knowledge_of_the_services() {
    use tonic_reflection::pb::v1::ServerReflectionRequest;
    use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
    use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
    use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;

    let fixture = Fixture::new();
    let clients = Clients::new(fixture.server().address());
    clients.runtime.block_on(async {
        let mut health = HealthClient::new(clients.channel.clone());
        for name in ["", "tokapi.v1.SearchService"] {
            let service = name.to_owned();
            let answer = health.check(HealthCheckRequest { service }).await.unwrap();
            assert_eq!(answer.into_inner().status(), ServingStatus::Serving);
        }
        let service = "nothing".to_owned();
        let status = health
            .check(HealthCheckRequest { service })
            .await
            .unwrap_err();
        assert_eq!(status.code(), Code::NotFound);
        let mut reflection = ServerReflectionClient::new(clients.channel.clone());
        let list = ServerReflectionRequest {
            host: String::new(),
            message_request: Some(MessageRequest::ListServices(String::new())),
        };
        let answers = reflection
            .server_reflection_info(stream::iter([list]))
            .await;
        let answer = answers.unwrap().into_inner().next().await.unwrap().unwrap();
        let Some(MessageResponse::ListServicesResponse(list)) = answer.message_response else {
            panic!("{answer:?}");
        };
        let mut names: Vec<&str> = list.service.iter().map(|service| &*service.name).collect();
        names.sort_unstable();
        assert_eq!(
            names[names.len() - 4..],
            [
                "tokapi.v1.DocumentService",
                "tokapi.v1.IndexService",
                "tokapi.v1.SearchService",
                "tokapi.v1.SnapshotService"
            ]
        );
    });
}

#[test]
fn streams_end_with_the_server() {
    let mut fixture = Fixture::new();
    let server = fixture.take();
    let mut clients = Clients::new(server.address());
    let (stopper, channel) = (server.stopper(), clients.channel.clone());
    clients.runtime.block_on(async {
        let mut health = HealthClient::new(channel);
        let service = String::new();
        let watched = health.watch(HealthCheckRequest { service }).await.unwrap();
        let mut watched = watched.into_inner();
        let status = watched.next().await.unwrap().unwrap().status();
        assert_eq!(status, ServingStatus::Serving);
        let requests = stream::iter([search("full")]).chain(stream::pending());
        let outcomes = clients.search.search_stream(requests).await;
        let mut outcomes = outcomes.unwrap().into_inner();
        assert!(outcomes.next().await.unwrap().is_ok());
        stopper.stop();
        let status = outcomes.next().await.unwrap().unwrap_err();
        check_status(&status, Code::Unavailable, "unavailable");
        assert!(outcomes.next().await.is_none());
        let status = watched.next().await.unwrap().unwrap().status();
        assert_eq!(status, ServingStatus::NotServing);
        assert!(watched.next().await.is_none());
    });
    server.wait().unwrap();
}

#[test]
fn tls_is_that_of_the_server() {
    let pair = Pair::new();
    let files = Files::of(&pair);
    let fixture = Fixture::with(|options| files.set(&mut options.tls));
    let tls = ClientTlsConfig::new()
        .ca_certificate(Certificate::from_pem(&pair.certificate_pem))
        .domain_name("localhost");
    let address = format!("https://{}", fixture.server().address());
    let endpoint = Endpoint::from_shared(address)
        .unwrap()
        .tls_config(tls)
        .unwrap();
    let mut clients = Clients::of(endpoint);
    let found = clients
        .runtime
        .block_on(clients.search.search(search("full")));
    assert_eq!(found.unwrap().into_inner().hits.len(), 10);
}

#[test]
fn the_routes_of_v1_take_http_2_too() {
    let fixture = Fixture::new();
    let mut clients = Clients::new(fixture.server().address());
    let url = format!("http://{}/v1", fixture.server().address());
    let request = axum::http::Request::get(url).body(tonic::body::Body::empty());
    let body = clients.runtime.block_on(async {
        let channel = &mut clients.channel;
        poll_fn(|context| channel.poll_ready(context))
            .await
            .unwrap();
        let response = channel.call(request.unwrap()).await.unwrap();
        let body = axum::body::Body::new(response.into_body());
        axum::body::to_bytes(body, 1 << 20).await.unwrap()
    });
    assert_eq!(body, fixture.client().get("/v1").body);
}
