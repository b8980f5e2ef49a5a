//! Bodies that have no exact answer: each is an error with the name of the member.

use super::*;

#[test]
fn queries_are_refused_by_name() {
    for (query, part) in [
        (
            r#"{"range": {"year": {"gte": 1}}}"#,
            "[range] at `query.range` is not supported; filter by exact values",
        ),
        (r#"{"wildcard": {"tag": "x*"}}"#, "[wildcard]"),
        (r#"{"nonsense": {}}"#, "unknown query [nonsense]"),
        (r#"{}"#, "the name of the query, and has 0"),
        (
            r#"{"match_all": {}, "match_none": {}}"#,
            "and has 2: match_all, match_none; combine queries with `bool`",
        ),
        (r#"[]"#, "and is a list"),
        (
            r#"{"match": {"content": "a", "tag": "b"}}"#,
            "[match] takes one field",
        ),
        (
            r#"{"match": {"content": {"query": "a", "foo": 1}}}"#,
            "[match] does not support [foo], at `query.match.content`",
        ),
        (
            r#"{"match": {"content": {}}}"#,
            "[match] needs the member `query`",
        ),
        (
            r#"{"match": {"content": ["a"]}}"#,
            "must be an object, and is a list",
        ),
        (
            r#"{"match": {"content": {"query": "a", "operator": "xor"}}}"#,
            "it must be `or` or `and`",
        ),
        (
            r#"{"match": {"content": {"query": "a b c", "minimum_should_match": 2}}}"#,
            "asks for 2 of 3 words",
        ),
        (
            r#"{"match": {"content": {"query": "a b c", "minimum_should_match": "2<75%"}}}"#,
            "minimum_should_match",
        ),
        (
            r#"{"match": {"content": {"query": "a", "boost": 1.5}}}"#,
            "the boost 1.5",
        ),
        (
            r#"{"match": {"content": {"query": "a", "boost": -1}}}"#,
            "at least 0",
        ),
        (
            r#"{"match": {"content": {"query": "a", "analyzer": "english"}}}"#,
            "`query.match.content.analyzer` is not supported",
        ),
        (
            r#"{"match": {"content": {"query": "a", "_name": "x"}}}"#,
            "named queries",
        ),
        (
            r#"{"match": {"embedding": "a"}}"#,
            "kept in `_source` and is not searched",
        ),
        (
            r#"{"match_phrase": {"content": {"query": "a b", "slop": 2}}}"#,
            "slop",
        ),
        (
            r#"{"multi_match": {"query": "a", "type": "bool_prefix"}}"#,
            "the type `bool_prefix`",
        ),
        (
            r#"{"multi_match": {"query": "a", "fields": ["content^3"]}}"#,
            "leave out ^3",
        ),
        (
            r#"{"multi_match": {"query": "a", "fields": ["content", "tag"]}}"#,
            "exact and other fields together",
        ),
        (
            r#"{"term": {"tag": {"value": "a", "case_insensitive": true}}}"#,
            "case_insensitive",
        ),
        (
            r#"{"term": {"tag": ["a"]}}"#,
            "must be an object, and is a list",
        ),
        (
            r#"{"terms": {"tag": {"index": "x"}}}"#,
            "terms lookup is not supported",
        ),
        (r#"{"terms": {"tag": [{}]}}"#, "`query.terms.tag[0]`"),
        (
            r#"{"ids": {"type": "x", "values": []}}"#,
            "[ids] does not support [type]",
        ),
        (
            r#"{"ids": {"values": [["a"]]}}"#,
            "`query.ids.values[0]` must be a string, and is a list",
        ),
        (r#"{"ids": {"values": [[]]}}"#, "and is a list"),
        (r#"{"exists": {"field": "tag"}}"#, "[exists]"),
        (r#"{"exists": {"field": "metadata"}}"#, "[exists]"),
        (
            r#"{"bool": {"must": [{"match": {"content": "a"}}], "adjust_pure_negative": true}}"#,
            "adjust_pure_negative",
        ),
        (
            r#"{"bool": {"must": [{"match": {"content": "a"}}, {"match_all": {}}]}}"#,
            "move it into `filter`",
        ),
        (
            r#"{"bool": {"must": {"match": {"content": "a"}}, "should": {"match_phrase": {"content": "b c"}}}}"#,
            "some matches only",
        ),
        (
            r#"{"bool": {"must": {"match": {"content": "a"}}, "should": {"term": {"tag": "x"}}}}"#,
            "some matches only",
        ),
        (
            r#"{"bool": {"should": [{"match": {"content": {"query": "a b", "operator": "and"}}}, {"match": {"content": "c"}}]}}"#,
            "some matches only",
        ),
        (
            r#"{"bool": {"should": [{"bool": {"must": {"match": {"content": "a"}}, "filter": {"term": {"tag": "x"}}}},
                {"match": {"content": "c"}}]}}"#,
            "some matches only",
        ),
        (
            r#"{"bool": {"should": [{"match": {"content": "a"}}, {"match": {"content": "b"}}, {"match": {"content": "c"}}],
                "minimum_should_match": 2}}"#,
            "asks for 2 of 3 queries",
        ),
        (
            r#"{"query_string": {"query": "content:a"}}"#,
            "`:` in the text",
        ),
        (r#"{"query_string": {"query": "a AND b"}}"#, "`AND`"),
        (r#"{"query_string": {"query": "wing*"}}"#, "`*`"),
        (
            r#"{"query_string": {"query": "\"a b"}}"#,
            "a quote is not closed",
        ),
        (
            r#"{"query_string": {"query": "a - b"}}"#,
            "has no word behind it",
        ),
        (
            r#"{"simple_query_string": {"query": "a -b"}}"#,
            "another meaning",
        ),
        (r#"{"simple_query_string": {"query": "a|b"}}"#, "`|`"),
    ] {
        match planned(query, &one_text(), true) {
            Ok((plan, _)) => panic!("{query}: {}", show(&plan)),
            Err(refusal) => {
                assert_eq!(refusal.status, 400, "{query}");
                assert!(refusal.reason.contains(part), "{query}\n{}", refusal.reason);
            }
        }
    }
}

#[test]
fn one_of_several_texts_is_refused_with_the_way_out() {
    let all = r#"{"multi_match": {"query": ..., "fields": ["body", "title"]}}"#;
    for query in [
        r#"{"match": {"title": "a"}}"#,
        r#"{"match_phrase": {"title": "a b"}}"#,
        r#"{"term": {"title": "a"}}"#,
        r#"{"multi_match": {"query": "a", "fields": ["title"]}}"#,
    ] {
        let refusal = planned(query, &two_texts(), true).unwrap_err();
        assert!(refusal.reason.contains("`title`"), "{query}");
        assert!(refusal.reason.contains(all), "{query}");
    }
    let all = r#"{"multi_match": {"query": "a b", "operator": "and"}}"#;
    let refusal = planned(all, &two_texts(), true).unwrap_err();
    assert!(refusal.reason.contains("use the type cross_fields"));
}

#[test]
fn members_of_the_body_are_refused_by_name() {
    for (body, part) in [
        (r#"{"aggs": {}}"#, "[aggs]"),
        (r#"{"knn": {}}"#, "[knn]"),
        (r#"{"nonsense": 1}"#, "[search] does not support [nonsense]"),
        (r#"{"size": -1}"#, "`size`"),
        (r#"{"size": 10001}"#, "from + size is 10001"),
        (r#"{"from": 9999, "size": 2}"#, "from + size is 10001"),
        (r#"{"sort": ["year"]}"#, "`year`"),
        (r#"{"sort": [{"_score": "asc"}]}"#, "`_score` asc"),
        (r#"{"sort": ["_doc", "_score"]}"#, "`sort` must be"),
        (
            r#"{"search_after": [1.5]}"#,
            "`search_after` has 1 values and `sort` has 0",
        ),
        (
            r#"{"search_after": ["x"], "sort": "_score"}"#,
            "`search_after`",
        ),
        (
            r#"{"search_after": [1], "sort": "_score", "from": 1}"#,
            "`from` must be 0",
        ),
        (r#"{"version": true}"#, "`version`"),
        (r#"{"highlight": {}}"#, "needs the member `fields`"),
        (
            r#"{"highlight": {"fields": {"a": {"number_of_fragments": 0}}}}"#,
            "number_of_fragments",
        ),
        (
            r#"{"highlight": {"fields": {"a": {"type": "fvh"}}}}"#,
            "type",
        ),
        (r#"{"timeout": "soon"}"#, "`timeout`"),
        (r#"{"track_total_hits": "x"}"#, "`track_total_hits`"),
        (r#"{"_source": {"include": 1}}"#, "`_source.include`"),
        (
            r#"{"query": {"match_all": {}}, "query": {}}"#,
            "given twice",
        ),
        (r#"[]"#, "the body must be an object"),
        (r#"{"query": "#, "the body is not valid JSON"),
    ] {
        let parsed = Tree::parse(body.as_bytes()).and_then(|tree| SearchBody::parse(&tree, &[]));
        let refusal = parsed.expect_err(body);
        assert!(refusal.reason.contains(part), "{body}\n{}", refusal.reason);
    }
    for (name, value, part) in [
        ("scroll", "5m", "`scroll`"),
        ("nonsense", "1", "`nonsense`"),
        ("size", "x", "`size`"),
        ("search_type", "scan", "`search_type`"),
    ] {
        let params = [(name.to_owned(), value.to_owned())];
        let refusal = SearchBody::parse(&Tree::Object(Vec::new()), &params).unwrap_err();
        assert!(refusal.reason.contains(part), "{name}");
    }
}

#[test]
fn depth_and_numbers_have_limits() {
    let deep = |levels: usize| {
        let open = r#"{"bool": {"must": "#.repeat(levels);
        format!("{open}{{\"match_all\": {{}}}}{}", "}}".repeat(levels))
    };
    assert!(planned(&deep(29), &one_text(), true).is_ok());
    let refusal = planned(&deep(30), &one_text(), true).unwrap_err();
    assert!(
        refusal.reason.contains("more than 30 levels deep"),
        "{}",
        refusal.reason
    );
    assert!(planned(&deep(10_000), &one_text(), true).is_err());
    let many = vec![r#"{"match": {"content": "a"}}"#; 1024].join(",");
    let refusal = planned(
        &format!("{{\"bool\": {{\"must\": [{many}]}}}}"),
        &one_text(),
        true,
    );
    assert!(
        refusal
            .unwrap_err()
            .reason
            .contains("more than 1024 queries")
    );
    let long = "a".repeat((1 << 16) + 1);
    let refusal = planned(
        &format!("{{\"match\": {{\"content\": \"{long}\"}}}}"),
        &one_text(),
        true,
    );
    assert!(refusal.unwrap_err().reason.contains("at most 65536"));
}
