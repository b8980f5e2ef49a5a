//! Dynamic templates: the mapping of fields that documents bring.

use serde_json::Value;

use super::field::{Field, Kind};
use crate::elastic::error::{Refusal, Result};
use crate::elastic::reader::{Members, Place, names, wrong};
use crate::elastic::tree::Tree;

/// A dynamic template.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    /// Its definition, as it was given.
    pub source: Value,
    path: Option<String>,
    name: Option<String>,
    /// The type of JSON that it is for.
    json: Option<String>,
    field: Field,
}

impl Template {
    /// Parses `{"name": {"match_mapping_type": ..., "mapping": {...}}}`.
    pub fn parse(tree: &Tree, place: &Place, warnings: &mut Vec<String>) -> Result<Self> {
        let (name, value) = match tree {
            Tree::Object(members) if members.len() == 1 => (&members[0].0, &members[0].1),
            Tree::Object(members) => {
                return Err(Refusal::parsing(format!(
                    "{place} must have one member, the name of a template, and has {}: {}",
                    members.len(),
                    names(members)
                )));
            }
            other => return Err(wrong(place, other, "an object with the name of a template")),
        };
        let mut members = Members::of(value, place.member(name))?;
        let pattern = |text: Option<&str>| text.map(str::to_owned);
        let path = pattern(members.text("path_match")?);
        let field_name = pattern(members.text("match")?);
        let json = pattern(members.text("match_mapping_type")?).filter(|kind| kind != "*");
        members.only("match_pattern", &["simple"], "use patterns with `*`")?;
        let within = members.place.member("mapping");
        let mapping = members.take("mapping").ok_or_else(|| {
            Refusal::parsing(format!(
                "the template at {place} needs the member `mapping`"
            ))
        })?;
        members.finish("dynamic_templates")?;
        let mut field = Field::parse(mapping, &within, warnings)?;
        field.declared = false;
        Ok(Template {
            source: tree.to_json(),
            path,
            name: field_name,
            json,
            field,
        })
    }

    /// The field that it gives to `path`, whose value is of the JSON type `json`.
    pub fn field(&self, path: &str, json: &str) -> Option<Field> {
        let name = path.rsplit('.').next().unwrap_or(path);
        let fits = self.json.as_deref().is_none_or(|kind| kind == json)
            && self
                .path
                .as_deref()
                .is_none_or(|pattern| matches(pattern, path))
            && self
                .name
                .as_deref()
                .is_none_or(|pattern| matches(pattern, name));
        fits.then(|| self.field.clone())
    }

    /// Whether its fields are texts.
    pub fn is_text(&self) -> bool {
        self.field.kind == Kind::Text
    }
}

/// Whether `text` is of `pattern`, in which `*` stands for any characters.
///
/// The time is at most the product of both lengths.
pub fn matches(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let Some(last) = pieces.next_back() else {
        return rest.is_empty();
    };
    for piece in pieces {
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("*", "a.b", true),
            ("a", "a", true),
            ("a", "ab", false),
            ("a*", "ab", true),
            ("*b", "ab", true),
            ("a*b", "ab", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c", false),
            ("ab*ba", "aba", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }
}
