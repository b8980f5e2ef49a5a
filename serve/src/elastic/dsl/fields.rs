//! The fields that a query names become the text of documents, or exact values.

use super::node::Fields;
use crate::elastic::error::{Refusal, Result};
use crate::elastic::mapping::{Mapping, Target, matches};
use crate::elastic::reader::Place;

/// The part of documents that a query searches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Searched {
    /// The text.
    Text {
        /// Whether it is of several fields.
        several: bool,
    },
    /// The exact values of a field.
    Exact(String),
    /// The ids.
    Ids,
    /// No document has the field.
    Missing,
}

/// Looks up the fields that a query names.
pub struct Lookup<'a> {
    mapping: &'a Mapping,
    place: &'a Place,
    warnings: &'a mut Vec<String>,
}

impl<'a> Lookup<'a> {
    /// A lookup in `mapping` for the query at `place`; a field that is missing is noted in `warnings`.
    pub fn new(mapping: &'a Mapping, place: &'a Place, warnings: &'a mut Vec<String>) -> Self {
        Lookup {
            mapping,
            place,
            warnings,
        }
    }

    /// The part that `fields` stand for.
    pub fn searched(&mut self, fields: &Fields) -> Result<Searched> {
        match fields {
            Fields::One(field) => self.of_one(field),
            Fields::Several(fields) => self.of_several(fields),
            Fields::Default => self.of_several(&["*".to_owned()]),
        }
    }

    /// The part that one field stands for.
    pub fn of_one(&mut self, field: &str) -> Result<Searched> {
        let (mapping, place) = (self.mapping, self.place);
        match mapping.target(field) {
            Target::Text if mapping.texts().nth(1).is_none() => {
                Ok(Searched::Text { several: false })
            }
            Target::Text => Err(one_of_several(mapping, &[field], place)),
            Target::Exact(field) => Ok(Searched::Exact(field)),
            Target::Id => Ok(Searched::Ids),
            Target::Kept => Err(Refusal::illegal(format!(
                "the field `{field}` at {place} is kept in `_source` and is not searched; search another field"
            ))),
            Target::Missing => {
                self.warnings.push(missing(mapping, field, place));
                Ok(Searched::Missing)
            }
        }
    }

    fn of_several(&mut self, fields: &[String]) -> Result<Searched> {
        let (mapping, place) = (self.mapping, self.place);
        let mut texts: Vec<&str> = Vec::new();
        let mut exact = None;
        for field in fields {
            let (name, boost) = field.split_once('^').unwrap_or((field, "1"));
            if boost.parse::<f64>() != Ok(1.0) {
                return Err(Refusal::illegal(format!(
                    "the weight of the field `{field}` at {place} is not supported, because the text fields are indexed as one text; leave out ^{boost}"
                )));
            }
            if name.contains('*') {
                let named = mapping.texts().filter(|text| matches(name, text));
                texts.extend(named);
                if let Some(other) = mapping.exact().find(|field| matches(name, field)) {
                    let is_text = mapping.target(other) == Target::Text;
                    if !is_text {
                        self.warnings.push(format!(
                        "`{name}` at {place} stands for the text fields; exact fields such as `{other}` are not searched"
                    ));
                    }
                }
                continue;
            }
            match mapping.target(name) {
                Target::Text => texts.extend(mapping.texts().find(|text| *text == name)),
                Target::Missing => self.warnings.push(missing(mapping, name, place)),
                Target::Exact(name) => exact = Some(Searched::Exact(name)),
                Target::Id => exact = Some(Searched::Ids),
                Target::Kept => return self.of_one(name),
            }
        }
        texts.sort_unstable();
        texts.dedup();
        match (texts.len(), exact) {
            (0, Some(exact)) if fields.len() == 1 => Ok(exact),
            (0, None) => Ok(Searched::Missing),
            (_, Some(_)) => Err(Refusal::illegal(format!(
                "exact and other fields together at {place} are not supported; combine `multi_match` over the text fields and `term` with `bool`"
            ))),
            (count, None) if count == mapping.texts().count() => {
                Ok(Searched::Text { several: count > 1 })
            }
            _ => Err(one_of_several(mapping, &texts, place)),
        }
    }
}

fn missing(mapping: &Mapping, field: &str, place: &Place) -> String {
    let texts: Vec<&str> = mapping.texts().collect();
    let texts = texts.join(", ");
    format!("no document has the field `{field}` at {place}; the text fields are: {texts}")
}

fn one_of_several(mapping: &Mapping, named: &[&str], place: &Place) -> Refusal {
    let all: Vec<String> = mapping
        .texts()
        .map(|field| format!("\"{field}\""))
        .collect();
    Refusal::illegal(format!(
        "{place} searches {}, and the index has one text of all its text fields; search them all: {{\"multi_match\": {{\"query\": ..., \"fields\": [{}]}}}}",
        named
            .iter()
            .map(|field| format!("`{field}`"))
            .collect::<Vec<_>>()
            .join(", "),
        all.join(", ")
    ))
}
