//! The ways to cut text, by name.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{fold, word};

/// How text is cut into terms, and which spellings are one term.
///
/// The order and the stored names are part of the format of indexes and jobs. `unicode` is the former name of
/// [`Cut::Python`], and still means it in stored data.
///
/// ```
/// # use tokapi_text::analyze::{Analyzer, Cut};
/// let terms = |cut: Cut| Analyzer::from(cut).terms("Wi-Fi, 2nd").collect::<Vec<_>>();
/// assert_eq!(terms(Cut::Unicode), ["wi", "fi", "2nd"]);
/// assert_eq!(terms(Cut::Whitespace), ["Wi-Fi,", "2nd"]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Cut {
    /// Cuts by byte classes. ASCII letters and digits and all bytes of multi-byte characters are kept; ASCII letters
    /// are lower-cased.
    Plain,
    /// Runs that the regular expression `\w+` matches in Python: letters, numbers and the underscore, but no marks;
    /// lower-cased.
    #[serde(alias = "unicode")]
    Python,
    /// Runs of anything but white space, unchanged.
    Whitespace,
    /// Words with their marks: runs of letters, marks, numbers and connectors such as the
    /// underscore, lower-cased and composed to NFC.
    ///
    /// These are the word characters of UTS 18, plus numbers such as ² and ½. Join controls, soft hyphens and variation
    /// selectors do not separate words, and are removed from terms. ς becomes σ. A mark without a character before it
    /// is dropped.
    #[default]
    #[serde(rename = "unicode-nfc")]
    Unicode,
}

impl Cut {
    /// All of them.
    pub const ALL: [Cut; 4] = [Cut::Plain, Cut::Python, Cut::Whitespace, Cut::Unicode];

    /// Whether `c` is a term character.
    pub(super) fn is_term_char(self, c: char) -> bool {
        match self {
            Cut::Plain => c.is_ascii_alphanumeric() || !c.is_ascii(),
            Cut::Python => word::is_python(c),
            Cut::Whitespace => !c.is_whitespace(),
            Cut::Unicode => word::is_unicode(c),
        }
    }

    /// Whether a term can begin with `c`. A mark without a base character cannot, nor can an invisible character.
    pub(super) fn begins_term(self, c: char) -> bool {
        let hangs = self == Cut::Unicode && (word::is_mark(c) || word::is_ignorable(c));
        self.is_term_char(c) && !hangs
    }

    /// The folded spelling of `raw`; `None` if no visible character remains.
    pub(super) fn fold(self, raw: &str) -> Option<Cow<'_, str>> {
        Some(match self {
            Cut::Whitespace => Cow::Borrowed(raw),
            _ if raw.bytes().all(|b| b.is_ascii() && !b.is_ascii_uppercase()) => Cow::Borrowed(raw),
            Cut::Plain => Cow::Owned(raw.to_ascii_lowercase()),
            Cut::Python => Cow::Owned(raw.to_lowercase()),
            Cut::Unicode => return fold::fold(raw),
        })
    }

    /// The name in descriptions.
    pub(super) fn name(self) -> &'static str {
        match self {
            Cut::Plain => "Plain",
            Cut::Python => "Python",
            Cut::Whitespace => "Whitespace",
            Cut::Unicode => "Unicode words",
        }
    }
}
