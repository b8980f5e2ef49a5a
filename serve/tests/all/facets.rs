//! Counts of values equal those of a slow count by the stored documents, whatever is added, replaced, deleted and merged.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use tokapi_serve::{Options, Server};

use crate::client::{Client, encoded};
use crate::random::Random;

/// Values that are told apart: escapes of lists, numbers, and one that is too long for a list.
fn values() -> Vec<Value> {
    let long = "x".repeat(1025);
    let texts = [
        "",
        " ",
        "a b",
        "a\\20;b",
        "\\",
        "\u{feff}\n",
        "ü",
        "true",
        "7",
        long.as_str(),
    ];
    let mut values: Vec<Value> = texts.iter().map(|text| json!(text)).collect();
    values.extend([json!(7), json!(7.5), json!(-1e300), json!(true)]);
    values.extend((0..300).map(|number| json!(format!("v{number}"))));
    values
}

/// The text under which a value is counted; none for one that is not.
fn text_of(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.as_f64().unwrap().to_string(),
        other => other.to_string(),
    };
    (text.len() <= 1024).then_some(text)
}

/// The documents of an index: their words, and the values of their fields.
type Documents = BTreeMap<String, (String, BTreeMap<&'static str, Vec<Value>>)>;

const FIELDS: [&str; 3] = ["one", "few", "many"];

fn document(random: &mut Random, values: &[Value]) -> (String, BTreeMap<&'static str, Vec<Value>>) {
    let words = (0..1 + random.below(3)).map(|_| format!("w{}", random.below(6)));
    let words = words.collect::<Vec<_>>().join(" ");
    let mut fields = BTreeMap::new();
    if random.below(4) > 0 {
        fields.insert("one", vec![values[random.below(12)].clone()]);
    }
    let some = |random: &mut Random, of: usize| -> Vec<Value> {
        let count = random.below(4);
        (0..count)
            .map(|_| values[random.below(of)].clone())
            .collect()
    };
    fields.insert("few", some(random, 5));
    fields.insert("many", some(random, values.len()));
    (words, fields)
}

/// The values of a field in the documents that have one of `words`, or in all, counted one by one.
fn counted(documents: &Documents, words: &[&str], field: &str) -> Vec<(String, u64)> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for (text, fields) in documents.values() {
        let matches = words.is_empty() || text.split(' ').any(|word| words.contains(&word));
        if matches && let Some(values) = fields.get(field) {
            let distinct: BTreeSet<String> = values.iter().filter_map(text_of).collect();
            distinct
                .into_iter()
                .for_each(|value| *counts.entry(value).or_default() += 1);
        }
    }
    let mut counts: Vec<(String, u64)> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    counts
}

fn pairs(values: &Value) -> Vec<(String, u64)> {
    let values = values.as_array().unwrap().iter();
    let pair = |value: &Value| {
        let text = value["value"].as_str().unwrap();
        (text.to_owned(), value["count"].as_u64().unwrap())
    };
    values.map(pair).collect()
}

fn check(client: &mut Client, documents: &Documents) {
    for words in [&[][..], &["w1"], &["w0", "w3", "w5"], &["none"]] {
        let body = json!({"query": words.join(" "), "facets": FIELDS, "count": true, "k": 1});
        if words.is_empty() {
            continue;
        }
        let answer = client.post("/v1/indexes/books/search", &body).json();
        let mut matches = documents.values();
        let count = matches
            .clone()
            .filter(|(text, _)| text.split(' ').any(|word| words.contains(&word)));
        assert_eq!(
            answer["count"],
            count.count(),
            "{words:?} of {}",
            matches.by_ref().count()
        );
        for field in FIELDS {
            let mut expected = counted(documents, words, field);
            expected.truncate(100);
            assert_eq!(
                pairs(&answer["facets"][field]),
                expected,
                "{field} of {words:?}"
            );
        }
    }
    for field in FIELDS {
        let url = format!("/v1/indexes/books/fields/{field}/values?limit=7");
        let answer = client.get(&url).json();
        let mut expected = counted(documents, &[], field);
        assert_eq!(answer["distinct"], expected.len(), "{field}");
        expected.truncate(7);
        assert_eq!(pairs(&answer["values"]), expected, "{field}");
        // A filter finds the documents of a value.
        for (value, count) in expected {
            let filter = encoded(&format!("{field}:{value}"));
            let url = format!("/v1/indexes/books/count?filter={filter}");
            // A number and its text are one value for filters and for counts.
            assert_eq!(client.get(&url).json()["count"], count, "{field}:{value}");
        }
    }
}

fn start(columns_bytes: u64) -> (tempfile::TempDir, Server, Client) {
    let folder = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    options.listen.set_port(0);
    (options.threads, options.drain_delay_ms) = (2, 0);
    (options.write, options.columns_bytes) = (true, columns_bytes);
    options.data = Some(folder.path().join("data"));
    let server = Server::start(&options).unwrap();
    let mut client = Client::new(server.address());
    let created = client.put("/v1/indexes/books", &json!({"fields": FIELDS}));
    assert_eq!(created.status, 200, "{}", created.text());
    (folder, server, client)
}

fn changed_at_random(columns_bytes: u64) {
    let (_folder, server, mut client) = start(columns_bytes);
    let (mut random, values) = (Random(41), values());
    let mut documents = Documents::new();
    for round in 0..25 {
        let mut lines = String::new();
        for _ in 0..[1, 5, 120][random.below(3)] {
            let id = format!("d{}", random.below(200));
            if documents.contains_key(&id) && random.below(3) == 0 {
                documents.remove(&id);
                lines += &format!("{}\n", json!({"delete": {"id": id}}));
                continue;
            }
            let (text, fields) = document(&mut random, &values);
            let put = json!({"put": {"id": id, "text": text, "fields": fields}});
            lines += &format!("{put}\n");
            documents.insert(id, (text, fields));
        }
        let bulk = "/v1/indexes/books/bulk";
        let answer = client.post_text(bulk, "application/x-ndjson", lines.as_bytes());
        assert!(!answer.text().contains("problem"), "{}", answer.text());
        if round % 8 == 7 {
            client.post_text("/v1/indexes/books/merge", "application/json", b"");
        }
        check(&mut client, &documents);
        let bytes = server.service().catalog.columns().bytes();
        assert!(bytes <= columns_bytes, "{bytes}");
    }
    drop(client);
    server.stopper().stop();
    server.wait().unwrap();
}

#[test]
fn counts_equal_a_slow_count() {
    changed_at_random(1 << 20);
}

#[test]
fn counts_are_the_same_without_room_for_columns() {
    changed_at_random(2000);
}

#[test]
fn a_change_costs_the_columns_of_its_part() {
    let (_folder, server, mut client) = start(1 << 24);
    let columns = |client: &mut Client| {
        let body = json!({"query": "all", "facets": ["one"]});
        let answer = client.post("/v1/indexes/books/search", &body);
        assert_eq!(answer.status, 200, "{}", answer.text());
        let snapshot = server.service().catalog.snapshot("books").unwrap();
        snapshot.columns("one").unwrap()
    };
    let put = |client: &mut Client, id: usize| {
        let body = json!({"text": "all", "fields": {"one": id % 5}});
        let answer = client.put(&format!("/v1/indexes/books/documents/d{id}"), &body);
        assert_eq!(answer.status, 200, "{}", answer.text());
    };
    put(&mut client, 0);
    let first = columns(&mut client);
    assert_eq!(first.len(), 1);
    put(&mut client, 1);
    let second = columns(&mut client);
    // The part that was there keeps its column, also when a document of it is deleted.
    assert!(second.len() == 2 && std::sync::Arc::ptr_eq(&first[0], &second[0]));
    put(&mut client, 2);
    put(&mut client, 3);
    assert_eq!(client.delete("/v1/indexes/books/documents/d1").status, 200);
    let third = columns(&mut client);
    assert!(std::sync::Arc::ptr_eq(&third[0], &first[0]));
    drop(client);
    server.stopper().stop();
    server.wait().unwrap();
}
