//! The documents of hits: read from an index, and cut down to the parts that are asked for.

use serde_json::{Map, Value};
use tokapi::{Index, Result, StoredValue};
use tokapi_text::corpus::ValueType;

use super::dsl::Sources;
use super::mapping::matches;
use super::tree::Tree;

/// The stored field that holds a document as it was sent.
pub const SOURCE: &str = "_source";

/// The JSON object of a document: as it was sent, or else its kept text, under the name `text`, and its kept fields.
///
/// # Errors
/// The document does not exist; the index is damaged.
pub fn read(index: &Index, document: u64, text: &str) -> Result<String> {
    let keep = index.keep();
    let is_sent = keep.fields.iter().any(|field| field == SOURCE);
    if is_sent {
        let fields = index.fields(document)?.fields;
        let sent = fields.into_iter().find(|(name, _)| name == SOURCE);
        if let Some(value) = sent.and_then(|(_, values)| values.into_iter().next()) {
            return Ok(value.text);
        }
    }
    let stored = index.document(document)?;
    let mut object = Map::new();
    if let Some(whole) = stored.text {
        object.insert(text.to_owned(), whole.into());
    }
    for (name, values) in stored.fields {
        let mut values: Vec<Value> = values.into_iter().map(value).collect();
        let value = match values.len() {
            0 => continue,
            1 => values.remove(0),
            _ => values.into(),
        };
        object.insert(name, value);
    }
    Ok(Value::Object(object).to_string())
}

fn value(value: StoredValue) -> Value {
    match value.kind {
        ValueType::Text => value.text.into(),
        ValueType::Number | ValueType::Boolean => {
            serde_json::from_str(&value.text).unwrap_or(Value::String(value.text))
        }
    }
}

/// The parts of a document that `sources` asks for; none if nothing is shown.
pub fn shown(text: &str, sources: &Sources) -> Option<String> {
    if !sources.enabled {
        return None;
    }
    let tree = match sources.is_all() {
        true => None,
        false => Tree::parse(text.as_bytes()).ok(),
    };
    let Some(tree) = tree else {
        return Some(text.to_owned());
    };
    let cut = cut(&tree, "", sources.includes.is_empty(), sources);
    let cut = cut.unwrap_or_else(|| Tree::Object(Vec::new()));
    serde_json::to_string(&cut).ok()
}

/// The parts of `tree` that are asked for; none if it has none. `all` says that an outer part was asked for.
fn cut(tree: &Tree, path: &str, all: bool, sources: &Sources) -> Option<Tree> {
    match tree {
        Tree::Object(members) => {
            let mut kept = Vec::new();
            for (name, value) in members {
                let path = match path.is_empty() {
                    true => name.clone(),
                    false => format!("{path}.{name}"),
                };
                let is_of = |patterns: &[String]| patterns.iter().any(|p| matches(p, &path));
                if is_of(&sources.excludes) {
                    continue;
                }
                let all = all || is_of(&sources.includes);
                let has_parts = matches!(value, Tree::Object(_) | Tree::List(_));
                let value = match (has_parts, all) {
                    (true, _) => cut(value, &path, all, sources),
                    (false, true) => Some(value.clone()),
                    (false, false) => None,
                };
                kept.extend(value.map(|value| (name.clone(), value)));
            }
            (all || !kept.is_empty()).then_some(Tree::Object(kept))
        }
        Tree::List(items) => {
            let kept: Vec<Tree> = items
                .iter()
                .filter_map(|i| cut(i, path, all, sources))
                .collect();
            (all || !kept.is_empty()).then_some(Tree::List(kept))
        }
        other => all.then(|| other.clone()),
    }
}

/// The texts at a dotted path of a document, joined by a space.
pub fn text_at(tree: &Tree, path: &str) -> Option<String> {
    let mut texts = Vec::new();
    collect(tree, path, &mut texts);
    (!texts.is_empty()).then(|| texts.join(" "))
}

fn collect(tree: &Tree, path: &str, texts: &mut Vec<String>) {
    match tree {
        Tree::List(items) => items.iter().for_each(|item| collect(item, path, texts)),
        Tree::Object(members) => {
            for (name, value) in members {
                match path.strip_prefix(&**name) {
                    Some("") => collect(value, "", texts),
                    Some(rest) if rest.starts_with('.') => collect(value, &rest[1..], texts),
                    _ => {}
                }
            }
        }
        value if path.is_empty() => texts.extend(value.as_value()),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(includes: &[&str], excludes: &[&str]) -> String {
        let text = r#"{"b": "x", "a": {"y": 1.0, "x": [1, {"z": 2, "w": 3}]}, "n": null}"#;
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let sources = Sources {
            enabled: true,
            includes: owned(includes),
            excludes: owned(excludes),
        };
        shown(text, &sources).unwrap()
    }

    #[test]
    fn parts_keep_their_order() {
        assert_eq!(of(&["b", "a.y"], &[]), r#"{"b":"x","a":{"y":1.0}}"#);
        assert_eq!(of(&["a"], &["a.x"]), r#"{"a":{"y":1.0}}"#);
        assert_eq!(
            of(&["a.*"], &[]),
            r#"{"a":{"y":1.0,"x":[1,{"z":2,"w":3}]}}"#
        );
        assert_eq!(of(&["a.x.z"], &[]), r#"{"a":{"x":[{"z":2}]}}"#);
        assert_eq!(of(&["*.w"], &[]), r#"{"a":{"x":[{"w":3}]}}"#);
        assert_eq!(of(&[], &["a", "n"]), r#"{"b":"x"}"#);
        assert_eq!(of(&["nothing"], &[]), "{}");
        let none = Sources {
            enabled: false,
            ..Sources::default()
        };
        assert_eq!(shown("{}", &none), None);
    }

    #[test]
    fn texts_at_a_path() {
        let tree = Tree::parse(br#"{"a": {"b": ["x", "y"]}, "a.b": "z", "c": 1}"#).unwrap();
        assert_eq!(text_at(&tree, "a.b").unwrap(), "x y z");
        assert_eq!(text_at(&tree, "c").unwrap(), "1");
        assert_eq!(text_at(&tree, "a"), None);
    }
}
