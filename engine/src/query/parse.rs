//! Queries as people write them.

use super::{Clause, Occur, Query};
use crate::analyze::Analyzer;

impl Query {
    /// Cuts what a person wrote into terms as `analyzer` does. A word behind `+` must occur, one
    /// behind `-` must not, others do as `usual` says. A word that is several terms stands for
    /// each of them.
    pub fn parse(text: &str, analyzer: &Analyzer, usual: Occur) -> Self {
        let mut clauses = Vec::new();
        for word in text.split_whitespace() {
            let (occur, word) = match word.split_at_checked(1) {
                Some(("+", rest)) => (Occur::Must, rest),
                Some(("-", rest)) => (Occur::Not, rest),
                _ => (usual, word),
            };
            clauses.extend(analyzer.terms(word).map(|term| Clause { term, occur }));
        }
        Query {
            clauses,
            filters: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_and_words() {
        let query = Query::parse(
            "Boundary +layer-flow -the - + a-b",
            &Analyzer::default(),
            Occur::Should,
        );
        let clause = |term: &str, occur| Clause {
            term: term.into(),
            occur,
        };
        let expected = [
            clause("boundary", Occur::Should),
            clause("layer", Occur::Must),
            clause("flow", Occur::Must),
            clause("the", Occur::Not),
            clause("a", Occur::Should),
            clause("b", Occur::Should),
        ];
        assert_eq!(query.clauses, expected);
    }
}
