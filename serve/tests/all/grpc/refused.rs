//! Calls that fail: each has a code, a text and a problem.

use std::time::{Duration, Instant};

use futures_util::{StreamExt, stream};
use tokapi_serve::grpc::proto::{self, SearchRequest};
use tokapi_serve::options::{Scope, TokenSettings};
use tonic::{Code, Request};

use super::{Clients, check_status};
use crate::fixture::Fixture;

fn search(query: &str) -> SearchRequest {
    SearchRequest {
        index: "full".to_owned(),
        query: query.to_owned(),
        ..SearchRequest::default()
    }
}

/// A search that takes a thread some time.
fn slow() -> SearchRequest {
    SearchRequest {
        k: Some(1400),
        explain: true,
        text: true,
        snippet_characters: Some(5000),
        count: true,
        facets: vec!["year".to_owned()],
        ..search("the of a and in flow boundary layer")
    }
}

#[test]
fn each_fault_has_its_code() {
    let fixture = Fixture::with(|options| options.limits.k = 20);
    let mut clients = Clients::new(fixture.server().address());
    let filter = proto::Filter {
        field: "nofield".to_owned(),
        ..proto::Filter::default()
    };
    let weighting = |formula: i32, b: f64| proto::Weighting {
        formula,
        b: Some(b),
        ..proto::Weighting::default()
    };
    let usual = || search("flow");
    for (request, code, kind) in [
        (
            SearchRequest {
                index: "none".to_owned(),
                ..usual()
            },
            Code::NotFound,
            "unknown-index",
        ),
        (
            SearchRequest {
                k: Some(0),
                ..usual()
            },
            Code::InvalidArgument,
            "invalid-request",
        ),
        (
            SearchRequest {
                k: Some(21),
                ..usual()
            },
            Code::InvalidArgument,
            "limit-exceeded",
        ),
        (
            SearchRequest { mode: 9, ..usual() },
            Code::InvalidArgument,
            "invalid-request",
        ),
        (
            SearchRequest {
                weighting: Some(weighting(99, 0.5)),
                ..usual()
            },
            Code::InvalidArgument,
            "invalid-request",
        ),
        (
            SearchRequest {
                weighting: Some(weighting(1, 2.0)),
                ..usual()
            },
            Code::InvalidArgument,
            "invalid-request",
        ),
        (
            SearchRequest {
                after: Some("x".to_owned()),
                ..usual()
            },
            Code::InvalidArgument,
            "invalid-request",
        ),
        (
            SearchRequest {
                filters: vec![filter],
                ..usual()
            },
            Code::FailedPrecondition,
            "not-kept",
        ),
        (
            SearchRequest {
                timeout_ms: Some(1 << 40),
                ..usual()
            },
            Code::InvalidArgument,
            "limit-exceeded",
        ),
    ] {
        let status = clients
            .runtime
            .block_on(clients.search.search(request))
            .unwrap_err();
        check_status(&status, code, kind);
    }
    let request = proto::ListPostingsRequest {
        index: "full".to_owned(),
        term: "xyzzy".to_owned(),
        ..proto::ListPostingsRequest::default()
    };
    let status = clients
        .runtime
        .block_on(clients.indexes.list_postings(request))
        .unwrap_err();
    check_status(&status, Code::NotFound, "unknown-term");
    // This server takes no changes.
    let request = proto::MergeIndexRequest {
        index: "full".to_owned(),
    };
    let status = clients
        .runtime
        .block_on(clients.indexes.merge_index(request))
        .unwrap_err();
    let detail = check_status(&status, Code::PermissionDenied, "forbidden");
    assert!(detail.contains("--write"), "{detail}");
    let request = proto::CreateIndexRequest {
        index: "new".to_owned(),
        ..proto::CreateIndexRequest::default()
    };
    let status = clients
        .runtime
        .block_on(clients.indexes.create_index(request))
        .unwrap_err();
    check_status(&status, Code::PermissionDenied, "forbidden");
}

#[test]
fn messages_have_the_limit_of_bodies() {
    let fixture = Fixture::with(|options| {
        (options.limits.body_bytes, options.limits.query_bytes) = (1000, 990);
    });
    let mut clients = Clients::new(fixture.server().address());
    // Beside the text: the index, and the keys and lengths of both.
    let largest = "x".repeat(1000 - 6 - 3);
    for (query, kind) in [
        (largest.clone(), "limit-exceeded"),
        (largest + "x", "body-too-large"),
    ] {
        let request = search(&query);
        let status = clients
            .runtime
            .block_on(clients.search.search(request))
            .unwrap_err();
        let detail = check_status(&status, Code::InvalidArgument, kind);
        assert!(detail.contains("9"), "{detail}");
    }
    let requests = stream::iter(vec![
        search("flow"),
        search(&"x".repeat(2000)),
        search("flow"),
    ]);
    clients.runtime.block_on(async {
        let mut outcomes = clients
            .search
            .search_stream(requests)
            .await
            .unwrap()
            .into_inner();
        assert!(outcomes.next().await.unwrap().is_ok());
        let status = outcomes.next().await.unwrap().unwrap_err();
        check_status(&status, Code::InvalidArgument, "body-too-large");
        assert!(outcomes.next().await.is_none());
    });
}

#[test]
fn deadlines_are_those_of_the_call() {
    let fixture = Fixture::with(|options| {
        (
            options.threads,
            options.cache_bytes,
            options.limits.timeout_ms,
        ) = (1, 0, 1);
        (options.limits.longest_timeout_ms, options.queue_ms) = (60_000, 0);
    });
    let mut clients = Clients::new(fixture.server().address());
    let mut busy = clients.search.clone();
    clients.runtime.block_on(async {
        let searches = (0..20).map(|_| SearchRequest {
            timeout_ms: Some(60_000),
            ..slow()
        });
        let busy = async {
            let outcomes = busy
                .search_stream(stream::iter(searches.collect::<Vec<_>>()))
                .await;
            let outcomes: Vec<_> = outcomes.unwrap().into_inner().collect().await;
            assert_eq!(outcomes.len(), 20);
        };
        let asking = async {
            while fixture.server().service().engine.load().waiting == 0 {
                tokio::task::yield_now().await;
            }
            // Without a deadline, the timeout of the server holds.
            let status = clients.search.search(search("flow")).await.unwrap_err();
            let detail = check_status(&status, Code::DeadlineExceeded, "timeout");
            assert!(detail.contains("1 ms"), "{detail}");
            // A client that waits longer is answered.
            let mut request = Request::new(search("flow"));
            request.set_timeout(Duration::from_secs(50));
            clients.search.search(request).await.unwrap();
        };
        tokio::join!(busy, asking);
    });
}

#[test]
fn a_cancelled_search_leaves_the_queue_without_work() {
    let fixture = Fixture::with(|options| (options.threads, options.cache_bytes) = (1, 0));
    let mut clients = Clients::new(fixture.server().address());
    let engine = &fixture.server().service().engine;
    let mut client = clients.search.clone();
    clients.runtime.block_on(async {
        let requests = vec![slow(); 200];
        let mut outcomes = client
            .search_stream(stream::iter(requests))
            .await
            .unwrap()
            .into_inner();
        outcomes.next().await.unwrap().unwrap();
    });
    // The stream and its requests were dropped: those under way end, the others never begin.
    let end = Instant::now() + Duration::from_secs(60);
    while engine.load().waiting > 0 && Instant::now() < end {
        clients
            .runtime
            .block_on(tokio::time::sleep(Duration::from_millis(5)));
    }
    let load = engine.load();
    assert_eq!(load.waiting, 0);
    assert!(load.by_cpu < 100, "{load:?}");
    clients
        .runtime
        .block_on(clients.search.search(search("flow")))
        .unwrap();
}

#[test]
fn a_full_queue_says_when_to_retry() {
    let fixture = Fixture::with(|options| {
        (options.queue, options.threads, options.cache_bytes) = (0, 1, 0);
    });
    let mut clients = Clients::new(fixture.server().address());
    let status = clients
        .runtime
        .block_on(clients.search.search(search("flow")))
        .unwrap_err();
    check_status(&status, Code::ResourceExhausted, "overloaded");
    let pushback = status.metadata().get("grpc-retry-pushback-ms");
    assert_eq!(pushback.unwrap().to_str().unwrap(), "1000");
}

#[test]
fn answers_have_a_size() {
    let fixture = Fixture::with(|options| options.limits.answer_bytes = 500);
    let mut clients = Clients::new(fixture.server().address());
    let request = proto::GetDocumentRequest {
        index: "full".to_owned(),
        id: "17".to_owned(),
    };
    let status = clients
        .runtime
        .block_on(clients.documents.get_document(request))
        .unwrap_err();
    let detail = check_status(&status, Code::InvalidArgument, "limit-exceeded");
    assert!(detail.contains("larger than 500 bytes"), "{detail}");
    let request = |k: u32| SearchRequest {
        k: Some(k),
        ..search("flow")
    };
    let (runtime, client) = (&clients.runtime, &mut clients.search);
    runtime.block_on(client.search(request(1))).unwrap();
    let status = runtime.block_on(client.search(request(50))).unwrap_err();
    check_status(&status, Code::InvalidArgument, "limit-exceeded");
}

#[test]
fn a_call_needs_a_token_with_its_scope() {
    // The hash of `read me`.
    const READ: &str = "3f22095641508576e91dc7c6c7f7e08a093985d53ea998043c6619ad240dc92c";
    let fixture = Fixture::with(|options| {
        options.write = true;
        options.tokens = vec![TokenSettings {
            name: "reader".to_owned(),
            sha256: READ.to_owned(),
            scopes: vec![Scope::Search],
            rate: None,
            burst: None,
        }];
    });
    let mut clients = Clients::new(fixture.server().address());
    fn with<T>(message: T, token: &str) -> Request<T> {
        let mut request = Request::new(message);
        let authorization = format!("Bearer {token}").parse().unwrap();
        request
            .metadata_mut()
            .insert("authorization", authorization);
        request
    }
    let (runtime, search_client) = (&clients.runtime, &mut clients.search);
    let status = runtime
        .block_on(search_client.search(search("flow")))
        .unwrap_err();
    check_status(&status, Code::Unauthenticated, "unauthorized");
    let wrong = with(search("flow"), "read you");
    let status = runtime.block_on(search_client.search(wrong)).unwrap_err();
    check_status(&status, Code::Unauthenticated, "unauthorized");
    runtime
        .block_on(search_client.search(with(search("flow"), "read me")))
        .unwrap();
    let streamed = with(stream::iter(vec![search("flow")]), "read me");
    runtime
        .block_on(search_client.search_stream(streamed))
        .unwrap();
    let request = proto::DeleteDocumentRequest {
        index: "full".to_owned(),
        id: "1".to_owned(),
        idempotency_key: None,
    };
    let delete = with(request, "read me");
    let status = runtime
        .block_on(clients.documents.delete_document(delete))
        .unwrap_err();
    let detail = check_status(&status, Code::PermissionDenied, "forbidden");
    assert!(detail.contains("scope write"), "{detail}");
    let request = proto::DropIndexRequest {
        index: "full".to_owned(),
    };
    let status = runtime
        .block_on(clients.indexes.drop_index(with(request, "read me")))
        .unwrap_err();
    let detail = check_status(&status, Code::PermissionDenied, "forbidden");
    assert!(detail.contains("scope admin"), "{detail}");
}

#[test]
fn slow_clients_are_let_go() {
    let fixture = Fixture::with(|options| options.limits.read_ms = 200);
    let mut clients = Clients::new(fixture.server().address());
    clients.runtime.block_on(async {
        // One request, and then none.
        let requests = stream::iter(vec![search("flow")]).chain(stream::pending());
        let mut outcomes = clients
            .search
            .search_stream(requests)
            .await
            .unwrap()
            .into_inner();
        assert!(outcomes.next().await.unwrap().is_ok());
        let status = outcomes.next().await.unwrap().unwrap_err();
        check_status(&status, Code::Aborted, "slow-request");
    });
}
