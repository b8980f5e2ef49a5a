//! Answers are kept, within bounds, and computed once.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};
use tokapi_serve::limits::Limits;
use tokapi_serve::search::{Deadline, plan};
use tokapi_serve::served::Snapshot;

use crate::fixture::Fixture;

const SEARCH: &str = "/v1/indexes/full/search";

#[test]
fn equal_searches_at_the_same_time_are_computed_once() {
    let fixture = Fixture::with(|options| options.threads = 1);
    let body = json!({ "query": "the of a and flow", "k": 1000, "explain": true, "text": true });
    let answers = std::thread::scope(|scope| {
        let ask = || {
            let mut answer = fixture.client().post(SEARCH, &body).json();
            answer["took_us"] = 0.into();
            answer
        };
        let asking: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
        let answers = asking.into_iter().map(|asking| asking.join().unwrap());
        answers.collect::<Vec<Value>>()
    });
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    let load = fixture.server().service().engine.load();
    assert_eq!((load.cache.misses, load.cache.hits, load.by_cpu), (1, 7, 1));
}

#[test]
fn a_cache_stays_within_its_bytes() {
    let fixture = Fixture::with(|options| options.cache_bytes = 300_000);
    let mut client = fixture.client();
    for number in 0..300 {
        let body = json!({ "query": "flow", "k1": f64::from(number) / 100.0 });
        assert_eq!(client.post(SEARCH, &body).status, 200);
    }
    let used = fixture.server().service().engine.load().cache;
    assert!(used.bytes <= 300_000 && used.answers > 10, "{used:?}");
    assert_eq!((used.hits, used.misses), (0, 300));
}

#[test]
fn different_searches_have_different_names() {
    let fixture = Fixture::new();
    let snapshots = [0, 1].map(|_| Arc::new(Snapshot::open("full", fixture.full.path()).unwrap()));
    let limits = Limits::default();
    let deadline = Deadline::after(&limits, Instant::now(), None).unwrap();
    let key = |snapshot: &Arc<Snapshot>, body: Value| {
        let request = serde_json::from_value(body).unwrap();
        let planned = plan(&limits, Arc::clone(snapshot), request, deadline);
        planned.unwrap().key()
    };
    let bodies = [
        json!({ "query": "boundary layer" }),
        json!({ "query": "layer boundary" }),
        json!({ "query": "boundary layer", "mode": "and" }),
        json!({ "query": "boundary layer", "mode": "phrase" }),
        json!({ "query": "boundary -layer" }),
        json!({ "query": "boundary -\"layer wing\"" }),
        json!({ "query": "boundary layer", "filters": ["kind:report"] }),
        json!({ "query": "boundary layer", "filters": ["-kind:report"] }),
        json!({ "query": "boundary layer", "filters": ["tags:report"] }),
        json!({ "query": "boundary layer", "k": 11 }),
        json!({ "query": "boundary layer", "k1": 1.3 }),
        json!({ "query": "boundary layer", "b": 0.5 }),
        json!({ "query": "boundary layer", "delta": 0.5 }),
        json!({ "query": "boundary layer", "avdl": 0.5 }),
        json!({ "query": "boundary layer", "formula": "atire" }),
        json!({ "query": "boundary layer", "after": "3f800000-1" }),
        json!({ "query": "boundary layer", "after": "3f800000-2" }),
        json!({ "query": "boundary layer", "snippets": false }),
        json!({ "query": "boundary layer", "snippet_characters": 100 }),
        json!({ "query": "boundary layer", "fields": [] }),
        json!({ "query": "boundary layer", "fields": ["year"] }),
        json!({ "query": "boundary layer", "text": true }),
        json!({ "query": "boundary layer", "explain": true }),
        json!({ "query": "boundary layer", "count": true }),
        json!({ "query": "boundary layer", "facets": ["year"] }),
        json!({ "query": "boundary layer", "facets": ["year", "kind"] }),
    ];
    let of_both = snapshots.iter().flat_map(|snapshot| {
        let keys = bodies.iter().map(|body| key(snapshot, body.clone()));
        keys.collect::<Vec<_>>()
    });
    let keys: std::collections::HashSet<Vec<u8>> = of_both.collect();
    assert_eq!(keys.len(), 2 * bodies.len());
    // The same terms, however they are written.
    let [one, _] = &snapshots;
    let alike = json!({ "query": " Boundaries,  LAYER", "timeout_ms": 7 });
    assert_eq!(key(one, alike), key(one, bodies[0].clone()));
}
