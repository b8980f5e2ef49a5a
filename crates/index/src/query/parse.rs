//! The parser of query text.

use super::{Clause, Occur, Query};
use tokapi_text::analyze::Analyzer;

impl Query {
    /// Parses query text into terms, cut by `analyzer`. A word after `+` is required, a word after
    /// `-` is excluded, and other words have the role `usual`. A word that the analyzer cuts into
    /// several terms stands for each of them. Words in double quotes are a phrase: required, or
    /// excluded after `-`.
    pub fn parse(text: &str, analyzer: &Analyzer, usual: Occur) -> Self {
        let mut query = Query::default();
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            let (occur, from) = match rest.split_at_checked(1) {
                Some(("+", after)) => (Occur::Must, after),
                Some(("-", after)) => (Occur::Not, after),
                _ => (usual, rest),
            };
            if let Some(quoted) = from.strip_prefix('"') {
                // An unclosed quote extends to the end.
                let (phrase, after) = quoted.split_once('"').unwrap_or((quoted, ""));
                let terms = analyzer.terms(phrase).collect();
                query.add_phrase(terms, occur == Occur::Not);
                rest = after;
            } else {
                let end = from.find(char::is_whitespace).unwrap_or(from.len());
                let (word, after) = from.split_at(end);
                let clauses = analyzer.terms(word).map(|term| Clause { term, occur });
                query.clauses.extend(clauses);
                rest = after;
            }
            rest = rest.trim_start();
        }
        query
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::Phrase;

    #[test]
    fn signs_and_words() {
        let query = Query::parse(
            "Boundary +layer-flow -the - + a-b",
            &Analyzer::default(),
            Occur::Should,
        );
        let expected = [
            Clause::new("boundary", Occur::Should),
            Clause::new("layer", Occur::Must),
            Clause::new("flow", Occur::Must),
            Clause::new("the", Occur::Not),
            Clause::new("a", Occur::Should),
            Clause::new("b", Occur::Should),
        ];
        assert_eq!(query.clauses, expected);
        assert_eq!(query.phrases, []);
    }

    #[test]
    fn quotes() {
        let text = r#"flow "Boundary layer" -"a b" -"c" """#;
        let query = Query::parse(text, &Analyzer::default(), Occur::Should);
        let expected = [
            Clause::new("flow", Occur::Should),
            Clause::new("boundary", Occur::Must),
            Clause::new("layer", Occur::Must),
            Clause::new("c", Occur::Not),
        ];
        assert_eq!(query.clauses, expected);
        let phrase = |terms: [&str; 2], not| Phrase::new(terms).not(not);
        let expected = [
            phrase(["boundary", "layer"], false),
            phrase(["a", "b"], true),
        ];
        assert_eq!(query.phrases, expected);
        let open = Query::parse("-\"a b", &Analyzer::default(), Occur::Should);
        assert_eq!(open.phrases, [phrase(["a", "b"], true)]);
    }
}
