//! The fields of a document: its text, and its exact values. Fields that the mapping does not have are added.

use super::field::{Field, Kind};
use super::{Dynamic, Mapping, inside};
use crate::elastic::error::{Refusal, Result};
use crate::elastic::tree::Tree;

/// Numbers in a list that is a vector, if the mapping does not have the field.
const VECTOR: usize = 128;
/// Bytes between two texts.
const BETWEEN: char = '\n';

/// A document as the index takes it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parsed {
    /// All text fields, joined in the order of the document.
    pub text: String,
    /// The exact values, in the order of the document.
    pub values: Vec<Value>,
    /// The fields that the mapping got.
    pub new_fields: Vec<String>,
}

/// An exact value of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    /// The dotted name of the field.
    pub field: String,
    /// The kind of the field.
    pub kind: Kind,
    /// The value as text: numbers as JSON has them, dates as they are written.
    pub text: String,
}

impl Mapping {
    /// Reads the fields of a document, and adds those that the mapping does not have.
    ///
    /// # Errors
    /// A value is not of its field's type; the mapping is strict or full. Then the mapping is as before.
    pub fn read(&mut self, document: &Tree) -> Result<Parsed> {
        let Tree::Object(members) = document else {
            return Err(fault(format!(
                "a document must be an object, and is {}",
                document.kind()
            )));
        };
        let mut parsed = Parsed::default();
        let read = self.object(members, "", &mut parsed);
        if let Err(refusal) = read {
            for name in &parsed.new_fields {
                self.fields.remove(name);
            }
            return Err(refusal);
        }
        Ok(parsed)
    }

    fn object(
        &mut self,
        members: &[(String, Tree)],
        prefix: &str,
        parsed: &mut Parsed,
    ) -> Result<()> {
        for (name, value) in members {
            let path = inside(prefix, name).map_err(fault)?;
            self.value(&path, value, parsed)?;
        }
        Ok(())
    }

    fn value(&mut self, path: &str, value: &Tree, parsed: &mut Parsed) -> Result<()> {
        match (self.fields.get(path).map(|field| field.kind), value) {
            (_, Tree::Null) | (Some(Kind::Kept), _) => Ok(()),
            (None, Tree::List(items)) if is_vector(items) => {
                self.discover(path, || Some(Field::of("dense_vector", false)), parsed)
            }
            (_, Tree::List(items)) => {
                let mut items = items.iter();
                items.try_for_each(|item| self.value(path, item, parsed))
            }
            (None, Tree::Object(members)) => self.object(members, &format!("{path}."), parsed),
            (Some(kind), value) => {
                let field = &self.fields[path];
                let text = of_kind(kind, value).ok_or_else(|| unfit(path, field, value))?;
                if kind == Kind::Text {
                    if !parsed.text.is_empty() {
                        parsed.text.push(BETWEEN);
                    }
                    parsed.text += &text;
                }
                if field.has_values() {
                    let most = field.definition["fields"]["keyword"]["ignore_above"]
                        .as_u64()
                        .or(field.definition["ignore_above"].as_u64());
                    let characters = text.chars().count() as u64;
                    if most.is_none_or(|most| characters <= most) {
                        parsed.values.push(Value {
                            field: path.to_owned(),
                            kind,
                            text,
                        });
                    }
                }
                Ok(())
            }
            (None, value) => {
                let field = self.field_for(path, value);
                self.discover(path, || field, parsed)?;
                match self.fields.contains_key(path) {
                    true => self.value(path, value, parsed),
                    false => Ok(()),
                }
            }
        }
    }

    /// Adds a field that a document has and the mapping has not.
    fn discover(
        &mut self,
        path: &str,
        field: impl FnOnce() -> Option<Field>,
        parsed: &mut Parsed,
    ) -> Result<()> {
        match self.dynamic {
            Dynamic::False => Ok(()),
            Dynamic::Strict => Err(Refusal::new(
                400,
                "strict_dynamic_mapping_exception",
                format!(
                    "the mapping is strict and has no field `{path}`; add the field to the mapping, or leave it out"
                ),
            )),
            Dynamic::True => {
                if let Some(field) = field() {
                    self.add(path, field)?;
                    parsed.new_fields.push(path.to_owned());
                }
                Ok(())
            }
        }
    }

    /// The field of a value that the mapping does not have: by template, or by its type.
    fn field_for(&self, path: &str, value: &Tree) -> Option<Field> {
        let (json, field) = match value {
            Tree::Bool(_) => ("boolean", Field::of("boolean", false)),
            Tree::Number(number) if number.is_f64() => ("double", Field::of("float", false)),
            Tree::Number(_) => ("long", Field::of("long", false)),
            Tree::Text(text) if is_date(text) && self.detects_dates() => {
                ("date", Field::of("date", false))
            }
            Tree::Text(_) => ("string", self.field_of_string(path)),
            _ => return None,
        };
        let mut templates = self.templates.iter();
        let by_template = templates.find_map(|template| template.field(path, json));
        Some(by_template.unwrap_or(field))
    }

    /// A string is exact if texts were declared, or if it stands in an object; otherwise it is a text with exact
    /// values.
    fn field_of_string(&self, path: &str) -> Field {
        let has_texts = self.declares_text() || self.templates.iter().any(|t| t.is_text());
        match has_texts || path.contains('.') {
            true => Field::of("keyword", false),
            false => Field::text_with_keyword(),
        }
    }

    fn detects_dates(&self) -> bool {
        self.other.get("date_detection") != Some(&serde_json::Value::Bool(false))
    }
}

/// The value as text, if it is of the kind.
fn of_kind(kind: Kind, value: &Tree) -> Option<String> {
    let text = value.as_value()?;
    let fits = match kind {
        Kind::Number => match value {
            Tree::Number(_) => true,
            Tree::Text(text) => serde_json::from_str::<serde_json::Number>(text.trim()).is_ok(),
            _ => false,
        },
        Kind::Boolean => text == "true" || text == "false",
        Kind::Date => !matches!(value, Tree::Bool(_)),
        Kind::Text | Kind::Keyword | Kind::Kept => true,
    };
    fits.then(|| match kind {
        Kind::Number => text.trim().to_owned(),
        _ => text,
    })
}

fn is_vector(items: &[Tree]) -> bool {
    items.len() >= VECTOR && items.iter().all(|item| matches!(item, Tree::Number(_)))
}

/// Whether a text begins with a date of ISO 8601 and goes on with nothing or a time.
fn is_date(text: &str) -> bool {
    let is_digit = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    let bytes = text.as_bytes();
    let day = [0, 1, 2, 3, 5, 6, 8, 9].into_iter().all(is_digit);
    day && bytes[4] == b'-'
        && bytes[7] == b'-'
        && match bytes.get(10) {
            None => true,
            Some(b'T') => bytes[11..]
                .iter()
                .all(|b| b.is_ascii_digit() || b":.,+-Z".contains(b)),
            Some(_) => false,
        }
}

fn unfit(path: &str, field: &Field, value: &Tree) -> Refusal {
    let kind = field.definition["type"].as_str().unwrap_or("object");
    let shown = match value.as_value() {
        Some(text) => format!("`{}`", text.chars().take(60).collect::<String>()),
        None => value.kind().to_owned(),
    };
    fault(format!(
        "the field `{path}` of the type {kind} cannot take {shown}; send a value of the type, or use another field"
    ))
}

fn fault(reason: String) -> Refusal {
    Refusal::new(400, "document_parsing_exception", reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(mapping: &mut Mapping, text: &str) -> Result<Parsed> {
        mapping.read(&Tree::parse(text.as_bytes()).unwrap())
    }

    fn values(parsed: &Parsed) -> Vec<(&str, &str)> {
        let values = parsed.values.iter();
        values.map(|value| (&*value.field, &*value.text)).collect()
    }

    #[test]
    fn without_a_mapping_strings_are_text_with_exact_values() {
        let mut mapping = Mapping::default();
        let text = r#"{"title": "A wing", "year": 1959, "open": true, "tags": ["x", "y"], "none": null,
            "score": 1.5, "day": "2020-02-29", "at": {"place": "Delft"}}"#;
        let parsed = read(&mut mapping, text).unwrap();
        assert_eq!(parsed.text, "A wing\nx\ny");
        let expected = [
            ("title", "A wing"),
            ("year", "1959"),
            ("open", "true"),
            ("tags", "x"),
            ("tags", "y"),
            ("score", "1.5"),
            ("day", "2020-02-29"),
            ("at.place", "Delft"),
        ];
        assert_eq!(values(&parsed), expected);
        assert_eq!(parsed.new_fields.len(), 7);
        assert_eq!(mapping.texts().collect::<Vec<_>>(), ["tags", "title"]);
        let again = read(&mut mapping, r#"{"title": "B"}"#).unwrap();
        assert!(again.new_fields.is_empty());
    }

    #[test]
    fn with_declared_texts_other_strings_are_exact() {
        let tree = br#"{"properties": {"text_field": {"type": "text"}}}"#;
        let mut mapping = Mapping::parse(&Tree::parse(tree).unwrap(), &mut Vec::new()).unwrap();
        let text = r#"{"text_field": "foo bar", "metadata": {"source": "a b", "page": 2}}"#;
        let parsed = read(&mut mapping, text).unwrap();
        assert_eq!(parsed.text, "foo bar");
        assert_eq!(
            values(&parsed),
            [("metadata.source", "a b"), ("metadata.page", "2")]
        );
    }

    #[test]
    fn values_must_fit() {
        let mut mapping = Mapping::default();
        read(
            &mut mapping,
            r#"{"n": 1, "b": true, "o": {"x": 1}, "t": "text"}"#,
        )
        .unwrap();
        for bad in [
            r#"{"n": "one"}"#,
            r#"{"n": {"x": 1}}"#,
            r#"{"b": 1}"#,
            r#"{"o": 1}"#,
            r#"{"t": {"x": 1}}"#,
            r#"{"": 1}"#,
            r#"{"a..b": 1}"#,
            r#"{"a": {".b": 1}}"#,
            "[]",
        ] {
            assert!(read(&mut mapping, bad).is_err(), "{bad}");
        }
        assert!(read(&mut mapping, r#"{"new": 1, "n": "one"}"#).is_err());
        assert_eq!(mapping.kind("new"), None);
        read(&mut mapping, r#"{"n": " 2", "b": "false"}"#).unwrap();
    }

    /// A name of many parts would become as many objects in the definition, and overflow the stack.
    #[test]
    fn names_have_a_depth_and_a_length() {
        let mut mapping = Mapping::default();
        let of = |parts: usize| format!("{{\"{}\": 1}}", vec!["a"; parts].join("."));
        for parts in [21, 100_000] {
            let refusal = read(&mut mapping, &of(parts)).unwrap_err();
            assert!(refusal.reason.len() < 700, "{}", refusal.reason);
        }
        let in_objects = format!("{}1{}", "{\"a\": ".repeat(21), "}".repeat(21));
        let reason = read(&mut mapping, &in_objects).unwrap_err().reason;
        assert!(reason.contains("more than 20 levels"), "{reason}");
        let long = format!("{{\"{}\": {{\"b\": 1}}}}", "a".repeat(511));
        let reason = read(&mut mapping, &long).unwrap_err().reason;
        assert!(reason.contains("513 bytes; the limit is 512"), "{reason}");
        assert_eq!(mapping, Mapping::default());
        assert!(read(&mut mapping, &of(20)).is_ok());
    }

    #[test]
    fn vectors_are_kept_only() {
        let mut mapping = Mapping::default();
        let numbers = vec!["0.5"; VECTOR].join(",");
        let parsed = read(&mut mapping, &format!("{{\"embedding\": [{numbers}]}}")).unwrap();
        assert!(parsed.values.is_empty());
        assert_eq!(mapping.kind("embedding"), Some(Kind::Kept));
    }
}
