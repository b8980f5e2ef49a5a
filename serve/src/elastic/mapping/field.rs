//! One field of a mapping.

use serde_json::{Value, json};

/// A field.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Its kind.
    pub kind: Kind,
    /// The name of the part with exact values, of a text that has one: `keyword` in most mappings.
    pub exact: Option<String>,
    /// Its definition, as it was given.
    pub definition: Value,
    /// Whether it was declared, not found in a document.
    pub declared: bool,
}

/// The kinds of fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A part of the text of documents.
    Text,
    /// Exact strings.
    Keyword,
    /// Numbers, matched exactly.
    Number,
    /// `true` and `false`.
    Boolean,
    /// Dates, matched as they are written.
    Date,
    /// Kept in `_source`, not searched.
    Kept,
}

/// The types of Elasticsearch, and the kind of each.
const TYPES: [(&str, Kind); 18] = [
    ("text", Kind::Text),
    ("match_only_text", Kind::Text),
    ("keyword", Kind::Keyword),
    ("long", Kind::Number),
    ("integer", Kind::Number),
    ("short", Kind::Number),
    ("byte", Kind::Number),
    ("unsigned_long", Kind::Number),
    ("double", Kind::Number),
    ("float", Kind::Number),
    ("half_float", Kind::Number),
    ("boolean", Kind::Boolean),
    ("date", Kind::Date),
    ("dense_vector", Kind::Kept),
    ("sparse_vector", Kind::Kept),
    ("binary", Kind::Kept),
    ("knn_vector", Kind::Kept),
    ("rank_features", Kind::Kept),
];

impl Kind {
    /// The kind of a type; none if the type is not supported.
    pub fn of(kind: &str) -> Option<Kind> {
        let found = TYPES.iter().find(|(name, _)| *name == kind);
        found.map(|(_, kind)| *kind)
    }

    /// The names of the supported types.
    pub fn types() -> String {
        let names: Vec<&str> = TYPES.iter().map(|(name, _)| *name).collect();
        names.join(", ")
    }
}

impl Field {
    /// A field of a type that is supported.
    pub fn of(kind: &str, declared: bool) -> Self {
        Field {
            kind: Kind::of(kind).unwrap_or(Kind::Kept),
            exact: None,
            definition: json!({"type": kind}),
            declared,
        }
    }

    /// A text with exact values, as Elasticsearch maps strings that it does not know.
    pub fn text_with_keyword() -> Self {
        let keyword = json!({"keyword": {"type": "keyword", "ignore_above": 256}});
        Field {
            kind: Kind::Text,
            exact: Some("keyword".into()),
            definition: json!({"type": "text", "fields": keyword}),
            declared: false,
        }
    }

    /// Whether documents have exact values of it.
    pub fn has_values(&self) -> bool {
        match self.kind {
            Kind::Text => self.exact.is_some(),
            Kind::Keyword | Kind::Number | Kind::Boolean | Kind::Date => true,
            Kind::Kept => false,
        }
    }
}
