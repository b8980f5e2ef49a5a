//! Answers through HTTP are those of the library, to the bit.

use serde_json::{Value, json};
use tokapi::{Query, SearchOptions};

use crate::client::encoded;
use crate::fixture::Fixture;
use crate::random::{Case, Random, case, number};

/// The text of the member `hits`: numbers have the digits that were sent.
#[track_caller]
fn check(answer: &Value, case: &Case, fixture: &Fixture) {
    let index = &fixture.full;
    let hits = index.search(&case.query, &case.options).unwrap();
    assert_eq!(answer["index"], "full");
    assert_eq!(answer["complete"], true);
    assert_eq!(answer["epoch"], index.epoch());
    assert!(answer["took_us"].is_u64());
    let expected: Value = case.hits(index, &hits).into();
    assert_eq!(answer["hits"], expected, "{:?}", case.json);
    for (hit, answer) in hits.iter().zip(answer["hits"].as_array().unwrap()) {
        let digits = answer["score"].to_string();
        assert_eq!(
            digits.parse::<f32>().unwrap().to_bits(),
            hit.score.to_bits()
        );
    }
    match case.json.get("count") {
        Some(_) => assert_eq!(answer["count"], index.count(&case.query).unwrap()),
        None => assert_eq!(answer.get("count"), None),
    }
    let more = case.options.clone().k(case.options.k + 1);
    let more = index.search(&case.query, &more).unwrap();
    assert_eq!(answer.get("next").is_some(), more.len() > hits.len());
}

#[test]
fn random_searches_give_the_hits_of_the_library() {
    let fixture = Fixture::new();
    std::thread::scope(|scope| {
        for seed in 1..5 {
            let fixture = &fixture;
            scope.spawn(move || {
                let (mut random, mut client) = (Random(seed * 77), fixture.client());
                for _ in 0..100 {
                    let case = case(&mut random, &fixture.full);
                    // The second answer is from the cache.
                    for _ in 0..2 {
                        let body = case.json.clone().into();
                        let answer = client.post("/v1/indexes/full/search", &body);
                        assert_eq!(answer.status, 200, "{}", answer.text());
                        check(&answer.json(), &case, fixture);
                    }
                }
            });
        }
    });
    let load = fixture.server().service().engine.load();
    assert!(load.cache.hits >= 400, "{load:?}");
    assert_eq!(load.waiting, 0);
}

#[test]
fn without_a_cache_answers_are_the_same() {
    let fixture = Fixture::with(|options| options.cache_bytes = 0);
    let (mut random, mut client) = (Random(5), fixture.client());
    for _ in 0..50 {
        let case = case(&mut random, &fixture.full);
        let answer = client.post("/v1/indexes/full/search", &case.json.clone().into());
        check(&answer.json(), &case, &fixture);
    }
    assert_eq!(fixture.server().service().engine.load().cache.hits, 0);
}

#[test]
fn a_batch_has_an_answer_or_a_problem_for_each_search() {
    let fixture = Fixture::new();
    let (mut random, mut client) = (Random(9), fixture.client());
    let cases: Vec<Case> = (0..40).map(|_| case(&mut random, &fixture.full)).collect();
    let mut searches: Vec<Value> = cases.iter().map(|case| case.json.clone().into()).collect();
    searches.insert(7, json!({ "query": "x", "fields": ["nofield"] }));
    let answer = client.post(
        "/v1/indexes/full/searches",
        &json!({ "searches": searches }),
    );
    let mut answers = answer.json()["answers"].as_array().unwrap().clone();
    let problem = answers.remove(7);
    assert_eq!(problem["type"], "urn:tokapi:problem:not-kept");
    assert_eq!(answers.len(), cases.len());
    for (case, answer) in cases.iter().zip(&answers) {
        check(answer, case, &fixture);
    }
}

#[test]
fn a_url_asks_as_a_body_does() {
    let fixture = Fixture::new();
    let mut client = fixture.client();
    let body = json!({
        "query": "\"boundary layer\" +flow", "mode": "and", "filters": ["kind:a thesis", "-year:1950"],
        "formula": "bm25plus", "k1": 0.9, "b": 0.4, "delta": 0.5, "avdl": 100.0, "k": 3, "snippet_characters": 50,
        "fields": ["year", "kind"], "explain": true, "count": true, "facets": ["year", "tags"], "text": true,
        "timeout_ms": 5000,
    });
    let url = format!(
        "/v1/indexes/full/search?q={}&mode=and&filter={}&filter=-year:1950&formula=bm25plus&k1=0.9&b=0.4&delta=0.5\
         &avdl=100&k=3&snippet_characters=50&field=year&field=kind&explain=true&count=true&facet=year&facet=tags\
         &text=true&timeout_ms=5000",
        encoded("\"boundary layer\" +flow"),
        encoded("kind:a thesis"),
    );
    let mut answers = [
        client.post("/v1/indexes/full/search", &body),
        client.get(&url),
    ]
    .map(|answer| {
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    });
    for answer in &mut answers {
        answer["took_us"] = 0.into();
    }
    assert_eq!(answers[0], answers[1]);
    let hit = &answers[0]["hits"][0];
    assert_eq!(hit["fields"].as_object().unwrap().len(), 2);
    let plain =
        client.get("/v1/indexes/full/search?q=a-b+-flow&operators=false&snippets=false&count=true");
    let query = Query::any(fixture.full.analyzer().terms("a-b -flow"));
    assert_eq!(plain.json()["count"], fixture.full.count(&query).unwrap());
}

#[test]
fn facets_count_the_values_of_all_matches() {
    let fixture = Fixture::new();
    let mut client = fixture.client();
    let body = json!({ "query": "flow", "k": 1, "facets": ["kind", "tags", "year"] });
    let answer = client.post("/v1/indexes/full/search", &body).json();
    let matches = fixture.full.documents(&Query::any(["flow"])).unwrap();
    let count = |of: &dyn Fn(usize) -> bool| {
        matches
            .iter()
            .filter(|&&document| of(document as usize))
            .count()
    };
    let mut kinds: Vec<(usize, &str)> = ["report", "article", "a thesis"]
        .into_iter()
        .enumerate()
        .map(|(place, kind)| (count(&|document| document % 3 == place), kind))
        .collect();
    kinds.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    let expected: Value = kinds
        .iter()
        .map(|(count, kind)| json!({ "value": kind, "count": count }))
        .collect();
    assert_eq!(answer["facets"]["kind"], expected);
    assert_eq!(answer["facets"]["tags"].as_array().unwrap().len(), 3);
    assert_eq!(answer["facets"]["year"].as_array().unwrap().len(), 25);
    // Each value is one that a filter takes.
    for facet in answer["facets"]["year"].as_array().unwrap() {
        let filter = format!("year:{}", facet["value"].as_str().unwrap());
        let body = json!({ "query": "flow", "filters": [filter] });
        let counted = client.post("/v1/indexes/full/count", &body).json();
        assert_eq!(counted["count"], facet["count"]);
    }
}

#[test]
fn an_index_without_texts_or_of_impacts_answers_too() {
    let fixture = Fixture::new();
    let mut client = fixture.client();
    let bare = client
        .get("/v1/indexes/bare/search?q=boundary+layer&explain=true")
        .json();
    let query = Query::any(["boundary", "layer"]);
    let hits = fixture
        .bare
        .search(&query, &SearchOptions::default())
        .unwrap();
    assert_eq!(bare["hits"].as_array().unwrap().len(), hits.len());
    assert_eq!(bare["hits"][0]["score"], number(hits[0].score));
    assert_eq!(bare["hits"][0].get("snippet"), None);
    assert_eq!(bare["hits"][0].get("fields"), None);
    assert!(bare["hits"][0]["terms"][0]["tf"].is_u64());
    let impacts = client
        .get("/v1/indexes/impacts/search?q=boundary&explain=true")
        .json();
    let term = &impacts["hits"][0]["terms"][0];
    assert!(term["impact"].is_u64() && term["scale"].is_f64() && term.get("tf").is_none());
    let refused = client.get("/v1/indexes/impacts/search?q=boundary&k1=2");
    let detail = refused.problem(400, "invalid-request");
    assert!(detail.contains("k1 0.9"), "{detail}");
}
