//! Queries that are answered.

use super::*;

#[track_caller]
fn is(query: &str, expected: &str) {
    let (plan, _) = planned(query, &one_text(), true).unwrap_or_else(|e| panic!("{query}: {e:?}"));
    assert_eq!(show(&plan), expected, "{query}");
}

#[track_caller]
fn is_of_two(query: &str, expected: &str) {
    let (plan, _) = planned(query, &two_texts(), true).unwrap_or_else(|e| panic!("{query}: {e:?}"));
    assert_eq!(show(&plan), expected, "{query}");
}

#[track_caller]
fn is_unscored(query: &str, expected: &str) {
    let (plan, _) = planned(query, &one_text(), false).unwrap_or_else(|e| panic!("{query}: {e:?}"));
    assert_eq!(show(&plan), expected, "{query}");
}

#[test]
fn words() {
    is(r#"{"match": {"content": "Wing flow"}}"#, "wing flow");
    is(
        r#"{"match": {"content": "wing wing flow"}}"#,
        "wing wing flow",
    );
    is(r#"{"match": {"content": 42}}"#, "+42");
    is(r#"{"match": {"content": "..."}}"#, "nothing");
    is(
        r#"{"match": {"content": {"query": "...", "zero_terms_query": "all"}}}"#,
        "everything =1",
    );
    is(
        r#"{"match": {"content": {"query": "Wing flow", "operator": "AND"}}}"#,
        "+wing +flow",
    );
    is(
        r#"{"match": {"content": {"query": "wing", "boost": 2}}}"#,
        "+wing +wing",
    );
    is(
        r#"{"match": {"content": {"query": "wing flow", "minimum_should_match": "100%"}}}"#,
        "+wing +flow",
    );
    is(
        r#"{"match": {"content": {"query": "wing flow", "minimum_should_match": 3}}}"#,
        "nothing",
    );
    is(
        r#"{"match_phrase": {"content": "boundary layer"}}"#,
        "+boundary +layer \"boundary layer\"",
    );
    is(
        r#"{"match_phrase": {"content": {"query": "wing", "slop": 0}}}"#,
        "+wing",
    );
    is(r#"{"multi_match": {"query": "wing flow"}}"#, "wing flow");
    is(
        r#"{"multi_match": {"query": "wing flow", "fields": ["con*"]}}"#,
        "wing flow",
    );
    is(
        r#"{"multi_match": {"query": "wing", "fields": "missing"}}"#,
        "nothing",
    );
    is(r#"{"match": {"missing": "wing"}}"#, "nothing");
    is(r#"{"term": {"content": "Wing"}}"#, "+Wing");
}

#[test]
fn texts_of_several_fields() {
    is_of_two(
        r#"{"multi_match": {"query": "wing flow", "fields": ["title", "body"], "tie_breaker": 0.5}}"#,
        "wing flow",
    );
    is_of_two(
        r#"{"multi_match": {"query": "wing flow", "type": "cross_fields", "operator": "and"}}"#,
        "+wing +flow",
    );
    is_of_two(
        r#"{"multi_match": {"query": "wing flow", "type": "phrase", "fields": ["title", "b*"]}}"#,
        "+wing +flow \"wing flow\"",
    );
    is_of_two(
        r#"{"term": {"title.keyword": "A Wing"}}"#,
        "title:A Wing =1",
    );
}

#[test]
fn exact_values() {
    is(r#"{"term": {"tag": "x"}}"#, "tag:x =1");
    is(r#"{"term": {"tag.keyword": {"value": "x"}}}"#, "tag:x =1");
    is(r#"{"term": {"name.raw": "x"}}"#, "name:x =1");
    is(r#"{"term": {"year": 1959}}"#, "year:1959 =1");
    is(r#"{"terms": {"tag": ["x"], "boost": 2.5}}"#, "tag:x =2.5");
    is(
        r#"{"terms": {"tag": ["x", "y"]}}"#,
        "({tag:x} | {tag:y}) by [] =1",
    );
    is(r#"{"terms": {"tag": []}}"#, "nothing =1");
    is(r#"{"ids": {"values": ["a", 2]}}"#, "ids a,2 by [] =1");
    is(r#"{"term": {"_id": "a"}}"#, "ids a by [] =1");
    is(r#"{"match": {"tag": "X y"}}"#, "tag:X y =1");
    is(r#"{"exists": {"field": "_id"}}"#, "everything =1");
    is(r#"{"match_all": {}}"#, "everything =1");
    is(r#"{"match_all": {"boost": 1.5}}"#, "everything =1.5");
    is(r#"{"match_none": {}}"#, "nothing");
    is(
        r#"{"constant_score": {"filter": {"term": {"tag": "x"}}, "boost": 3}}"#,
        "tag:x =3",
    );
    is(
        r#"{"constant_score": {"filter": {"match": {"content": "wing flow"}}}}"#,
        "{wing flow} by [] =1",
    );
}

#[test]
fn flat_combinations() {
    is(r#"{"bool": {}}"#, "everything =1");
    is(
        r#"{"bool": {"must": {"match": {"content": "wing flow"}}, "filter": {"term": {"tag": "x"}}}}"#,
        "wing flow tag:x",
    );
    is(
        r#"{"bool": {"must": [{"match": {"content": "wing"}}], "should": [{"match": {"content": "flow heat"}}]}}"#,
        "+wing flow heat",
    );
    is(
        r#"{"bool": {"should": [{"match": {"content": "wing"}}, {"match": {"content": "flow heat"}}]}}"#,
        "wing flow heat",
    );
    is(
        r#"{"bool": {"should": [{"match": {"content": "wing"}}, {"term": {"content": "flow"}}],
            "minimum_should_match": 1, "filter": {"term": {"tag": "x"}}}}"#,
        "wing flow tag:x",
    );
    is(
        r#"{"bool": {"should": [{"match": {"content": "wing"}}, {"match": {"content": "flow"}}], "minimum_should_match": 2}}"#,
        "+wing +flow",
    );
    is(
        r#"{"bool": {"must": [{"match": {"content": "wing"}}], "must_not": [{"match": {"content": "a b"}},
            {"match_phrase": {"content": "c d"}}, {"terms": {"tag": ["x", "y"]}}]}}"#,
        "+wing -a -b -\"c d\" -tag:x -tag:y",
    );
    is(
        r#"{"bool": {"filter": [{"term": {"tag": "x"}}, {"term": {"year": 1}}]}}"#,
        "tag:x year:1",
    );
    is(
        r#"{"bool": {"filter": {"bool": {"must": {"term": {"tag": "x"}}}}}}"#,
        "tag:x",
    );
    is(
        r#"{"bool": {"must_not": [{"bool": {"must_not": [{"term": {"tag": "x"}}]}}]}}"#,
        "tag:x",
    );
    is(
        r#"{"bool": {"must": {"match": {"content": "wing"}}, "filter": {"match": {"content": "wing"}}}}"#,
        "+wing",
    );
    is(
        r#"{"bool": {"must": {"match": {"content": "wing"}}, "must_not": {"match_all": {}}}}"#,
        "nothing",
    );
    is(
        r#"{"bool": {"must": {"match": {"content": "wing"}}, "minimum_should_match": 1}}"#,
        "nothing",
    );
}

#[test]
fn combinations_by_sets() {
    is(
        r#"{"bool": {"must": [{"match": {"content": "a b"}}, {"match": {"content": "c d"}}]}}"#,
        "({a b} & {c d}) by [a b c d]",
    );
    is(
        r#"{"bool": {"must": {"match": {"content": "a"}}, "filter": {"match": {"content": "b"}}}}"#,
        "{+a +b} by [a]",
    );
    is(
        r#"{"bool": {"must_not": {"match": {"content": "a b"}}}}"#,
        "(!{+a} & !{+b}) by []",
    );
    is(
        r#"{"bool": {"filter": {"term": {"tag": "x"}}, "should": {"match": {"content": "a b"}}}}"#,
        "{tag:x} by [a b]",
    );
    is(
        r#"{"bool": {"must": {"match": {"content": "a"}}, "filter": {"terms": {"tag": ["x", "y"]}}}}"#,
        "({+a} & ({tag:x} | {tag:y})) by [a]",
    );
    is(
        r#"{"bool": {"must": {"match": {"content": "a"}}, "filter": {"ids": {"values": ["1"]}}}}"#,
        "({+a} & ids 1) by [a]",
    );
    is(
        r#"{"bool": {"must": {"match": {"content": {"query": "a", "boost": 2}}},
            "must_not": {"bool": {"must": [{"term": {"tag": "x"}}, {"term": {"year": 1}}]}}}}"#,
        "({+a} & ({-tag:x} | {-year:1})) by [a a]",
    );
}

#[test]
fn without_scores_more_is_flat() {
    is_unscored(
        r#"{"bool": {"filter": {"match": {"content": "a b"}}}}"#,
        "a b",
    );
    is_unscored(
        r#"{"bool": {"must": [{"match_all": {}}, {"match_phrase": {"content": "a b"}}], "should": {"match": {"content": "c"}}}}"#,
        "+a +b \"a b\"",
    );
    is_unscored(
        r#"{"bool": {"should": [{"match_phrase": {"content": "a b"}}, {"term": {"tag": "x"}}]}}"#,
        "({+a +b \"a b\"} | {tag:x}) by []",
    );
}

#[test]
fn query_strings() {
    is(r#"{"query_string": {"query": "wing flow"}}"#, "wing flow");
    is(
        r#"{"query_string": {"query": "wing flow", "default_operator": "AND", "default_field": "content"}}"#,
        "+wing +flow",
    );
    is(
        r#"{"query_string": {"query": "+wing flow -heat -\"a b\""}}"#,
        "+wing flow -heat -\"a b\"",
    );
    is(
        r#"{"query_string": {"query": "\"boundary layer\""}}"#,
        "+boundary +layer \"boundary layer\"",
    );
    is(
        r#"{"simple_query_string": {"query": "wing -heat", "default_operator": "and", "fields": ["content"]}}"#,
        "+wing -heat",
    );
    is(
        r#"{"simple_query_string": {"query": "wing flow"}}"#,
        "wing flow",
    );
}

#[test]
fn differences_are_told() {
    let warnings = |query, mapping: &Mapping| planned(query, mapping, true).unwrap().1;
    let fuzzy = r#"{"multi_match": {"query": "a", "fuzziness": "AUTO", "type": "most_fields", "operator": "OR"}}"#;
    let told = warnings(fuzzy, &two_texts());
    assert!(
        told.iter()
            .any(|warning| warning.contains("without fuzziness")),
        "{told:?}"
    );
    assert!(
        told.iter().any(|warning| warning.contains("joined text")),
        "{told:?}"
    );
    assert!(
        told.iter()
            .any(|warning| warning.contains("`tag` are not searched")),
        "{told:?}"
    );
    assert_eq!(
        warnings(
            r#"{"match": {"content": {"query": "a", "fuzziness": 0}}}"#,
            &one_text()
        ),
        [""; 0]
    );
    let missing = warnings(r#"{"term": {"nofield": "a"}}"#, &one_text());
    assert!(
        missing[0].contains("no document has the field `nofield`"),
        "{missing:?}"
    );
}
