//! One JSON object per line; the fields of id and text are given or found.
//!
//! Without given fields, the id is the first of `id`, `_id` and `docno` that is present. The text is `contents`, or
//! else `title` and `text` joined by a space. A field may hold a string or a list of strings; an id may also be a
//! number. Fields that are kept may hold strings, numbers, booleans and lists of these; `null` is no value.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::result::Result as StdResult;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::columns::{self, IDS, TEXTS};
use super::options::CorpusOptions;
use super::segment::{NOT_UTF8, Sink, lines};
use super::value::ValueType;
use tokapi_storage::error::Result;

const NAME_TEXT: &str = "name the text's field";

pub(super) fn parse(bytes: &[u8], options: &CorpusOptions, sink: &mut Sink<'_>) -> Result<()> {
    let fields = Fields::new(options);
    for (at, line) in lines(bytes) {
        if line.trim_ascii().is_empty() {
            continue;
        }
        if let Err(problem) = document(line, &fields, sink) {
            sink.skip_at(bytes, at, || problem.of_line())?;
        }
    }
    Ok(())
}

/// The reason why an object is no document.
pub(super) enum Problem {
    /// It is not JSON, or it has values of other types than a document.
    Broken(serde_json::Error),
    /// It is JSON, but has another fault.
    Other(String),
}

impl From<&str> for Problem {
    fn from(what: &str) -> Self {
        Problem::Other(what.to_owned())
    }
}

impl Problem {
    /// The message for an object that fills its line.
    fn of_line(self) -> String {
        match self {
            Problem::Broken(error) => {
                let (column, reason) = (error.column(), reason(&error));
                format!("broken JSON in column {column}: {reason}")
            }
            Problem::Other(what) => what,
        }
    }

    /// The message for an object at any place.
    pub(super) fn of_object(self) -> String {
        match self {
            Problem::Broken(error) => format!("broken JSON: {}", reason(&error)),
            Problem::Other(what) => what,
        }
    }

    /// The start of the faulty line in `object`.
    pub(super) fn line_start(&self, object: &[u8]) -> usize {
        let Problem::Broken(error) = self else {
            return 0;
        };
        // Lines count from 1.
        let mut line_ends = memchr::memchr_iter(b'\n', object);
        let before = error.line().checked_sub(2);
        before
            .and_then(|before| line_ends.nth(before))
            .map_or(0, |at| at + 1)
    }
}

/// Adds the document in `object`, or returns the reason why there is none.
pub(super) fn document(
    object: &[u8],
    fields: &Fields<'_>,
    sink: &mut Sink<'_>,
) -> StdResult<(), Problem> {
    let mut deserializer = serde_json::Deserializer::from_slice(object);
    let found = fields
        .deserialize(&mut deserializer)
        .and_then(|found| deserializer.end().map(|()| found));
    let found = found.map_err(|error| match std::str::from_utf8(object) {
        Err(_) => NOT_UTF8.into(),
        Ok(_) => Problem::Broken(error),
    })?;
    let mut ids = found.ids.into_iter().flatten().peekable();
    if ids.peek().is_none() {
        let wanted = format!("field {}", listed(&fields.ids));
        return Err(missing(&wanted, object, "name the id's field"));
    }
    let id = ids.find(|id| !id.is_empty());
    let id = id.ok_or("the id is empty or null")?;
    let mut texts = found.texts;
    if fields.found && texts[0].is_some() {
        texts.truncate(1);
    }
    if fields.found && texts.len() > 1 && texts[2].is_none() {
        let wanted = "field `contents` or `text`";
        return Err(missing(wanted, object, NAME_TEXT));
    }
    if let Some(lacked) = texts
        .iter()
        .position(Option::is_none)
        .filter(|_| !fields.found)
    {
        let wanted = format!("field `{}`", fields.texts[lacked]);
        return Err(missing(&wanted, object, NAME_TEXT));
    }
    let document = sink.chunk.len();
    for (field, value) in found.values.iter().enumerate() {
        for value in value.iter().flat_map(Value::items) {
            let values = &mut sink.chunk.values;
            let (kind, text) = value;
            values.push(document, field, &kind.mark(text.as_bytes()));
        }
    }
    sink.chunk.ids.push(id.as_bytes());
    let start = sink.chunk.text.len();
    for (number, text) in texts.iter().flatten().enumerate() {
        if number > 0 {
            sink.chunk.text.push(b' ');
        }
        sink.chunk.text.extend_from_slice(text.as_bytes());
    }
    sink.chunk.end_document(start);
    Ok(())
}

/// The message of serde_json, without the position that it adds.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or(&text).to_owned()
}

/// The reason for an object without the field `wanted`: it has others.
fn missing(wanted: &str, object: &[u8], remedy: &str) -> Problem {
    let names: BTreeMap<String, IgnoredAny> = serde_json::from_slice(object).unwrap_or_default();
    let names: Vec<String> = names.into_keys().collect();
    Problem::Other(columns::missing(wanted, &names, remedy))
}

fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match &quoted[..] {
        [others @ .., last] if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => quoted.concat(),
    }
}

/// The fields to find.
pub(super) struct Fields<'a> {
    ids: Vec<&'a str>,
    texts: Vec<&'a str>,
    /// The fields whose values are kept.
    kept: &'a [String],
    /// Whether the fields of the text are the default ones, [`TEXTS`].
    found: bool,
}

impl<'a> Fields<'a> {
    pub(super) fn new(options: &'a CorpusOptions) -> Self {
        Fields {
            ids: options
                .id_field
                .as_deref()
                .map_or(IDS.to_vec(), |field| vec![field]),
            texts: match options.text_fields.is_empty() {
                true => TEXTS.to_vec(),
                false => options.text_fields.iter().map(String::as_str).collect(),
            },
            kept: &options.fields,
            found: options.text_fields.is_empty(),
        }
    }
}

/// The values of [`Fields`], by index.
pub(super) struct Found<'de> {
    ids: Vec<Option<Cow<'de, str>>>,
    texts: Vec<Option<Cow<'de, str>>>,
    values: Vec<Option<Value<'de>>>,
}

impl<'de> DeserializeSeed<'de> for &Fields<'_> {
    type Value = Found<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> StdResult<Found<'de>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &Fields<'_> {
    type Value = Found<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with a document's fields")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> StdResult<Found<'de>, A::Error> {
        let mut found = Found {
            ids: vec![None; self.ids.len()],
            texts: vec![None; self.texts.len()],
            values: vec![None; self.kept.len()],
        };
        while let Some(Text(key)) = map.next_key_seed(Any(TextVisitor))?.flatten() {
            let id = self.ids.iter().position(|name| *name == key);
            let text = self.texts.iter().position(|name| *name == key);
            let kept = self.kept.iter().position(|name| *name == key);
            let value = match kept {
                Some(kept) => {
                    let value = map.next_value_seed(Any(ValueVisitor))?;
                    let text = (id.is_some() || text.is_some()).then(|| value.text());
                    found.values[kept] = Some(value);
                    text
                }
                None if id.is_none() && text.is_none() => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
                None => map
                    .next_value_seed(Any(TextVisitor))?
                    .map(|Text(value)| value),
            };
            match (id, text) {
                (Some(id), Some(text)) => {
                    found.ids[id] = value.clone();
                    found.texts[text] = value;
                }
                (Some(id), None) => found.ids[id] = value,
                (_, Some(text)) => found.texts[text] = value,
                (None, None) => {}
            }
        }
        Ok(found)
    }
}

/// A value as text.
struct Text<'de>(Cow<'de, str>);

/// Reads a value of any type by a visitor.
struct Any<V>(V);

impl<'de, V: Visitor<'de>> DeserializeSeed<'de> for Any<V> {
    type Value = V::Value;

    fn deserialize<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> StdResult<Self::Value, D::Error> {
        deserializer.deserialize_any(self.0)
    }
}

/// Reads a string, a list of strings or a number as text, and `null` as an empty text.
struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Option<Text<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string, a list of strings or a number")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> StdResult<Self::Value, E> {
        Ok(Some(Text(Cow::Borrowed(text))))
    }

    fn visit_str<E>(self, text: &str) -> StdResult<Self::Value, E> {
        Ok(Some(Text(Cow::Owned(text.to_owned()))))
    }

    fn visit_i64<E>(self, number: i64) -> StdResult<Self::Value, E> {
        Ok(Some(Text(Cow::Owned(number.to_string()))))
    }

    fn visit_u64<E>(self, number: u64) -> StdResult<Self::Value, E> {
        Ok(Some(Text(Cow::Owned(number.to_string()))))
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> StdResult<Self::Value, E> {
        if number.abs() >= 9.0e15 {
            // Two different numbers of this length may read the same.
            return Err(E::custom("a number of so many digits must be quoted"));
        }
        Ok(Some(Text(Cow::Owned(number.to_string()))))
    }

    fn visit_unit<E>(self) -> StdResult<Self::Value, E> {
        Ok(Some(Text(Cow::Borrowed(""))))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> StdResult<Self::Value, A::Error> {
        let mut joined = String::new();
        while let Some(item) = seq.next_element_seed(Any(TextVisitor))? {
            if let Some(Text(text)) = item {
                if !joined.is_empty() {
                    joined.push(' ');
                }
                joined.push_str(&text);
            }
        }
        Ok(Some(Text(Cow::Owned(joined))))
    }
}

/// A string, number or boolean.
type TypedText<'de> = (ValueType, Cow<'de, str>);

/// The value of a field that is kept.
#[derive(Clone)]
pub(super) enum Value<'de> {
    One(TypedText<'de>),
    /// Several values; none for `null`.
    Many(Vec<TypedText<'de>>),
}

impl<'de> Value<'de> {
    /// The values, one by one.
    fn items(&self) -> &[TypedText<'de>] {
        match self {
            Value::One(value) => std::slice::from_ref(value),
            Value::Many(values) => values,
        }
    }

    /// The value as text, as [`TextVisitor`] reads it.
    fn text(&self) -> Cow<'de, str> {
        match self {
            Value::One((_, text)) => text.clone(),
            Value::Many(values) => {
                let texts: Vec<&str> = values.iter().map(|(_, text)| &**text).collect();
                Cow::Owned(texts.join(" "))
            }
        }
    }
}

/// Reads strings, numbers, booleans, and lists of these.
struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("strings, numbers or booleans in a field that is kept")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> StdResult<Self::Value, E> {
        Ok(Value::One((ValueType::Text, Cow::Borrowed(text))))
    }

    fn visit_str<E>(self, text: &str) -> StdResult<Self::Value, E> {
        Ok(Value::One((ValueType::Text, Cow::Owned(text.to_owned()))))
    }

    fn visit_bool<E>(self, value: bool) -> StdResult<Self::Value, E> {
        let name = if value { "true" } else { "false" };
        Ok(Value::One((ValueType::Boolean, Cow::Borrowed(name))))
    }

    fn visit_i64<E>(self, number: i64) -> StdResult<Self::Value, E> {
        Ok(Value::One((
            ValueType::Number,
            Cow::Owned(number.to_string()),
        )))
    }

    fn visit_u64<E>(self, number: u64) -> StdResult<Self::Value, E> {
        Ok(Value::One((
            ValueType::Number,
            Cow::Owned(number.to_string()),
        )))
    }

    fn visit_f64<E>(self, number: f64) -> StdResult<Self::Value, E> {
        // Negative zero is zero.
        let text = (number + 0.0).to_string();
        Ok(Value::One((ValueType::Number, Cow::Owned(text))))
    }

    fn visit_unit<E>(self) -> StdResult<Self::Value, E> {
        Ok(Value::Many(Vec::new()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> StdResult<Self::Value, A::Error> {
        let mut values = Vec::new();
        while let Some(item) = seq.next_element_seed(Any(ValueVisitor))? {
            match item {
                Value::One(value) => values.push(value),
                Value::Many(more) => values.extend(more),
            }
        }
        Ok(Value::Many(values))
    }
}
