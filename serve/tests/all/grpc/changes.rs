//! Changes by gRPC: durable and visible when they are answered, also in streams.

use futures_util::{StreamExt, stream};
use tempfile::TempDir;
use tokapi_serve::grpc::proto::Result as Outcome;
use tokapi_serve::grpc::proto::operation::Operation as Change;
use tokapi_serve::grpc::proto::{self, BulkRequest, BulkResponse, NewDocument, Operation};
use tokapi_serve::{Options, Server};
use tonic::Code;

use super::{Clients, check_problem, check_status};

/// A server that may be changed, with the index `books`, and its clients.
fn books(folder: &TempDir) -> (Server, Clients) {
    let mut options = Options::default();
    options.listen.set_port(0);
    options.threads = 2;
    options.drain_delay_ms = 0;
    options.write = true;
    options.data = Some(folder.path().join("data"));
    options.snapshots = Some(folder.path().join("snapshots"));
    let server = Server::start(&options).unwrap();
    let mut clients = Clients::new(server.address());
    let request = proto::CreateIndexRequest {
        index: "books".to_owned(),
        stemmer: Some("english".to_owned()),
        fields: vec!["lang".to_owned(), "year".to_owned()],
        ..proto::CreateIndexRequest::default()
    };
    let created = clients
        .runtime
        .block_on(clients.indexes.create_index(request));
    let created = created.unwrap().into_inner();
    assert_eq!((&*created.index, created.epoch), ("books", 1));
    (server, clients)
}

fn end(server: Server, clients: Clients) {
    drop(clients);
    server.stopper().stop();
    server.wait().unwrap();
}

fn value(kind: proto::value::Kind) -> proto::Values {
    let values = vec![proto::Value { kind: Some(kind) }];
    proto::Values { values }
}

fn document(id: &str, text: &str) -> NewDocument {
    let fields = [
        ("lang", value(proto::value::Kind::Text("en".to_owned()))),
        ("year", value(proto::value::Kind::Unsigned(u64::MAX))),
    ];
    NewDocument {
        id: id.to_owned(),
        text: text.to_owned(),
        fields: fields
            .map(|(name, values)| (name.to_owned(), values))
            .into(),
    }
}

fn put(id: &str, text: &str) -> proto::PutDocumentRequest {
    proto::PutDocumentRequest {
        index: "books".to_owned(),
        document: Some(document(id, text)),
        idempotency_key: None,
    }
}

fn bulk(changes: Vec<Change>) -> BulkRequest {
    let operations = changes.into_iter();
    let operations = operations.map(|change| Operation {
        operation: Some(change),
    });
    BulkRequest {
        index: "books".to_owned(),
        operations: operations.collect(),
        idempotency_key: None,
    }
}

/// The answers to the requests of a stream.
fn stream_of(clients: &mut Clients, requests: Vec<BulkRequest>) -> Vec<BulkResponse> {
    clients.runtime.block_on(async {
        let stream = clients.documents.bulk(stream::iter(requests)).await;
        let answers = stream.unwrap().into_inner();
        answers.map(|answer| answer.unwrap()).collect().await
    })
}

fn outcomes(response: &BulkResponse) -> Vec<Outcome> {
    response
        .results
        .iter()
        .map(|result| result.result())
        .collect()
}

#[test]
fn a_change_is_visible_when_it_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    let (server, mut clients) = books(&folder);
    let Clients {
        runtime,
        documents,
        indexes,
        ..
    } = &mut clients;
    let first = runtime.block_on(documents.put_document(put("b1", "Boundary layers")));
    let first = first.unwrap().into_inner();
    assert_eq!((first.epoch, first.result()), (2, Outcome::Created));
    let again = runtime.block_on(documents.put_document(put("b1", "Boundary layer flow")));
    let again = again.unwrap().into_inner();
    assert_eq!((again.epoch, again.result()), (3, Outcome::Replaced));
    let get = || proto::GetDocumentRequest {
        index: "books".to_owned(),
        id: "b1".to_owned(),
    };
    let read = runtime
        .block_on(documents.get_document(get()))
        .unwrap()
        .into_inner();
    assert_eq!(read.text.as_deref(), Some("Boundary layer flow"));
    assert_eq!(read.fields, document("", "").fields);
    assert_eq!(read.state.unwrap().epoch, 3);
    let delete = || proto::DeleteDocumentRequest {
        index: "books".to_owned(),
        id: "b1".to_owned(),
        idempotency_key: Some("once".to_owned()),
    };
    for _ in 0..2 {
        let deleted = runtime.block_on(documents.delete_document(delete()));
        let deleted = deleted.unwrap().into_inner();
        assert_eq!((deleted.epoch, deleted.result()), (4, Outcome::Deleted));
    }
    let status = runtime.block_on(documents.get_document(get())).unwrap_err();
    check_status(&status, Code::NotFound, "unknown-document");
    let merge = proto::MergeIndexRequest {
        index: "books".to_owned(),
    };
    let merged = runtime
        .block_on(indexes.merge_index(merge))
        .unwrap()
        .into_inner();
    assert!(merged.epoch >= 4);
    let drop_index = proto::DropIndexRequest {
        index: "books".to_owned(),
    };
    runtime.block_on(indexes.drop_index(drop_index)).unwrap();
    let request = proto::GetIndexRequest {
        index: "books".to_owned(),
    };
    let status = runtime.block_on(indexes.get_index(request)).unwrap_err();
    check_status(&status, Code::NotFound, "unknown-index");
    end(server, clients);
}

#[test]
fn a_stream_of_changes_has_an_answer_for_each() {
    let folder = tempfile::tempdir().unwrap();
    let (server, mut clients) = books(&folder);
    let mut other_field = document("x", "text");
    other_field
        .fields
        .insert("other".to_owned(), value(proto::value::Kind::Boolean(true)));
    let mut no_number = document("y", "text");
    no_number.fields.insert(
        "year".to_owned(),
        value(proto::value::Kind::Number(f64::NAN)),
    );
    let mut requests: Vec<BulkRequest> = (0..60)
        .map(|n| bulk(vec![Change::Put(document(&format!("d{n}"), "many words"))]))
        .collect();
    requests.push(bulk(vec![
        Change::Put(document("d5", "other words")),
        Change::Create(document("d6", "not taken")),
        Change::Delete("d7".to_owned()),
        Change::Delete("none".to_owned()),
        Change::Put(other_field),
        Change::Put(no_number),
        Change::Delete(String::new()),
        Change::Create(document("last", "words")),
    ]));
    requests.push(BulkRequest {
        index: "books".to_owned(),
        operations: vec![Operation::default()],
        idempotency_key: None,
    });
    requests.push(bulk(Vec::new()));
    requests.push(BulkRequest {
        index: "none".to_owned(),
        ..bulk(vec![Change::Delete("d8".to_owned())])
    });
    requests.push(BulkRequest {
        idempotency_key: Some(String::new()),
        ..bulk(vec![Change::Delete("d8".to_owned())])
    });
    let answers = stream_of(&mut clients, requests);
    assert_eq!(answers.len(), 65);
    let mut epoch = 1;
    for answer in &answers[..60] {
        assert_eq!(outcomes(answer), [Outcome::Created]);
        assert!(answer.epoch.unwrap() >= epoch);
        epoch = answer.epoch.unwrap();
    }
    use Outcome::{Conflict, Created, Deleted, NotFound, Replaced, Unspecified};
    assert_eq!(
        outcomes(&answers[60]),
        [
            Replaced,
            Conflict,
            Deleted,
            NotFound,
            Unspecified,
            Unspecified,
            Unspecified,
            Created
        ]
    );
    let fault = |answer: &BulkResponse, place: usize, kind: &str| {
        check_problem(answer.results[place].problem.as_ref().unwrap(), kind);
    };
    fault(&answers[60], 4, "not-kept");
    fault(&answers[60], 5, "invalid-request");
    fault(&answers[60], 6, "invalid-request");
    fault(&answers[61], 0, "invalid-request");
    assert_eq!((answers[62].epoch, answers[62].results.len()), (None, 0));
    check_problem(answers[63].problem.as_ref().unwrap(), "unknown-index");
    check_problem(answers[64].problem.as_ref().unwrap(), "invalid-request");
    let request = proto::CountRequest {
        index: "books".to_owned(),
        query: "words".to_owned(),
        ..proto::CountRequest::default()
    };
    let counted = clients.runtime.block_on(clients.search.count(request));
    assert_eq!(counted.unwrap().into_inner().count, 60);
    end(server, clients);
}

#[test]
fn requests_of_a_stream_take_effect_in_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let (server, mut clients) = books(&folder);
    for _ in 0..5 {
        let requests = (0..100).map(|n| {
            bulk(vec![match n % 2 {
                0 => Change::Put(document("a", "text")),
                _ => Change::Delete("a".to_owned()),
            }])
        });
        let answers = stream_of(&mut clients, requests.collect());
        for pair in answers.chunks(2) {
            assert_eq!(outcomes(&pair[0]), [Outcome::Created]);
            assert_eq!(outcomes(&pair[1]), [Outcome::Deleted]);
        }
    }
    end(server, clients);
}

#[test]
fn a_repeated_request_is_answered_as_before() {
    let folder = tempfile::tempdir().unwrap();
    let (server, mut clients) = books(&folder);
    let named = |key: &str, id: &str| BulkRequest {
        idempotency_key: Some(key.to_owned()),
        ..bulk(vec![Change::Create(document(id, "text"))])
    };
    let requests = vec![named("one", "a"), named("two", "b"), named("one", "a")];
    let first = stream_of(&mut clients, requests.clone());
    let again = stream_of(&mut clients, requests);
    assert_eq!(first, again);
    assert_eq!(first[0], first[2]);
    assert_eq!(outcomes(&first[1]), [Outcome::Created]);
    end(server, clients);
}

#[test]
fn requests_may_wait_for_answers() {
    let folder = tempfile::tempdir().unwrap();
    let (server, mut clients) = books(&folder);
    clients.runtime.block_on(async {
        let (send, requests) = tokio::sync::mpsc::channel(1);
        let requests = stream::unfold(requests, async |mut requests| {
            Some((requests.recv().await?, requests))
        });
        let answers = clients.documents.bulk(requests).await;
        let mut answers = answers.unwrap().into_inner();
        for n in 0..10 {
            let change = Change::Put(document(&format!("d{n}"), "text"));
            send.send(bulk(vec![change])).await.unwrap();
            let answer = answers.next().await.unwrap().unwrap();
            assert_eq!(answer.epoch, Some(n + 2));
        }
        drop(send);
        assert!(answers.next().await.is_none());
    });
    end(server, clients);
}

#[test]
fn snapshots_are_taken_listed_restored_and_removed() {
    use proto::snapshot_service_client::SnapshotServiceClient;

    let folder = tempfile::tempdir().unwrap();
    let (server, mut clients) = books(&folder);
    let put = clients.documents.put_document(put("b1", "Boundary layers"));
    clients.runtime.block_on(put).unwrap();
    let mut snapshots = SnapshotServiceClient::new(clients.channel.clone());
    clients.runtime.block_on(async {
        let take = || proto::TakeSnapshotRequest {
            snapshot: "one".to_owned(),
            index: "books".to_owned(),
            idempotency_key: Some("once".to_owned()),
        };
        let taken = snapshots.take_snapshot(take()).await.unwrap().into_inner();
        assert_eq!((taken.epoch, taken.documents), (Some(2), Some(1)));
        let again = snapshots.take_snapshot(take()).await.unwrap().into_inner();
        assert_eq!(again, taken);
        let other = proto::TakeSnapshotRequest {
            idempotency_key: None,
            ..take()
        };
        let status = snapshots.take_snapshot(other).await.unwrap_err();
        check_status(&status, Code::Aborted, "conflict");
        let list = snapshots
            .list_snapshots(proto::ListSnapshotsRequest {})
            .await;
        assert_eq!(
            list.unwrap().into_inner().snapshots,
            std::slice::from_ref(&taken)
        );
        let snapshot = "one".to_owned();
        let restore = proto::RestoreSnapshotRequest {
            snapshot: snapshot.clone(),
            index: Some("again".to_owned()),
            idempotency_key: None,
        };
        let restored = snapshots
            .restore_snapshot(restore)
            .await
            .unwrap()
            .into_inner();
        assert_eq!((&*restored.index, restored.epoch), ("again", 2));
        let get = || proto::GetSnapshotRequest {
            snapshot: snapshot.clone(),
        };
        let found = snapshots.get_snapshot(get()).await.unwrap().into_inner();
        assert_eq!(found, taken);
        let remove = proto::RemoveSnapshotRequest {
            snapshot: snapshot.clone(),
            idempotency_key: None,
        };
        snapshots.remove_snapshot(remove).await.unwrap();
        let status = snapshots.get_snapshot(get()).await.unwrap_err();
        check_status(&status, Code::NotFound, "unknown-snapshot");
    });
    end(server, clients);
}
