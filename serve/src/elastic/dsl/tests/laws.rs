//! Laws for any body: no panic, and the plan of a boolean query has the matches that its definition gives.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// A document: its words, and its tags.
type Words = BTreeSet<&'static str>;

const WORDS: [&str; 3] = ["a", "b", "c"];
const TAGS: [&str; 2] = ["x", "y"];

/// All documents over the words and tags.
fn documents() -> Vec<(Words, Words)> {
    let subsets = |of: &[&'static str]| -> Vec<Words> {
        let bits = 0..1usize << of.len();
        let chosen = |bits: usize| move |(at, _): &(usize, &&str)| bits >> at & 1 == 1;
        bits.map(|bits| {
            of.iter()
                .enumerate()
                .filter(chosen(bits))
                .map(|(_, w)| *w)
                .collect()
        })
        .collect()
    };
    let tags = subsets(&TAGS);
    let words = subsets(&WORDS).into_iter();
    words
        .flat_map(|words| tags.iter().map(move |tags| (words.clone(), tags.clone())))
        .collect()
}

/// A query of the test, with its definition.
#[derive(Debug, Clone)]
enum Q {
    Match(Vec<&'static str>, bool),
    Tags(Vec<&'static str>),
    All,
    Bool([Vec<Q>; 4], Option<usize>),
}

impl Q {
    fn json(&self) -> serde_json::Value {
        use serde_json::json;
        match self {
            Q::Match(words, all) => {
                let operator = if *all { "and" } else { "or" };
                json!({"match": {"content": {"query": words.join(" "), "operator": operator}}})
            }
            Q::Tags(tags) => json!({"terms": {"tag": tags}}),
            Q::All => json!({"match_all": {}}),
            Q::Bool(parts, minimum) => {
                let list = |part: &Vec<Q>| part.iter().map(Q::json).collect::<Vec<_>>();
                let mut bool = json!({
                    "must": list(&parts[0]), "should": list(&parts[1]),
                    "filter": list(&parts[2]), "must_not": list(&parts[3]),
                });
                if let Some(minimum) = minimum {
                    bool["minimum_should_match"] = (*minimum).into();
                }
                json!({"bool": bool})
            }
        }
    }

    /// Whether a document matches, as Elasticsearch defines it.
    fn matches(&self, document: &(Words, Words)) -> bool {
        match self {
            Q::Match(words, true) => {
                !words.is_empty() && words.iter().all(|w| document.0.contains(w))
            }
            Q::Match(words, false) => words.iter().any(|w| document.0.contains(w)),
            Q::Tags(tags) => tags.iter().any(|tag| document.1.contains(tag)),
            Q::All => true,
            Q::Bool(parts, _) if parts.iter().all(Vec::is_empty) => true,
            Q::Bool([must, should, filter, not], minimum) => {
                let requires = !must.is_empty() || !filter.is_empty();
                let least = match (minimum, requires, should.is_empty()) {
                    (Some(0), false, false) => 1,
                    (Some(least), ..) => *least,
                    (None, false, false) => 1,
                    (None, ..) => 0,
                };
                let found = should.iter().filter(|q| q.matches(document)).count();
                must.iter().chain(filter).all(|q| q.matches(document))
                    && found >= least
                    && !not.iter().any(|q| q.matches(document))
            }
        }
    }
}

fn queries() -> impl Strategy<Value = Q> {
    let words = prop::collection::vec(prop::sample::select(&WORDS[..]), 0..3);
    let tags = prop::collection::vec(prop::sample::select(&TAGS[..]), 0..3);
    let leaf = prop_oneof![
        4 => (words, any::<bool>()).prop_map(|(words, all)| Q::Match(words, all)),
        2 => tags.prop_map(Q::Tags),
        1 => Just(Q::All),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        let list = || prop::collection::vec(inner.clone(), 0..3);
        let parts = (list(), list(), list(), list());
        (parts, prop::option::of(0..3usize))
            .prop_map(|((a, b, c, d), minimum)| Q::Bool([a, b, c, d], minimum))
    })
}

/// Whether a document matches a flat query, as the engine defines it.
fn in_query(query: &Query, (words, tags): &(Words, Words)) -> bool {
    let of = |occur| {
        query
            .clauses
            .iter()
            .filter(move |clause| clause.occur == occur)
    };
    let has = |clause: &tokapi::Clause| words.contains(&*clause.term);
    let alone = !query.filters.is_empty() && query.clauses.iter().all(|c| c.occur == Occur::Not);
    let terms = match of(Occur::Must).next() {
        Some(_) => of(Occur::Must).all(has),
        None => alone || of(Occur::Should).any(has),
    };
    let filters = query
        .filters
        .iter()
        .all(|f| tags.contains(&*f.value) != f.not);
    terms && filters && !of(Occur::Not).any(has)
}

fn in_select(select: &Select, document: &(Words, Words)) -> bool {
    match select {
        Select::All => true,
        Select::Nothing | Select::Ids(_) => false,
        Select::Query(query) => in_query(query, document),
        Select::And(sets) => sets.iter().all(|set| in_select(set, document)),
        Select::Or(sets) => sets.iter().any(|set| in_select(set, document)),
        Select::Not(set) => !in_select(set, document),
    }
}

fn in_plan(plan: &Plan, document: &(Words, Words)) -> bool {
    match &plan.matching {
        Matching::Nothing => false,
        Matching::Everything => true,
        Matching::Flat(query) => in_query(query, document),
        Matching::Set(select, _) => in_select(select, document),
    }
}

/// The times that each word counts in the score of a document, by the plan.
fn counted(plan: &Plan, document: &(Words, Words)) -> Vec<usize> {
    let query = match &plan.matching {
        Matching::Flat(query) | Matching::Set(_, query) => query,
        _ => return vec![0; WORDS.len()],
    };
    let times = |word: &&str| {
        let scored = query
            .clauses
            .iter()
            .filter(|clause| clause.occur != Occur::Not);
        scored
            .filter(|c| c.term == *word && document.0.contains(*word))
            .count()
    };
    WORDS.iter().map(times).collect()
}

/// The times that each word counts in the score of a document that matches, by the definition.
fn defined(q: &Q, document: &(Words, Words)) -> Vec<usize> {
    let mut sums = vec![0; WORDS.len()];
    match q {
        _ if !q.matches(document) => {}
        Q::Match(words, _) => {
            for (sum, word) in sums.iter_mut().zip(WORDS) {
                *sum += words
                    .iter()
                    .filter(|w| **w == word && document.0.contains(word))
                    .count();
            }
        }
        Q::Tags(_) | Q::All => {}
        Q::Bool([must, should, ..], _) => {
            for inner in must.iter().chain(should) {
                for (sum, more) in sums.iter_mut().zip(defined(inner, document)) {
                    *sum += more;
                }
            }
        }
    }
    sums
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(tree) = Tree::parse(&bytes) {
            let _ = SearchBody::parse(&tree, &[]);
        }
    }

    #[test]
    fn any_text_of_a_query_string(text in "[-+ab\" *|]{0,12}") {
        let query = serde_json::json!({"query_string": {"query": text}});
        let _ = planned(&query.to_string(), &one_text(), true);
    }

    #[test]
    fn matches_without_scores_are_those_of_the_definition(q in queries()) {
        match planned(&q.json().to_string(), &one_text(), false) {
            Ok((plan, _)) => {
                for document in documents() {
                    prop_assert_eq!(in_plan(&plan, &document), q.matches(&document), "{}", show(&plan));
                }
            }
            Err(refusal) => prop_assert!(refusal.reason.contains("minimum_should_match"), "{}", refusal.reason),
        }
    }

    #[test]
    fn matches_and_scores_are_those_of_the_definition(q in queries()) {
        if let Ok((plan, _)) = planned(&q.json().to_string(), &one_text(), true) {
            for document in documents() {
                let expected = q.matches(&document);
                prop_assert_eq!(in_plan(&plan, &document), expected, "{}", show(&plan));
                if expected {
                    prop_assert_eq!(counted(&plan, &document), defined(&q, &document), "{}", show(&plan));
                }
            }
        }
    }
}
