//! Answers by gRPC equal those by HTTP, to the bit.

use futures_util::{StreamExt, stream};
use serde_json::{Value as Json, json};
use tokapi_serve::grpc::proto::search_outcome::Outcome;
use tokapi_serve::grpc::proto::{self, SearchRequest};

use super::as_json::{answer, counts, fields, request, set, term, with_state, without_time};
use super::{Clients, check_problem};
use crate::fixture::Fixture;
use crate::random::{Random, case, number};

#[test]
fn random_searches_alone_together_and_in_a_stream() {
    let fixture = Fixture::new();
    let (mut random, mut http) = (Random(21), fixture.client());
    let mut clients = Clients::new(fixture.server().address());
    let cases: Vec<_> = (0..120).map(|_| case(&mut random, &fixture.full)).collect();
    let requests: Vec<SearchRequest> = cases.iter().map(|case| request(&case.json)).collect();
    let expected: Vec<Json> = cases
        .iter()
        .map(|case| {
            let body = case.json.clone().into();
            without_time(http.post("/v1/indexes/full/search", &body).json())
        })
        .collect();
    let load = fixture.server().service().engine.load();
    assert!(load.cache.misses > 100);
    let answers = clients.runtime.block_on(async {
        let mut answers = Vec::new();
        for request in &requests {
            // The second answer is from the cache, which has the forms apart.
            for _ in 0..2 {
                let response = clients.search.search(request.clone()).await;
                answers.push(answer(response.unwrap().into_inner()));
            }
        }
        answers
    });
    for (pair, expected) in answers.chunks(2).zip(&expected) {
        assert_eq!(&pair[0], expected);
        assert_eq!(&pair[1], expected);
    }
    let response = |outcome: proto::SearchOutcome| match outcome.outcome.unwrap() {
        Outcome::Response(response) => answer(response),
        Outcome::Problem(problem) => panic!("{problem:?}"),
    };
    let batch = proto::SearchBatchRequest {
        searches: requests.clone(),
    };
    let (batch, streamed) = clients.runtime.block_on(async {
        let batch = clients.search.search_batch(batch).await.unwrap();
        let stream = clients.search.search_stream(stream::iter(requests)).await;
        let outcomes = stream.unwrap().into_inner();
        let outcomes: Vec<_> = outcomes.map(|outcome| outcome.unwrap()).collect().await;
        (batch.into_inner().outcomes, outcomes)
    });
    let answers = |outcomes: Vec<proto::SearchOutcome>| {
        outcomes.into_iter().map(response).collect::<Vec<Json>>()
    };
    assert_eq!(answers(batch), expected);
    assert_eq!(answers(streamed), expected);
}

#[test]
fn pages_fields_facets_and_other_indexes() {
    let fixture = Fixture::new();
    let mut http = fixture.client();
    let mut clients = Clients::new(fixture.server().address());
    let mut ask = |request: SearchRequest| {
        let response = clients.runtime.block_on(clients.search.search(request));
        answer(response.unwrap().into_inner())
    };
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let first = ask(SearchRequest {
        index: "full".to_owned(),
        query: "boundary layer".to_owned(),
        k: Some(3),
        fields: Some(proto::FieldNames {
            names: names(&["year"]),
        }),
        facets: names(&["kind", "tags"]),
        ..SearchRequest::default()
    });
    let mut body = json!({
        "query": "boundary layer", "k": 3, "fields": ["year"], "facets": ["kind", "tags"],
    });
    let expected = http.post("/v1/indexes/full/search", &body).json();
    assert_eq!(first, without_time(expected));
    let second = ask(SearchRequest {
        index: "full".to_owned(),
        query: "boundary layer".to_owned(),
        k: Some(3),
        after: first["next"].as_str().map(str::to_owned),
        fields: Some(proto::FieldNames::default()),
        ..SearchRequest::default()
    });
    body = json!({ "query": "boundary layer", "k": 3, "after": first["next"], "fields": [] });
    let expected = http.post("/v1/indexes/full/search", &body).json();
    assert_eq!(second, without_time(expected));
    for index in ["bare", "impacts"] {
        let request = SearchRequest {
            index: index.to_owned(),
            query: "boundary layer".to_owned(),
            explain: true,
            ..SearchRequest::default()
        };
        let body = json!({ "query": "boundary layer", "explain": true });
        let expected = http.post(&format!("/v1/indexes/{index}/search"), &body);
        assert_eq!(ask(request), without_time(expected.json()));
    }
}

#[test]
fn a_batch_has_a_problem_in_the_place_of_an_answer() {
    let fixture = Fixture::new();
    let mut clients = Clients::new(fixture.server().address());
    let search = |index: &str, query: &str, facet: Option<&str>| SearchRequest {
        index: index.to_owned(),
        query: query.to_owned(),
        facets: facet.into_iter().map(str::to_owned).collect(),
        ..SearchRequest::default()
    };
    let searches = vec![
        search("full", "flow", None),
        search("full", "flow", Some("nofield")),
        search("bare", "flow", None),
    ];
    let outcomes = clients.runtime.block_on(async {
        let request = proto::SearchBatchRequest {
            searches: searches.clone(),
        };
        let batch = clients.search.search_batch(request).await.unwrap();
        let stream = clients.search.search_stream(stream::iter(searches)).await;
        let stream: Vec<_> = stream.unwrap().into_inner().collect().await;
        let stream = stream.into_iter().map(Result::unwrap);
        [batch.into_inner().outcomes, stream.collect()]
    });
    for outcomes in outcomes {
        let outcomes: [proto::SearchOutcome; 3] = outcomes.try_into().unwrap();
        let [
            Some(Outcome::Response(first)),
            Some(Outcome::Problem(problem)),
            Some(Outcome::Response(last)),
        ] = outcomes.map(|outcome| outcome.outcome)
        else {
            panic!("another order");
        };
        assert_eq!(first.state.unwrap().index, "full");
        check_problem(&problem, "not-kept");
        assert_eq!(last.state.unwrap().index, "bare");
    }
}

#[test]
fn counts_documents_vectors_terms_postings_values_and_statistics() {
    let fixture = Fixture::new();
    let mut http = fixture.client();
    let mut clients = Clients::new(fixture.server().address());
    let Clients {
        runtime,
        search,
        documents,
        indexes,
        ..
    } = &mut clients;
    let index = || "full".to_owned();
    let filter = proto::Filter {
        field: "kind".to_owned(),
        value: "report".to_owned(),
        not: true,
    };
    let request = proto::CountRequest {
        index: index(),
        query: "boundary flow".to_owned(),
        mode: proto::Mode::And.into(),
        filters: vec![filter],
        ..proto::CountRequest::default()
    };
    let counted = runtime
        .block_on(search.count(request))
        .unwrap()
        .into_inner();
    let url = "/v1/indexes/full/count?q=boundary+flow&mode=and&filter=-kind:report";
    let mut found = with_state(counted.state);
    found["count"] = counted.count.into();
    assert_eq!(found, without_time(http.get(url).json()));

    for id in ["1", "17", "1399"] {
        let request = proto::GetDocumentRequest {
            index: index(),
            id: id.to_owned(),
        };
        let document = runtime.block_on(documents.get_document(request));
        let document = document.unwrap().into_inner();
        let mut found = with_state(document.state);
        found["id"] = document.id.into();
        found["sequence"] = document.sequence.into();
        found["length"] = document.length.into();
        found["fields"] = fields(document.fields);
        set(&mut found, "text", document.text);
        assert_eq!(
            found,
            http.get(&format!("/v1/indexes/full/documents/{id}")).json()
        );
    }

    let weighting = Some(proto::Weighting {
        formula: proto::Formula::Bm25plus.into(),
        k1: Some(0.9),
        ..proto::Weighting::default()
    });
    let request = proto::GetVectorRequest {
        index: index(),
        id: "17".to_owned(),
        weighting,
    };
    let vector = runtime
        .block_on(documents.get_vector(request))
        .unwrap()
        .into_inner();
    let mut found = with_state(vector.state);
    found["id"] = vector.id.into();
    found["length"] = vector.length.into();
    found["formula"] = vector.formula.into();
    found["terms"] = vector.terms.into_iter().map(term).collect();
    let url = "/v1/indexes/full/documents/17/vector?formula=bm25plus&k1=0.9";
    assert_eq!(found, http.get(url).json());

    let mut after = None;
    for page in 0..3 {
        let request = proto::ListTermsRequest {
            index: index(),
            prefix: "su".to_owned(),
            after: after.clone(),
            limit: Some(20),
        };
        let terms = runtime
            .block_on(indexes.list_terms(request))
            .unwrap()
            .into_inner();
        let last = after.map_or(String::new(), |after| format!("&after={after}"));
        let mut found = with_state(terms.state);
        let listed = terms.terms.into_iter();
        found["terms"] = listed
            .map(|of| json!({ "term": of.term, "df": of.df }))
            .collect();
        set(&mut found, "next", terms.next.clone());
        let url = format!("/v1/indexes/full/terms?prefix=su&limit=20{last}");
        assert_eq!(found, http.get(&url).json(), "{page}");
        after = terms.next;
    }

    let request = proto::ListPostingsRequest {
        index: index(),
        term: "flow".to_owned(),
        after: Some(40),
        limit: Some(7),
        weighting,
    };
    let page = runtime
        .block_on(indexes.list_postings(request))
        .unwrap()
        .into_inner();
    let mut found = with_state(page.state);
    found["term"] = page.term.into();
    found["df"] = page.df.into();
    found["formula"] = page.formula.into();
    let postings = page.postings.into_iter();
    found["postings"] = postings
        .map(|of| json!({ "id": of.id, "tf": of.tf, "weight": number(of.weight) }))
        .collect();
    set(&mut found, "next", page.next);
    let url = "/v1/indexes/full/terms/flow/postings?after=40&limit=7&formula=bm25plus&k1=0.9";
    assert_eq!(found, http.get(url).json());

    let request = proto::ListValuesRequest {
        index: index(),
        field: "year".to_owned(),
        limit: Some(5),
    };
    let values = runtime
        .block_on(indexes.list_values(request))
        .unwrap()
        .into_inner();
    let mut found = with_state(values.state);
    found["field"] = values.field.into();
    found["distinct"] = values.distinct.into();
    found["values"] = counts(values.values);
    assert_eq!(
        found,
        http.get("/v1/indexes/full/fields/year/values?limit=5")
            .json()
    );

    let request = proto::GetStatisticsRequest { index: index() };
    let of = runtime
        .block_on(indexes.get_statistics(request))
        .unwrap()
        .into_inner();
    let mut found = with_state(of.state);
    for (name, value) in [
        ("documents", of.documents),
        ("total_length", of.total_length),
        ("deleted", of.deleted),
        ("postings", of.postings),
        ("terms", of.terms),
        ("parts", of.parts),
    ] {
        found[name] = value.into();
    }
    set(&mut found, "average_length", of.average_length);
    assert_eq!(found, http.get("/v1/indexes/full/statistics").json());
}

#[test]
fn the_server_and_its_indexes() {
    let fixture = Fixture::new();
    let mut http = fixture.client();
    let mut clients = Clients::new(fixture.server().address());
    let (runtime, indexes) = (&clients.runtime, &mut clients.indexes);
    let server = runtime.block_on(indexes.get_server(proto::GetServerRequest {}));
    let server = server.unwrap().into_inner();
    let expected = http.get("/v1").json();
    assert_eq!(expected["name"], server.name);
    assert_eq!(expected["version"], server.version);
    assert_eq!(expected["indexes"], json!(server.indexes));
    let list = runtime.block_on(indexes.list_indexes(proto::ListIndexesRequest {}));
    let list = list.unwrap().into_inner().indexes;
    let request = proto::GetIndexRequest {
        index: "full".to_owned(),
    };
    let full = runtime
        .block_on(indexes.get_index(request))
        .unwrap()
        .into_inner();
    assert_eq!(list[1], full);
    let found = list.into_iter().map(|index| {
        let mut object = with_state(index.state);
        for (name, value) in [
            ("documents", index.documents),
            ("deleted", index.deleted),
            ("parts", index.parts),
            ("bytes", index.bytes),
        ] {
            object[name] = value.into();
        }
        object["analyzer"] = index.analyzer.into();
        object["keeps_text"] = index.keeps_text.into();
        object["keeps_positions"] = index.keeps_positions.into();
        object["fields"] = index.fields.into();
        set(&mut object, "impacts", index.impacts);
        object
    });
    assert_eq!(
        found.collect::<Json>(),
        http.get("/v1/indexes").json()["indexes"]
    );
}
