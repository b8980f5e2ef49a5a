//! Changes through the server: durable and visible when they are answered, and equal to those of the library.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokapi::{Corpus, CorpusOptions, Document, Index, IndexBuilder, Query, SearchOptions};
use tokapi_serve::{Options, Server};

use crate::client::Client;
use crate::random::{Random, number};

/// A server whose indexes are in a folder, and may be changed.
fn start(folder: &TempDir, write: bool) -> Server {
    let mut options = Options::default();
    options.listen.set_port(0);
    options.threads = 2;
    options.drain_delay_ms = 0;
    options.write = write;
    options.data = Some(folder.path().join("data"));
    Server::start(&options).unwrap()
}

fn client(server: &Server) -> Client {
    Client::new(server.address())
}

fn end(server: Server) {
    server.stopper().stop();
    server.wait().unwrap();
}

fn create(client: &mut Client, name: &str) {
    let answer = client.put(
        &format!("/v1/indexes/{name}"),
        &json!({"fields": ["lang", "year"], "stemmer": "english"}),
    );
    assert_eq!(answer.status, 200, "{}", answer.text());
}

/// A server that may be changed, with the index `books`, and a client of it.
fn books() -> (TempDir, Server, Client) {
    let folder = tempfile::tempdir().unwrap();
    let server = start(&folder, true);
    let mut client = client(&server);
    create(&mut client, "books");
    (folder, server, client)
}

fn document(id: usize, version: usize) -> Value {
    let text = format!("all words of t{} and v{version}", id % 7);
    let lang = ["en", "de"][id % 2];
    json!({"text": text, "fields": {"lang": lang, "year": version}})
}

/// The ids and scores of all documents for some words.
fn ranking(index: &Index) -> Vec<(String, f32)> {
    let query = Query::any(index.analyzer().terms("all t3 v2"));
    let hits = index.search(&query, &SearchOptions::default().k(10_000));
    let hits = hits.unwrap().into_iter();
    let id = |document| index.id(document).unwrap().into_owned();
    hits.map(|hit| (id(hit.document), hit.score)).collect()
}

/// The index of the documents with these ids and versions, built at once.
fn fresh(path: &Path, kept: &BTreeMap<usize, (u64, usize)>) -> Index {
    // In the order of their last addition.
    let mut order: Vec<(u64, usize, usize)> = kept
        .iter()
        .map(|(&id, &(sequence, version))| (sequence, id, version))
        .collect();
    order.sort_unstable();
    let documents = order.into_iter().map(|(_, id, version)| {
        let text = document(id, version)["text"].as_str().unwrap().to_owned();
        Document::new(format!("d{id}"), text)
    });
    let documents: Vec<Document> = documents.collect();
    let stemmed = tokapi::AnalyzerOptions::default().stemmer("english".to_owned());
    let corpus = Corpus::from_documents(documents, CorpusOptions::default());
    let builder = IndexBuilder::new(path).analyzer(tokapi::Analyzer::new(&stemmed).unwrap());
    builder.build(corpus).unwrap();
    Index::open(path).unwrap()
}

#[test]
fn a_change_is_visible_when_it_is_answered_and_equals_an_index_built_at_once() {
    let (folder, server, mut client) = books();
    let mut random = Random(9);
    let (mut kept, mut next, mut last) = (BTreeMap::new(), 0, 0);
    for version in 0..150 {
        let id = random.below(40);
        let path = format!("/v1/indexes/books/documents/d{id}");
        let answer = match random.below(4) {
            0 => {
                let answer = client.delete(&path);
                match kept.remove(&id) {
                    None => {
                        answer.problem(404, "unknown-document");
                        continue;
                    }
                    Some(_) => assert_eq!(answer.json()["result"], "deleted"),
                }
                answer
            }
            _ => {
                let answer = client.put(&path, &document(id, version));
                let before = kept.insert(id, (next, version));
                next += 1;
                let expected = if before.is_some() {
                    "replaced"
                } else {
                    "created"
                };
                assert_eq!(answer.json()["result"], expected, "{}", answer.text());
                answer
            }
        };
        let epoch = answer.json()["epoch"].as_u64().unwrap();
        assert!(
            epoch > last,
            "each change that waits alone has an epoch of its own"
        );
        last = epoch;
        let read = client.get(&path).json();
        assert_eq!(
            read.get("text"),
            kept.get(&id)
                .map(|&(_, v)| document(id, v)["text"].clone())
                .as_ref()
        );
        let found = client.post(
            "/v1/indexes/books/search",
            &json!({"query": "all", "k": 1, "count": true}),
        );
        let found = found.json();
        assert!(found["epoch"].as_u64() >= Some(epoch) && found["complete"] == true);
        assert_eq!(found["count"], kept.len());
    }
    let merged = client.post_text("/v1/indexes/books/merge", "application/json", b"");
    assert!(merged.json()["epoch"].as_u64() >= Some(last));
    let expected = ranking(&fresh(&folder.path().join("fresh"), &kept));
    let found = client.post(
        "/v1/indexes/books/search",
        &json!({"query": "all t3 v2", "k": 1000, "snippets": false}),
    );
    let hits = found.json()["hits"].as_array().unwrap().clone();
    let hits: Vec<(Value, Value)> = hits
        .iter()
        .map(|hit| (hit["id"].clone(), hit["score"].clone()))
        .collect();
    let expected: Vec<(Value, Value)> = expected
        .into_iter()
        .map(|(id, score)| (id.into(), number(score)))
        .collect();
    assert_eq!(hits, expected);
    drop(client);
    end(server);
    // Another server has all of it.
    let server = start(&folder, false);
    let again = Client::new(server.address())
        .get("/v1/indexes/books/statistics")
        .json();
    assert_eq!(again["documents"], kept.len());
    end(server);
    let index = Index::open(folder.path().join("data/books")).unwrap();
    index.check().unwrap();
}

/// Pages of postings go on behind a document, whatever is merged meanwhile.
#[test]
fn pages_of_postings_outlive_a_merge() {
    let (_folder, server, mut client) = books();
    let put = |client: &mut Client, id: usize| {
        let path = format!("/v1/indexes/books/documents/d{id}");
        assert_eq!(client.put(&path, &document(id, 1)).status, 200);
    };
    (0..12).for_each(|id| put(&mut client, id));
    // Replaced documents come last, and their numbers are gaps until the merge.
    (2..5).for_each(|id| put(&mut client, id));
    let page = |client: &mut Client, after: Option<u64>| {
        let after = after.map_or(String::new(), |after| format!("&after={after}"));
        let url = format!("/v1/indexes/books/terms/all/postings?limit=4{after}");
        let answer = client.get(&url).json();
        let ids = answer["postings"].as_array().unwrap().iter();
        let ids = ids.map(|posting| posting["id"].as_str().unwrap().to_owned());
        (ids.collect::<Vec<_>>(), answer["next"].as_u64())
    };
    let (first, next) = page(&mut client, None);
    assert_eq!(first, ["d0", "d1", "d5", "d6"]);
    let merged = client.post_text("/v1/indexes/books/merge", "application/json", b"");
    assert_eq!(merged.status, 200);
    let (second, next) = page(&mut client, next);
    assert_eq!(second, ["d7", "d8", "d9", "d10"]);
    let (third, next) = page(&mut client, next);
    assert_eq!(
        (third, next),
        (
            vec!["d11".into(), "d2".into(), "d3".into(), "d4".into()],
            None
        )
    );
    drop(client);
    end(server);
}

#[test]
fn writers_and_readers_at_the_same_time() {
    const WRITERS: usize = 4;
    const CHANGES: usize = 40;
    let (_folder, server, mut reader) = books();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let mut client = client(&server);
                scope.spawn(move || {
                    for change in 0..CHANGES {
                        let id = writer * 1000 + change;
                        let path = format!("/v1/indexes/books/documents/d{id}");
                        assert_eq!(client.put(&path, &document(id, change)).status, 200);
                        assert_eq!(client.get(&path).status, 200);
                    }
                })
            })
            .collect();
        let done = &done;
        scope.spawn(move || {
            let (mut epoch, mut count) = (0, 0);
            while !done.load(Ordering::Relaxed) {
                let body = json!({"query": "all", "k": 3, "count": true});
                let answer = reader.post("/v1/indexes/books/search", &body).json();
                let now = (
                    answer["epoch"].as_u64().unwrap(),
                    answer["count"].as_u64().unwrap(),
                );
                // Documents are only added here.
                assert!(now.0 >= epoch && now.1 >= count, "{answer}");
                (epoch, count) = now;
            }
        });
        for writer in writers {
            writer.join().unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    let statistics = client(&server).get("/v1/indexes/books/statistics").json();
    assert_eq!(statistics["documents"], WRITERS * CHANGES);
    end(server);
}

#[test]
fn many_lines_at_once() {
    let (_folder, server, mut client) = books();
    let mut lines = String::new();
    for id in 0..3000 {
        let mut put = document(id, 1);
        put["id"] = format!("d{id}").into();
        lines += &format!("{}\n", json!({"put": put}));
    }
    lines += "{\"delete\":{\"id\":\"d5\"}}\n{\"delete\":{\"id\":\"none\"}}\n{\"create\":{\"id\":\"d6\",\"text\":\"\"}}\n";
    lines += "{\"put\":{\"id\":\"x\",\"text\":\"a\",\"fields\":{\"other\":1}}}\n{\"put\":{\"id\":\"\",\"text\":\"\"}}\nnothing\n";
    lines += "{\"create\":{\"id\":\"last\",\"text\":\"all\"}}";
    let bulk = |client: &mut Client, key: &str| {
        let answer = client.send_with(
            "POST",
            "/v1/indexes/books/bulk",
            &[
                ("content-type", "application/x-ndjson"),
                ("idempotency-key", key),
            ],
            lines.as_bytes(),
        );
        let text = answer.text().to_owned();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect::<Vec<Value>>()
    };
    let answers = bulk(&mut client, "one");
    assert_eq!(answers.len(), 3007);
    for (line, answer) in (1..).zip(&answers) {
        assert_eq!(answer["line"], line);
    }
    let results: Vec<&Value> = answers[2999..]
        .iter()
        .map(|answer| &answer["result"])
        .collect();
    assert_eq!(
        results,
        [
            &json!("created"),
            &json!("deleted"),
            &json!("not_found"),
            &json!("conflict"),
            &Value::Null,
            &Value::Null,
            &Value::Null,
            &json!("created")
        ]
    );
    let problem = |place: usize| answers[place]["problem"]["detail"].as_str().unwrap();
    assert!(problem(3003).contains("`other`"), "{}", problem(3003));
    assert!(problem(3004).contains("empty"), "{}", problem(3004));
    assert!(problem(3005).contains("line 3006"), "{}", problem(3005));
    let count = |client: &mut Client| client.get("/v1/indexes/books/statistics").json();
    let before = count(&mut client);
    assert_eq!(before["documents"], 3000);
    // The same request again is answered as before, and changes nothing.
    assert_eq!(bulk(&mut client, "one"), answers);
    assert_eq!(count(&mut client), before);
    drop(client);
    end(server);
}

#[test]
fn changes_that_are_not_permitted() {
    let (folder, server, mut all) = books();
    let again = all.put("/v1/indexes/books", &json!({}));
    assert!(again.problem(409, "conflict").contains("`books`"));
    for (name, body, part) in [
        ("..%2Fbooks", json!({}), "is not a name for an index"),
        ("a%2Fb", json!({}), "is not a name for an index"),
        ("other", json!({"analyzer": "klingon"}), "`klingon`"),
        ("other", json!({"stemmer": "klingon"}), "klingon"),
        ("other", json!({"stop_words": "klingon"}), "`klingon`"),
        ("other", json!({"text": 1}), "invalid type"),
        ("other", json!({"shards": 1}), "unknown field"),
    ] {
        let detail = all
            .put(&format!("/v1/indexes/{name}"), &body)
            .problem(400, "invalid-request");
        assert!(detail.contains(part), "{name} {body}: {detail}");
    }
    let put = |client: &mut Client, body: Value| client.put("/v1/indexes/books/documents/a", &body);
    let detail =
        put(&mut all, json!({"text": "a", "fields": {"other": 1}})).problem(400, "not-kept");
    assert!(detail.contains("`other`"), "{detail}");
    put(&mut all, json!({"text": "a", "fields": {"lang": {"a": 1}}}))
        .problem(400, "invalid-request");
    put(&mut all, json!({"fields": {}})).problem(400, "invalid-request");
    let long = format!("/v1/indexes/books/documents/{}", "x".repeat(600));
    all.put(&long, &json!({"text": "a"}))
        .problem(400, "limit-exceeded");
    all.put("/v1/indexes/none/documents/a", &json!({"text": "a"}))
        .problem(404, "unknown-index");
    // Another process cannot change the index meanwhile, and this server cannot change that of another.
    assert_eq!(put(&mut all, json!({"text": "a"})).status, 200);
    let path = folder.path().join("data/books");
    assert!(tokapi::IndexWriter::open(&path, 1).is_err());
    assert_eq!(all.delete("/v1/indexes/books").status, 200);
    all.get("/v1/indexes/books").problem(404, "unknown-index");
    assert!(!path.exists());
    create(&mut all, "books");
    drop(all);
    end(server);
    let server = start(&folder, false);
    let mut none = client(&server);
    for answer in [
        none.put("/v1/indexes/other", &json!({})),
        none.put("/v1/indexes/books/documents/a", &json!({"text": "a"})),
        none.delete("/v1/indexes/books/documents/a"),
        none.delete("/v1/indexes/books"),
        none.post_text("/v1/indexes/books/merge", "application/json", b""),
        none.post_text("/v1/indexes/books/bulk", "application/x-ndjson", b"{}"),
    ] {
        assert!(answer.problem(403, "forbidden").contains("--write"));
    }
    drop(none);
    end(server);
}
