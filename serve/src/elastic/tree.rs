//! A JSON text as a tree that keeps the order of members and refuses a member that stands twice.

use std::fmt;

use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::Number;

use super::error::{Refusal, Result};

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub enum Tree {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Tree>),
    /// An object; no name stands twice.
    Object(Vec<(String, Tree)>),
}

impl Tree {
    /// Parses a JSON text. An empty text is an empty object, as clients leave out the body.
    pub fn parse(text: &[u8]) -> Result<Tree> {
        if text.trim_ascii().is_empty() {
            return Ok(Tree::Object(Vec::new()));
        }
        // The parser limits the depth to 128 levels.
        serde_json::from_slice(text).map_err(|error| {
            Refusal::parsing(format!(
                "the body is not valid JSON: {error}; send one JSON object"
            ))
        })
    }

    /// The kind of value, in words.
    pub fn kind(&self) -> &'static str {
        match self {
            Tree::Null => "null",
            Tree::Bool(_) => "a boolean",
            Tree::Number(_) => "a number",
            Tree::Text(_) => "a string",
            Tree::List(_) => "a list",
            Tree::Object(_) => "an object",
        }
    }

    /// The member of an object.
    pub fn get(&self, name: &str) -> Option<&Tree> {
        match self {
            Tree::Object(members) => members.iter().find(|(n, _)| n == name).map(|(_, v)| v),
            _ => None,
        }
    }

    /// The value of a field as exact text: strings, numbers and booleans have one.
    pub fn as_value(&self) -> Option<String> {
        match self {
            Tree::Bool(value) => Some(value.to_string()),
            Tree::Number(number) => Some(number.to_string()),
            Tree::Text(text) => Some(text.clone()),
            _ => None,
        }
    }

    /// The same value for a serializer.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Tree::Null => serde_json::Value::Null,
            Tree::Bool(value) => (*value).into(),
            Tree::Number(number) => number.clone().into(),
            Tree::Text(text) => text.as_str().into(),
            Tree::List(values) => values.iter().map(Tree::to_json).collect(),
            Tree::Object(members) => {
                let members = members.iter();
                let members = members.map(|(name, value)| (name.clone(), value.to_json()));
                serde_json::Value::Object(members.collect())
            }
        }
    }
}

impl Serialize for Tree {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Tree::Null => serializer.serialize_unit(),
            Tree::Bool(value) => serializer.serialize_bool(*value),
            Tree::Number(number) => number.serialize(serializer),
            Tree::Text(text) => serializer.serialize_str(text),
            Tree::List(values) => serializer.collect_seq(values),
            Tree::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (name, value) in members {
                    map.serialize_entry(name, value)?;
                }
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Build;

        impl<'de> Visitor<'de> for Build {
            type Value = Tree;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON value")
            }

            fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
                Ok(Tree::Bool(value))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
                Ok(Tree::Number(value.into()))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
                Ok(Tree::Number(value.into()))
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Tree, E> {
                let number = Number::from_f64(value);
                number
                    .map(Tree::Number)
                    .ok_or_else(|| E::custom("a number is not finite"))
            }

            fn visit_str<E>(self, text: &str) -> Result<Tree, E> {
                Ok(Tree::Text(text.to_owned()))
            }

            fn visit_string<E>(self, text: String) -> Result<Tree, E> {
                Ok(Tree::Text(text))
            }

            fn visit_unit<E>(self) -> Result<Tree, E> {
                Ok(Tree::Null)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Tree, A::Error> {
                let mut values = Vec::new();
                while let Some(value) = list.next_element()? {
                    values.push(value);
                }
                Ok(Tree::List(values))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree, A::Error> {
                let mut members: Vec<(String, Tree)> = Vec::new();
                while let Some(member) = map.next_entry::<String, Tree>()? {
                    members.push(member);
                }
                let mut names: Vec<&str> = members.iter().map(|(name, _)| &**name).collect();
                names.sort_unstable();
                if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
                    let reason = format!("the member `{}` is given twice", pair[0]);
                    return Err(de::Error::custom(reason));
                }
                Ok(Tree::Object(members))
            }
        }

        deserializer.deserialize_any(Build)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_order_and_stand_once() {
        let tree = Tree::parse(br#"{"b": 1, "a": [null, true, "x", 1.5, -2]}"#).unwrap();
        let Tree::Object(members) = &tree else {
            panic!("no object")
        };
        assert_eq!(members[0].0, "b");
        assert_eq!(
            tree.to_json().to_string(),
            r#"{"a":[null,true,"x",1.5,-2],"b":1}"#
        );
        let error = Tree::parse(br#"{"a": {"x": 1, "x": 2}}"#).unwrap_err();
        assert!(
            error.reason.contains("`x` is given twice"),
            "{}",
            error.reason
        );
        assert_eq!(Tree::parse(b" \n").unwrap(), Tree::Object(Vec::new()));
        assert!(Tree::parse(&b"[".repeat(100_000)).is_err());
    }
}
