//! The fields of an index: which are joined to its text, which have exact values, which are kept only.

mod document;
mod field;
mod parse;
mod settings;
mod template;

pub use document::{Parsed, Value};
pub use field::{Field, Kind};
pub use settings::{AnalyzerName, Settings};
pub use template::{Template, matches};

use std::collections::BTreeMap;

use serde_json::{Map, json};

/// Fields of an index.
pub const MOST_FIELDS: usize = 1000;
/// Objects that a field stands in, itself included: the parts of its dotted name.
const MOST_LEVELS: usize = 20;
/// Bytes of the dotted name of a field.
const MOST_NAME_BYTES: usize = 512;
/// Levels of objects and lists in a definition. It is kept as JSON, and dotted names become objects there, so that the
/// limit of the parser, 128, is not reached.
const MOST_DEPTH: usize = 50;

/// The fields of an index by their dotted names.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Mapping {
    fields: BTreeMap<String, Field>,
    /// The treatment of fields that it does not have.
    dynamic: Dynamic,
    templates: Vec<Template>,
    /// Members of its definition that change nothing here, such as `_meta`.
    other: Map<String, serde_json::Value>,
}

/// The treatment of fields that a mapping does not have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Dynamic {
    /// They are added.
    #[default]
    True,
    /// They are kept and not searched.
    False,
    /// A document with one is refused.
    Strict,
}

/// The part of an index that a name in a query stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The text of documents.
    Text,
    /// The exact values of a field.
    Exact(String),
    /// The id.
    Id,
    /// A field that is kept in `_source` and not searched.
    Kept,
    /// No document has the field.
    Missing,
}

impl Mapping {
    /// The mapping of an index whose text has no parts: the text is the field `text`, and `exact` have exact values.
    pub fn of_index<'a>(text: &str, exact: impl IntoIterator<Item = &'a str>) -> Self {
        let mut mapping = Mapping::default();
        mapping
            .fields
            .insert(text.to_owned(), Field::of("text", false));
        for name in exact {
            mapping
                .fields
                .insert(name.to_owned(), Field::of("keyword", false));
        }
        mapping
    }

    /// The part of the index that `name` stands for in a query.
    pub fn target(&self, name: &str) -> Target {
        if name == "_id" {
            return Target::Id;
        }
        if let Some(field) = self.fields.get(name) {
            return match field.kind {
                Kind::Text => Target::Text,
                Kind::Keyword | Kind::Number | Kind::Boolean | Kind::Date => {
                    Target::Exact(name.to_owned())
                }
                Kind::Kept => Target::Kept,
            };
        }
        // `tag.keyword` are the exact values of `tag`, whether `tag` is a text with such a part or exact itself.
        let field = name.rsplit_once('.').and_then(|(name, part)| {
            let field = self.fields.get(name)?;
            let has_part = field.exact.as_deref() == Some(part)
                || (field.kind == Kind::Keyword && part == "keyword");
            has_part.then_some(name)
        });
        field.map_or(Target::Missing, |name| Target::Exact(name.to_owned()))
    }

    /// The names of the text fields, ascending.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let texts = self
            .fields
            .iter()
            .filter(|(_, field)| field.kind == Kind::Text);
        texts.map(|(name, _)| &**name)
    }

    /// The names of the fields with exact values, ascending.
    pub fn exact(&self) -> impl Iterator<Item = &str> {
        let exact = self.fields.iter().filter(|(_, field)| field.has_values());
        exact.map(|(name, _)| &**name)
    }

    /// The names of all fields, ascending.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.keys().map(|name| &**name)
    }

    /// The names of the fields that were found in documents, ascending.
    pub fn found(&self) -> impl Iterator<Item = &str> {
        let found = self.fields.iter().filter(|(_, field)| !field.declared);
        found.map(|(name, _)| &**name)
    }

    /// Notes that the fields of these names were found in documents.
    pub fn mark_found(&mut self, names: &[String]) {
        for name in names {
            if let Some(field) = self.fields.get_mut(name) {
                field.declared = false;
            }
        }
    }

    /// The type of a field.
    pub fn kind(&self, name: &str) -> Option<Kind> {
        self.fields.get(name).map(|field| field.kind)
    }

    /// The mapping as Elasticsearch shows it; [`Mapping::parse`] reads it back.
    pub fn to_json(&self) -> serde_json::Value {
        let mut properties = Map::new();
        for (name, field) in &self.fields {
            let mut at = &mut properties;
            let mut parts = name.split('.').peekable();
            while let Some(part) = parts.next() {
                if parts.peek().is_none() {
                    at.insert(part.to_owned(), field.definition.clone());
                    break;
                }
                let object = at.entry(part).or_insert_with(|| json!({"properties": {}}));
                // A field is no object: the parser refuses both under one name.
                let Some(inner) = object["properties"].as_object_mut() else {
                    break;
                };
                at = inner;
            }
        }
        let mut mapping = self.other.clone();
        match self.dynamic {
            Dynamic::True => {}
            Dynamic::False => drop(mapping.insert("dynamic".into(), "false".into())),
            Dynamic::Strict => drop(mapping.insert("dynamic".into(), "strict".into())),
        }
        if !self.templates.is_empty() {
            let templates = self
                .templates
                .iter()
                .map(|template| template.source.clone());
            mapping.insert("dynamic_templates".into(), templates.collect());
        }
        if !properties.is_empty() {
            mapping.insert("properties".into(), properties.into());
        }
        mapping.into()
    }

    /// Whether a text field was declared, not found in a document.
    fn declares_text(&self) -> bool {
        let mut fields = self.fields.values();
        fields.any(|field| field.declared && field.kind == Kind::Text)
    }
}

/// The dotted name of the field `name` of an object; `prefix` is the name of the object with a dot behind it, or empty.
/// An error is the reason.
fn inside(prefix: &str, name: &str) -> Result<String, String> {
    if name.is_empty() || name.split('.').any(str::is_empty) {
        let object = prefix.trim_end_matches('.');
        return Err(format!(
            "a field in `{object}` has an empty name; name it, without a dot at an end or two in a row"
        ));
    }
    let bytes = prefix.len() + name.len();
    if bytes > MOST_NAME_BYTES {
        let start: String = prefix.chars().chain(name.chars()).take(40).collect();
        return Err(format!(
            "the name of a field, which begins with `{start}`, has {bytes} bytes; the limit is {MOST_NAME_BYTES}"
        ));
    }
    let path = format!("{prefix}{name}");
    match path.split('.').count() > MOST_LEVELS {
        true => Err(format!(
            "the field `{path}` stands in more than {MOST_LEVELS} levels of objects; nest fewer"
        )),
        false => Ok(path),
    }
}
