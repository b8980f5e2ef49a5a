//! Snapshots: an index in one state, taken while it changes, and restored with equal answers.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokapi::Index;
use tokapi_serve::{Listener, Options, Server, run};

use crate::client::{Answer, Client};

/// A server with a folder of indexes and one of snapshots.
fn start(folder: &TempDir) -> Server {
    Server::start(&options(folder)).unwrap()
}

fn options(folder: &TempDir) -> Options {
    let mut options = Options::default();
    options.listen.set_port(0);
    options.threads = 2;
    options.drain_delay_ms = 0;
    options.write = true;
    options.data = Some(folder.path().join("data"));
    options.snapshots = Some(folder.path().join("kept/snapshots"));
    options
}

fn end(server: Server) {
    server.stopper().stop();
    server.wait().unwrap();
}

fn put(client: &mut Client, index: &str, id: usize) -> u64 {
    let (text, lang) = (
        format!("all words of t{} and u{id}", id % 7),
        ["en", "de"][id % 2],
    );
    let body = json!({"text": text, "fields": {"lang": lang}});
    let answer = client.put(&format!("/v1/indexes/{index}/documents/d{id}"), &body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["epoch"].as_u64().unwrap()
}

/// A server with the index `books` of some documents, and a client.
fn books() -> (TempDir, Server, Client) {
    let folder = tempfile::tempdir().unwrap();
    let server = start(&folder);
    let mut client = Client::new(server.address());
    let created = client.put("/v1/indexes/books", &json!({"fields": ["lang"]}));
    assert_eq!(created.status, 200);
    for id in 0..40 {
        put(&mut client, "books", id);
    }
    (folder, server, client)
}

fn take(client: &mut Client, name: &str, index: &str) -> Answer {
    let path = format!("/v1/snapshots/{name}");
    client.put(&path, &json!({ "index": index }))
}

fn restore(client: &mut Client, name: &str, body: Value) -> Answer {
    client.post(&format!("/v1/snapshots/{name}/restore"), &body)
}

/// The answers to some searches, but for the names of the index and the times.
fn answers(client: &mut Client, index: &str) -> Vec<Value> {
    let searches = json!({"searches": [
        {"query": "all t3", "k": 100, "count": true, "facets": ["lang"], "explain": true},
        {"query": "\"of t2\"", "filters": ["lang:en"], "text": true},
    ]});
    let answer = client.post(&format!("/v1/indexes/{index}/searches"), &searches);
    let mut answers = answer.json()["answers"].as_array().unwrap().clone();
    for answer in &mut answers {
        let answer = answer.as_object_mut().unwrap();
        assert_eq!(answer["index"], index);
        answer.remove("took_us");
        answer.remove("index");
    }
    answers
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn a_snapshot_is_restored_with_equal_answers() {
    let (folder, server, mut client) = books();
    let before = answers(&mut client, "books");
    let taken = take(&mut client, "monday", "books").json();
    assert_eq!(taken["epoch"], before[0]["epoch"]);
    assert_eq!(
        (&taken["index"], &taken["documents"]),
        (&json!("books"), &json!(40))
    );
    assert!(
        taken["bytes"].as_u64() > Some(1000)
            && taken["created_ms"].as_u64() > Some(1_700_000_000_000)
    );
    // It is an index as any other.
    let path = folder.path().join("kept/snapshots/monday/books");
    Index::open(&path).unwrap().check().unwrap();
    // The index goes on; the snapshot does not.
    put(&mut client, "books", 40);
    client.delete("/v1/indexes/books/documents/d3");
    client.post_text("/v1/indexes/books/merge", "application/json", b"");
    let after = answers(&mut client, "books");
    assert_ne!(after, before);
    let restored = restore(&mut client, "monday", json!({"index": "then"}));
    assert_eq!(
        restored.json(),
        json!({"index": "then", "epoch": taken["epoch"]}),
        "{}",
        restored.text()
    );
    assert_eq!(answers(&mut client, "then"), before);
    assert_eq!(answers(&mut client, "books"), after);
    // It changes, and neither the snapshot nor the other index does.
    put(&mut client, "then", 99);
    client.post_text("/v1/indexes/then/merge", "application/json", b"");
    assert_eq!(answers(&mut client, "books"), after);
    assert_eq!(client.get("/v1/snapshots/monday").json(), taken);
    assert_eq!(
        client.get("/v1/snapshots").json(),
        json!({"snapshots": [taken]})
    );
    // Under the name of a removed index.
    let detail = restore(&mut client, "monday", json!({})).problem(409, "conflict");
    assert!(detail.contains("`books`"), "{detail}");
    assert_eq!(client.delete("/v1/indexes/books").status, 200);
    assert_eq!(
        restore(&mut client, "monday", json!({})).json()["index"],
        "books"
    );
    assert_eq!(answers(&mut client, "books"), before);
    let last = put(&mut client, "books", 50);
    assert!(taken["epoch"].as_u64() < Some(last));
    let now = answers(&mut client, "books");
    assert_eq!(client.delete("/v1/snapshots/monday").json(), taken);
    client
        .get("/v1/snapshots/monday")
        .problem(404, "unknown-snapshot");
    assert_eq!(names(&folder.path().join("kept/snapshots")), [""; 0]);
    drop(client);
    end(server);
    // Another server has all of it.
    let server = start(&folder);
    assert_eq!(answers(&mut Client::new(server.address()), "books"), now);
    end(server);
    for name in ["books", "then"] {
        Index::open(folder.path().join("data").join(name))
            .unwrap()
            .check()
            .unwrap();
    }
}

#[test]
fn snapshots_while_writers_write_have_all_that_was_acknowledged_before() {
    const WRITERS: usize = 3;
    let (folder, server, mut client) = books();
    let done = AtomicBool::new(false);
    let taken = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (done, mut client) = (&done, Client::new(server.address()));
                scope.spawn(move || {
                    let mut epochs = Vec::new();
                    for change in 0.. {
                        let id = 1000 * (writer + 1) + change;
                        epochs.push((put(&mut client, "books", id), id));
                        if done.load(Ordering::Relaxed) {
                            break;
                        }
                    }
                    epochs
                })
            })
            .collect();
        let mut taken = Vec::new();
        for round in 0..12 {
            let answer = take(&mut client, &format!("s{round}"), "books");
            taken.push(answer.json()["epoch"].as_u64().unwrap());
        }
        done.store(true, Ordering::Relaxed);
        let epochs = writers
            .into_iter()
            .flat_map(|writer| writer.join().unwrap());
        (taken, epochs.collect::<Vec<_>>())
    });
    let (epochs, written) = taken;
    for (round, epoch) in epochs.into_iter().enumerate() {
        let path = folder.path().join(format!("kept/snapshots/s{round}/books"));
        let index = Index::open(&path).unwrap();
        index.check().unwrap();
        assert_eq!(index.epoch(), epoch);
        for (since, id) in &written {
            let found = index.find(&format!("d{id}")).unwrap();
            assert_eq!(
                found.is_some(),
                *since <= epoch,
                "d{id} of {since} at {epoch}"
            );
        }
    }
    end(server);
}

#[test]
fn a_repeated_request_is_answered_as_before() {
    let (_folder, server, mut client) = books();
    let mut send = |method: &str, path: &str, key: &str, body: &Value| {
        let headers = [
            ("content-type", "application/json"),
            ("idempotency-key", key),
        ];
        client.send_with(method, path, &headers, body.to_string().as_bytes())
    };
    let path = "/v1/snapshots/monday";
    let to = json!({"index": "then"});
    let first = send("PUT", path, "one", &json!({"index": "books"}));
    let again = send("PUT", path, "one", &json!({"index": "books"}));
    assert_eq!((first.status, first.text()), (200, again.text()));
    send("PUT", path, "two", &json!({"index": "books"})).problem(409, "conflict");
    // A request of another kind is another one, whatever its name.
    let restored = send("POST", &format!("{path}/restore"), "one", &to);
    assert_eq!(restored.json()["index"], "then");
    let again = send("POST", &format!("{path}/restore"), "one", &to);
    assert_eq!(again.text(), restored.text());
    send("POST", &format!("{path}/restore"), "two", &to).problem(409, "conflict");
    assert_eq!(send("DELETE", path, "one", &json!({})).text(), first.text());
    assert_eq!(send("DELETE", path, "one", &json!({})).text(), first.text());
    send("DELETE", path, "two", &json!({})).problem(404, "unknown-snapshot");
    end(server);
}

#[test]
fn a_damaged_snapshot_is_refused_in_one_line_and_can_be_removed() {
    let (folder, server, mut client) = books();
    let all = folder.path().join("kept/snapshots");
    for (name, file, length) in [
        ("a", "part-1/ids", 10),
        ("b", "part-2/terms", 0),
        ("c", "epoch", 0),
    ] {
        assert_eq!(take(&mut client, name, "books").status, 200);
        let index = all.join(name).join("books");
        let epoch = Index::open(&index).unwrap().epoch();
        let parts = names(&index);
        let file = match file.split_once('/') {
            None => index.join(format!("epoch-{epoch}.json")),
            Some((_, file)) => index.join(&parts[parts.len() - 1]).join(file),
        };
        let mut bytes = std::fs::read(&file).unwrap();
        // The index shares the file.
        std::fs::remove_file(&file).unwrap();
        match length {
            0 => bytes.truncate(bytes.len() / 2),
            at => bytes[at] ^= 1,
        }
        std::fs::write(&file, bytes).unwrap();
        let detail = restore(&mut client, name, json!({"index": "then"})).problem(500, "damaged");
        assert!(detail.contains(&format!("`{name}` is damaged")), "{detail}");
        assert!(
            !detail.contains(folder.path().to_str().unwrap()),
            "{detail}"
        );
        client.get("/v1/indexes/then").problem(404, "unknown-index");
    }
    let listed = client.get("/v1/snapshots").json();
    let listed = listed["snapshots"].as_array().unwrap();
    assert_eq!(listed.len(), 3);
    // A wrong bit may be found by a check only.
    for snapshot in &listed[1..] {
        assert!(snapshot.get("epoch").is_none(), "{snapshot}");
    }
    assert_eq!(names(&folder.path().join("data")), ["books"]);
    for name in ["a", "b", "c"] {
        assert_eq!(
            client.delete(&format!("/v1/snapshots/{name}")).json()["index"],
            "books"
        );
    }
    assert_eq!(names(&all), [""; 0]);
    end(server);
    Index::open(folder.path().join("data/books"))
        .unwrap()
        .check()
        .unwrap();
}

#[test]
fn requests_that_are_not_permitted() {
    let (folder, server, mut client) = books();
    for name in ["..", "%2e%2e", "..%2Fdata", "a%2Fb", ".hidden", "monday%00"] {
        let path = format!("/v1/snapshots/{name}");
        let answer = client.put(&path, &json!({"index": "books"}));
        assert!(
            [400, 404, 405].contains(&answer.status),
            "{name}: {}",
            answer.text()
        );
        assert!([404, 405].contains(&client.delete(&path).status), "{name}");
        let answer = restore(&mut client, name, json!({"index": "then"}));
        assert_eq!(answer.status, 404, "{name}");
    }
    assert_eq!(take(&mut client, "monday", "books").status, 200);
    take(&mut client, "tuesday", "none").problem(404, "unknown-index");
    take(&mut client, "monday", "books").problem(409, "conflict");
    for (body, part) in [
        (json!({"index": "../x"}), "is not a name for an index"),
        (json!({"index": "live"}), "is not a name for an index"),
        (json!({"index": 1}), "invalid type"),
        (json!({"as": "then"}), "unknown field"),
    ] {
        let detail = restore(&mut client, "monday", body).problem(400, "invalid-request");
        assert!(detail.contains(part), "{detail}");
    }
    // Folders that are no snapshots are not told, and not removed.
    let all = folder.path().join("kept/snapshots");
    std::fs::create_dir_all(all.join("others/photos")).unwrap();
    std::fs::write(all.join("list.txt"), "of an operator").unwrap();
    client
        .delete("/v1/snapshots/others")
        .problem(404, "unknown-snapshot");
    client
        .delete("/v1/snapshots/list.txt")
        .problem(404, "unknown-snapshot");
    assert_eq!(
        client.get("/v1/snapshots").json()["snapshots"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    end(server);
    let mut reads = options(&folder);
    (reads.write, reads.snapshots) = (false, None);
    let server = Server::start(&reads).unwrap();
    let mut client = Client::new(server.address());
    for answer in [
        client.get("/v1/snapshots"),
        take(&mut client, "tuesday", "books"),
        client.delete("/v1/snapshots/monday"),
    ] {
        assert!(answer.problem(403, "forbidden").contains("--snapshots"));
    }
    end(server);
    // A server that takes no changes may take snapshots, and restores none.
    reads.snapshots = options(&folder).snapshots;
    let server = Server::start(&reads).unwrap();
    let mut client = Client::new(server.address());
    assert_eq!(take(&mut client, "tuesday", "books").status, 200);
    let detail =
        restore(&mut client, "tuesday", json!({"index": "then"})).problem(403, "forbidden");
    assert!(detail.contains("--write"), "{detail}");
    end(server);
}

/// A server removes what a killed one has left, and nothing else.
#[test]
fn halves_are_removed_at_the_next_start() {
    let (folder, server, mut client) = books();
    assert_eq!(take(&mut client, "monday", "books").status, 200);
    end(server);
    let [data, all] = ["data", "kept/snapshots"].map(|name| folder.path().join(name));
    for half in [
        data.join(".then.tokapi-ab12Cd.tmp"),
        all.join(".tuesday.tokapi-zzzzzz.tmp/books"),
    ] {
        std::fs::create_dir_all(half.join("part-1")).unwrap();
        std::fs::write(half.join("part-1/terms"), b"half").unwrap();
    }
    tokapi_serve::check(&options(&folder)).unwrap();
    assert_eq!((names(&data).len(), names(&all).len()), (2, 2));
    let options = options(&folder);
    run(Listener::bind(&options).unwrap(), &options, |server| {
        assert_eq!(
            (names(&data), names(&all)),
            (vec!["books".into()], vec!["monday".into()])
        );
        server.stopper().stop();
        Ok(())
    })
    .unwrap();
}
