//! The intermediate form of a query: its shape is checked, its fields and texts are not looked up.

use crate::elastic::reader::Place;

/// A query of the language.
#[derive(Debug, Clone)]
pub struct Node {
    /// Its place in the body.
    pub place: Place,
    /// Its kind.
    pub kind: Kind,
    /// The factor of its scores.
    pub boost: f64,
}

/// The kinds of queries.
#[derive(Debug, Clone)]
pub enum Kind {
    /// `match_all`.
    All,
    /// `match_none`.
    Nothing,
    /// `match` and `multi_match`.
    Words(Words),
    /// `match_phrase`, and `multi_match` of the type `phrase`.
    Phrase {
        /// The fields.
        fields: Fields,
        /// The text.
        text: String,
    },
    /// `term` and `terms`: a document has any of the values.
    Values {
        /// The field.
        field: String,
        /// The values, as text.
        values: Vec<String>,
        /// Whether scores are constant, as those of `terms`.
        constant: bool,
    },
    /// `ids`.
    Ids(Vec<String>),
    /// `exists`.
    Exists(String),
    /// `bool`.
    Bool(Bool),
    /// `constant_score`.
    Constant(Box<Node>),
}

/// The words of a text in fields.
#[derive(Debug, Clone)]
pub struct Words {
    /// The fields.
    pub fields: Fields,
    /// The text.
    pub text: String,
    /// Whether documents must have all words.
    pub all: bool,
    /// The least number of words that a document has.
    pub minimum: Option<Minimum>,
    /// Whether a text without words matches all documents, not none.
    pub empty_is_all: bool,
    /// Whether one of the fields must have the words; otherwise they may be in several.
    pub in_one_field: bool,
}

/// The fields that a query names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fields {
    /// One field.
    One(String),
    /// Several fields, with or without `*`.
    Several(Vec<String>),
    /// No field is named: all of them.
    Default,
}

/// A boolean combination.
#[derive(Debug, Clone, Default)]
pub struct Bool {
    /// Documents match all of them, and they add to scores.
    pub must: Vec<Node>,
    /// They add to scores.
    pub should: Vec<Node>,
    /// Documents match all of them.
    pub filter: Vec<Node>,
    /// Documents match none of them.
    pub not: Vec<Node>,
    /// The least number of `should` that a document matches, if it is given.
    pub minimum: Option<Minimum>,
}

/// A number of clauses, or a share of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Minimum {
    /// A number; below zero, the number that may be missing.
    Count(i64),
    /// A share in percent; below zero, the share that may be missing.
    Percent(i64),
}

impl Minimum {
    /// Parses `2`, `-1`, `75%` or `-25%`.
    pub fn parse(text: &str) -> Option<Minimum> {
        let text = text.trim();
        match text.strip_suffix('%') {
            Some(share) => share.parse().ok().map(Minimum::Percent),
            None => text.parse().ok().map(Minimum::Count),
        }
    }

    /// The number of clauses of `count` that a document must match.
    pub fn of(self, count: usize) -> usize {
        let total = i64::try_from(count).unwrap_or(i64::MAX);
        let number = match self {
            Minimum::Count(number) if number < 0 => total.saturating_add(number),
            Minimum::Count(number) => number,
            Minimum::Percent(share) => {
                // Toward zero, as in Elasticsearch.
                let part = total.saturating_mul(share) / 100;
                match share < 0 {
                    true => total.saturating_add(part),
                    false => part,
                }
            }
        };
        usize::try_from(number.max(0)).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::Minimum;

    #[test]
    fn minimum_should_match() {
        for (text, count, expected) in [
            ("2", 4, 2),
            ("-1", 4, 3),
            ("-9", 4, 0),
            ("75%", 4, 3),
            ("75%", 3, 2),
            ("100%", 3, 3),
            ("-25%", 4, 3),
            ("-25%", 3, 3),
            ("9", 4, 9),
        ] {
            let minimum = Minimum::parse(text).unwrap();
            assert_eq!(minimum.of(count), expected, "{text} of {count}");
        }
        assert_eq!(Minimum::parse("2<75%"), None);
        assert_eq!(Minimum::parse(""), None);
    }
}
