//! A condition on a field.

use std::fmt;

use serde::de::{self, Deserializer, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A condition on a field: `"field:value"`, `"-field:value"` for documents without the value, or an object.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum FilterRequest {
    /// `field:value` or `-field:value`.
    #[schema(example = "lang:en")]
    Text(String),
    /// The parts.
    Parts(FilterParts),
}

/// The parts of a condition on a field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FilterParts {
    /// The field, one of those that the index keeps.
    #[schema(example = "lang")]
    pub field: String,
    /// The value, matched exactly; at most 1024 bytes.
    #[schema(example = "en")]
    pub value: String,
    /// Whether documents with the value are excluded.
    #[serde(default)]
    pub not: bool,
}

impl<'de> Deserialize<'de> for FilterRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = FilterRequest;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a filter: \"field:value\" or {\"field\": ..., \"value\": ...}")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<FilterRequest, E> {
                Ok(FilterRequest::Text(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<FilterRequest, A::Error> {
                FilterParts::deserialize(MapAccessDeserializer::new(map)).map(FilterRequest::Parts)
            }
        }

        deserializer.deserialize_any(Either)
    }
}
