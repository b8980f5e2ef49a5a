//! The ends of records: at a mark in the text, or found by the quotes and brackets before.

use super::format::Format;
use super::{csv, json};

/// The state at the end of a record that the text after it depends on.
#[derive(Clone, Copy)]
pub(super) enum Ends {
    /// A mark ends a record, regardless of the text before.
    Marks(Format),
    Csv(csv::State),
    Json(json::State),
}

impl Ends {
    pub fn of(format: Format) -> Self {
        match format {
            Format::Csv => Ends::Csv(csv::State::default()),
            Format::Json => Ends::Json(json::State::default()),
            format => Ends::Marks(format),
        }
    }

    /// One past the end of the last whole record in `bytes`, and the state there. The first `searched` bytes have been
    /// scanned and hold no end.
    pub fn last(&mut self, bytes: &[u8], searched: usize) -> Option<(usize, Ends)> {
        match self {
            Ends::Marks(format) => {
                let end = format.last_record_end(bytes, searched)?;
                Some((end, *self))
            }
            Ends::Csv(state) => {
                let end = state.last_end(&bytes[searched..])?;
                Some((searched + end, Ends::Csv(csv::State::default())))
            }
            Ends::Json(state) => {
                let (end, there) = state.last_end(&bytes[searched..])?;
                Some((searched + end, Ends::Json(there)))
            }
        }
    }

    /// Whether an array is still open.
    pub fn is_open(&self) -> bool {
        matches!(self, Ends::Json(state) if state.in_array())
    }
}
