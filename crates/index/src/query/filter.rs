//! Filters: they select documents by field values and phrases, and leave deleted documents out.

use super::{Filter, Query};
use crate::Index;
use crate::document::{MOST_VALUE_BYTES, StoredDocument, key};
use crate::part::Part;
use crate::part::cursor::Cursor;
use crate::part::tokens::{Codes, Tokens};
use tokapi_storage::error::{Error, Kept, Result};

impl Filter {
    /// Parses a filter in query syntax: `field:value`, or `-field:value` for documents without the
    /// value.
    ///
    /// # Errors
    /// The text is neither; the index does not keep the field.
    pub fn parse(text: &str, index: &Index) -> Result<Self> {
        let of = |text: &str, not: bool| {
            let fields = index.keep().fields.iter();
            let found = fields.filter_map(|field| {
                let value = text.strip_prefix(field.as_str())?.strip_prefix(':')?;
                Some((field, value))
            });
            let (field, value) = found.max_by_key(|(field, _)| field.len())?;
            Some(Filter {
                field: field.clone(),
                value: value.to_owned(),
                not,
            })
        };
        let negated = text.strip_prefix(['-', '!']);
        if let Some(filter) = of(text, false).or_else(|| of(negated?, true)) {
            return Ok(filter);
        }
        match negated.unwrap_or(text).split_once(':') {
            Some((field, _)) => Err(no_field(field, index)),
            None => Err(Error::Usage(format!(
                "a filter is field:value or -field:value, and `{text}` is neither"
            ))),
        }
    }
}

/// The error for a field that the index does not keep.
fn no_field(field: &str, index: &Index) -> Error {
    Error::NotKept(Kept::Field {
        name: field.to_owned(),
        known: index.keep().fields.clone(),
    })
}

/// Checks that an index can answer the filters and phrases of a query.
pub(crate) fn check(index: &Index, query: &Query) -> Result<()> {
    if !query.phrases.is_empty() && !index.keep().positions {
        return Err(Error::NotKept(Kept::Positions));
    }
    for filter in &query.filters {
        if !index.keep().fields.contains(&filter.field) {
            return Err(no_field(&filter.field, index));
        }
        if filter.field == StoredDocument::SOURCE_FIELD {
            return Err(Error::Usage(format!(
                "`{}` is kept for display only; filter by another field",
                filter.field
            )));
        }
        if filter.value.len() > MOST_VALUE_BYTES {
            return Err(Error::Usage(format!(
                "a filter has at most {MOST_VALUE_BYTES} bytes, and the filter on `{}` has {}; use a shorter value",
                filter.field,
                filter.value.len()
            )));
        }
    }
    Ok(())
}

/// The number that a value denotes, in the spelling of the index: `2` for `2.0` and `2e0`. None if
/// it is not a JSON number.
fn as_number(value: &str) -> Option<String> {
    let number: serde_json::Number = serde_json::from_str(value).ok()?;
    match number.is_f64() {
        // Negative zero becomes zero.
        true => Some((number.as_f64()? + 0.0).to_string()),
        false => Some(number.to_string()),
    }
}

/// The lists that select documents of a part.
pub(crate) struct Filters<'a> {
    /// The lists that must contain a document, the shortest first.
    pub within: Vec<Cursor<'a>>,
    /// The lists that must not contain it.
    pub not: Vec<Cursor<'a>>,
    /// Whether a required list is missing from the part.
    misses_one: bool,
    phrases: Vec<PartPhrase<'a>>,
}

/// A phrase, resolved in a part.
struct PartPhrase<'a> {
    tokens: &'a Tokens,
    codes: Codes,
    not: bool,
}

impl PartPhrase<'_> {
    /// Whether a document satisfies the phrase condition.
    fn admits(&self, document: u32) -> Result<bool> {
        Ok(self.codes.occur_in(self.tokens.document(document)?) != self.not)
    }
}

impl<'a> Filters<'a> {
    /// The checked filters of a query, and the deleted documents.
    pub fn new(part: &'a Part, query: &Query) -> Result<Self> {
        let mut filters = Filters {
            within: Vec::new(),
            not: Vec::new(),
            misses_one: false,
            phrases: Vec::new(),
        };
        if let Some(deleted) = part.deleted()? {
            filters.not.push(Cursor::new(&deleted)?);
        }
        for filter in &query.filters {
            let find = |value: &str| match (key(&filter.field, value), &part.fields) {
                (Some(key), Some(lists)) => lists.find(key.as_bytes()),
                _ => Ok(None),
            };
            // The exact spelling is looked up first: strings such as `1.10` are not numbers.
            let found = match (find(&filter.value)?, as_number(&filter.value)) {
                (None, Some(number)) => find(&number)?,
                (found, _) => found,
            };
            match (found, filter.not) {
                (Some(found), true) => filters.not.push(Cursor::new(&found)?),
                (Some(found), false) => filters.within.push(Cursor::new(&found)?),
                (None, true) => {}
                (None, false) => filters.misses_one = true,
            }
        }
        for phrase in &query.phrases {
            let Some(tokens) = &part.tokens else {
                continue;
            };
            let ranks = phrase.terms.iter();
            let ranks = ranks.map(|term| tokens.ranks.of(&part.lists, term.as_bytes()));
            // A part without one of the terms has no occurrence of the phrase.
            match ranks.collect::<Result<Option<Vec<u32>>>>()? {
                Some(ranks) => filters.phrases.push(PartPhrase {
                    tokens,
                    codes: Codes::new(ranks),
                    not: phrase.not,
                }),
                None => filters.misses_one |= !phrase.not,
            }
        }
        filters.within.sort_by_key(|cursor| cursor.df);
        Ok(filters)
    }

    /// Whether no document passes.
    pub fn misses_one(&self) -> bool {
        self.misses_one
    }

    /// Whether every document passes.
    pub fn is_empty(&self) -> bool {
        self.within.is_empty() && self.not.is_empty() && !self.misses_one && !self.has_phrases()
    }

    /// Whether there are phrases to look for.
    pub fn has_phrases(&self) -> bool {
        !self.phrases.is_empty()
    }

    /// Resets all lists to their beginning.
    pub fn rewind(&mut self) {
        for cursor in self.within.iter_mut().chain(&mut self.not) {
            cursor.go_to_block(0);
        }
    }

    /// Whether `document` is in an excluded list or fails a phrase condition. Documents must be
    /// asked for in ascending order.
    pub fn excludes(&mut self, document: u32) -> Result<bool> {
        for cursor in &mut self.not {
            if cursor.seek(document)? == Some(document) {
                return Ok(true);
            }
        }
        Ok(!self.admits_phrases(document)?)
    }

    /// Whether `document` has all required phrases and no excluded one.
    pub fn admits_phrases(&self, document: u32) -> Result<bool> {
        for phrase in &self.phrases {
            if !phrase.admits(document)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether `document` passes. Documents must be asked for in ascending order.
    pub fn admits(&mut self, document: u32) -> Result<bool> {
        for cursor in &mut self.within {
            if cursor.seek(document)? != Some(document) {
                return Ok(false);
            }
        }
        Ok(!self.excludes(document)?)
    }

    /// Keeps the `documents` that pass the lists. They ascend and come after those of earlier
    /// calls. Phrases are not checked.
    pub fn retain(&mut self, documents: &mut Vec<u32>) -> Result<()> {
        for cursor in &mut self.within {
            cursor.intersect(documents)?;
        }
        for cursor in &mut self.not {
            cursor.subtract(documents)?;
        }
        Ok(())
    }

    /// Keeps the `documents` that have all required phrases and no excluded one.
    pub fn retain_phrases(&self, documents: &mut Vec<u32>) -> Result<()> {
        if !self.has_phrases() {
            return Ok(());
        }
        let mut kept = 0;
        for place in 0..documents.len() {
            documents[kept] = documents[place];
            kept += usize::from(self.admits_phrases(documents[place])?);
        }
        documents.truncate(kept);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_one_spelling() {
        for (value, number) in [
            ("2.0", Some("2")),
            ("2", Some("2")),
            ("-0", Some("0")),
            ("-0.0", Some("0")),
            ("1e3", Some("1000")),
            ("0.50", Some("0.5")),
            ("18446744073709551615", Some("18446744073709551615")),
            ("02139", None),
            ("two", None),
            ("", None),
        ] {
            assert_eq!(as_number(value).as_deref(), number, "{value}");
        }
    }
}
