//! Stored values as JSON.

use serde_json::{Map, Value};
use tokapi::{StoredDocument, StoredValue};
use tokapi_text::corpus::ValueType;

/// The values of the fields of a document that `shown` accepts; none if the index keeps no fields.
pub fn fields_json(
    document: &mut StoredDocument,
    shown: impl Fn(&str) -> bool,
) -> Option<Map<String, Value>> {
    let fields = std::mem::take(&mut document.fields);
    let is_empty = fields.is_empty();
    let fields = fields.into_iter().filter(|(name, _)| shown(name));
    let fields = fields.map(|(name, values)| (name, values_json(values)));
    let fields: Map<String, Value> = fields.collect();
    (!is_empty).then_some(fields)
}

/// The value of a field, or the list of its values, with their types.
fn values_json(values: Vec<StoredValue>) -> Value {
    let mut values: Vec<Value> = values.into_iter().map(value_json).collect();
    match values.len() {
        1 => values.remove(0),
        _ => values.into(),
    }
}

fn value_json(value: StoredValue) -> Value {
    match value.kind {
        ValueType::Text => value.text.into(),
        // NaN and infinities, which JSON does not have, are strings.
        ValueType::Number | ValueType::Boolean => {
            serde_json::from_str(&value.text).unwrap_or(Value::String(value.text))
        }
    }
}
