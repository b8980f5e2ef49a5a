//! One field of a mapping.

use serde_json::{Value, json};

use crate::elastic::error::{Refusal, Result};
use crate::elastic::reader::{Members, Place, wrong};
use crate::elastic::tree::Tree;

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

/// The members of fields that are kept and not searched.
const KEPT_MEMBERS: [&str; 21] = [
    "enabled",
    "dynamic",
    "properties",
    "subobjects",
    "dims",
    "dimension",
    "index",
    "similarity",
    "index_options",
    "element_type",
    "method",
    "space_type",
    "data_type",
    "mode",
    "compression_level",
    "model_id",
    "positive_score_impact",
    "doc_values",
    "store",
    "fields",
    "meta",
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
    /// Parses the definition of one field.
    pub fn parse(tree: &Tree, place: &Place, warnings: &mut Vec<String>) -> Result<Field> {
        let mut members = Members::of(tree, place.clone())?;
        let name = members.text("type")?.unwrap_or("object");
        let kind = match name {
            // `enabled` is false.
            "object" => Kind::Kept,
            _ => Kind::of(name).ok_or_else(|| {
                let reason = format!(
                    "the type `{name}` at {place} is not supported; use one of: {}",
                    Kind::types()
                );
                Refusal::new(400, "mapper_parsing_exception", reason)
            })?,
        };
        let mut field = Field {
            kind,
            exact: None,
            definition: tree.to_json(),
            declared: true,
        };
        if kind == Kind::Kept {
            if name != "object" {
                warnings.push(format!(
                    "{place} of the type {name} is kept in `_source`, and is not searched"
                ));
            }
            // They say how it would be searched.
            for name in KEPT_MEMBERS {
                members.take(name);
            }
            members.finish("mapping")?;
            return Ok(field);
        }
        if let Some(parts) = members.take("fields") {
            let place = place.member("fields");
            let Tree::Object(parts) = parts else {
                return Err(wrong(&place, parts, "an object"));
            };
            for (part, definition) in parts {
                let place = place.member(part);
                match Field::parse(definition, &place, warnings)?.kind {
                    Kind::Keyword if field.exact.is_none() => field.exact = Some(part.clone()),
                    _ => {
                        return Err(Refusal::illegal(format!(
                            "{place} is not supported; a field has at most one part, of the type keyword"
                        )));
                    }
                }
            }
        }
        if members.boolean("index")? == Some(false) {
            field.kind = Kind::Kept;
        }
        members.only("norms", &["true"], "lengths of texts count in scores")?;
        members.only("null_value", &[], "a null has no value")?;
        members.only("copy_to", &[], "all text fields are searched together")?;
        members.only("normalizer", &[], "values are matched as they are written")?;
        let analyzer = members.text("analyzer")?;
        for name in ["search_analyzer", "search_quote_analyzer"] {
            let same = [analyzer.unwrap_or("standard")];
            members.only(name, &same, "queries and texts have one analyzer")?;
        }
        let advice = "the number of times that a text has a word counts in scores: leave it out";
        let options: &[&str] = match kind {
            Kind::Text => &["freqs", "positions", "offsets"],
            _ => &["docs", "freqs", "positions", "offsets"],
        };
        members.only("index_options", options, advice)?;
        for (name, usual) in [("coerce", true), ("ignore_malformed", false)] {
            if members.boolean(name)?.is_some_and(|given| given != usual) {
                warnings.push(format!(
                    "{} is not applied: numbers may be strings, and a document with a value that does not fit is refused",
                    place.member(name)
                ));
            }
        }
        // The settings read the similarity, documents `ignore_above`; the others are forms of storage.
        for name in [
            "similarity",
            "ignore_above",
            "doc_values",
            "store",
            "format",
            "fielddata",
            "term_vector",
            "eager_global_ordinals",
            "position_increment_gap",
            "split_queries_on_whitespace",
            "meta",
        ] {
            members.take(name);
        }
        members.finish("mapping")?;
        Ok(field)
    }

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
