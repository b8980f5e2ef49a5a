//! The data of documents that an index keeps besides postings.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::part::Part;

/// The data of documents that an index keeps besides postings.
///
/// [`IndexBuilder`](crate::IndexBuilder) has an example.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Keep {
    /// Whether it keeps texts.
    #[serde(default)]
    pub text: bool,
    /// The fields that it keeps, for display and filters, in the order of the records.
    #[serde(default)]
    pub fields: Vec<String>,
    /// Whether it keeps the order of terms, for phrases.
    #[serde(default)]
    pub positions: bool,
}

impl Keep {
    tokapi_storage::setters! { text: bool, fields: each impl Into<String>, positions: bool }

    /// Whether it keeps nothing.
    pub fn is_nothing(&self) -> bool {
        *self == Keep::default()
    }

    /// Whether this is `before`, perhaps with further fields after those that it has.
    pub(crate) fn goes_on_from(&self, before: &Keep) -> bool {
        (self.text, self.positions) == (before.text, before.positions)
            && self.fields.starts_with(&before.fields)
            && before.fields.is_empty() == self.fields.is_empty()
    }

    /// Whether there is a store.
    pub(crate) fn stores(&self) -> bool {
        self.text || !self.fields.is_empty()
    }

    /// Whether a part stores exactly this data.
    pub(crate) fn is_kept_by(&self, part: &Part) -> bool {
        part.fields.is_some() != self.fields.is_empty()
            && part.store.is_some() == self.stores()
            && part.tokens.is_some() == self.positions
    }
}

impl fmt::Display for Keep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut kept = Vec::new();
        if self.text {
            kept.push("texts".to_owned());
        }
        if !self.fields.is_empty() {
            kept.push(format!("the fields {}", self.fields.join(", ")));
        }
        if self.positions {
            kept.push("positions".to_owned());
        }
        match kept.is_empty() {
            true => f.write_str("nothing besides postings"),
            false => f.write_str(&kept.join(" and ")),
        }
    }
}
