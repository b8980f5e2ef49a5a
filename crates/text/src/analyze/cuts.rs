//! The ways to cut text, by name.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{fold, word};

/// How text is cut into terms, and what is one term however it is spelled.
///
/// The order and the stored names are part of the format of indexes and of jobs: `unicode` was the
/// name of [`Cut::Python`] once, and means it wherever it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cut {
    /// By byte classes: ASCII letters and digits and every byte of a multi-byte character are
    /// kept, ASCII letters lower-cased.
    Plain,
    /// Runs of what the regular expression `\w+` matches in Python: letters, numbers and the
    /// underscore, but no marks; lower-cased.
    #[serde(alias = "unicode")]
    Python,
    /// Runs of anything but white space, as they are.
    Whitespace,
    /// Words with their marks: runs of letters, marks, numbers and connectors such as the
    /// underscore, lower-cased and composed to NFC.
    ///
    /// These are the word characters of UTS 18, and numbers such as ² and ½ too. Join controls, soft
    /// hyphens and variation selectors do not part words and are left out of terms. ς is σ. A mark
    /// without a character before it is dropped.
    #[default]
    #[serde(rename = "unicode-nfc")]
    Unicode,
}

impl Cut {
    /// All of them.
    pub const ALL: [Cut; 4] = [Cut::Plain, Cut::Python, Cut::Whitespace, Cut::Unicode];

    /// Whether `c` belongs to terms rather than between them.
    pub(super) fn is_term_char(self, c: char) -> bool {
        match self {
            Cut::Plain => c.is_ascii_alphanumeric() || !c.is_ascii(),
            Cut::Python => word::is_python(c),
            Cut::Whitespace => !c.is_whitespace(),
            Cut::Unicode => word::is_unicode(c),
        }
    }

    /// Whether a term can begin with `c`: not with a mark that has no character to stand on, nor with
    /// what is not seen.
    pub(super) fn begins_term(self, c: char) -> bool {
        let hangs = self == Cut::Unicode && (word::is_mark(c) || word::is_ignorable(c));
        self.is_term_char(c) && !hangs
    }

    /// The one spelling of `raw`; `None` where nothing of it is seen.
    pub(super) fn fold(self, raw: &str) -> Option<Cow<'_, str>> {
        Some(match self {
            Cut::Whitespace => Cow::Borrowed(raw),
            _ if raw.bytes().all(|b| b.is_ascii() && !b.is_ascii_uppercase()) => Cow::Borrowed(raw),
            Cut::Plain => Cow::Owned(raw.to_ascii_lowercase()),
            Cut::Python => Cow::Owned(raw.to_lowercase()),
            Cut::Unicode => return fold::fold(raw),
        })
    }

    /// Its name in descriptions.
    pub(super) fn name(self) -> &'static str {
        match self {
            Cut::Plain => "Plain",
            Cut::Python => "Python",
            Cut::Whitespace => "Whitespace",
            Cut::Unicode => "Unicode words",
        }
    }
}
