//! One spelling for equivalent texts: words in lower case, composed.
//!
//! Text may hold é as one character or as e and a mark. Both must be one term. Words are lower-cased character by
//! character, and then composed to NFC. The order matters: T̈ has no character of its own, but ẗ has. ς becomes σ
//! everywhere, as in Unicode's case folding, so that a term depends on no context. Invisible characters are removed,
//! and so are marks without a base character: ≠ may be spelled as = and a mark, and the mark must not begin the next
//! word.
//!
//! The tests try all characters. Canonically equivalent words fold to the same bytes, and folding twice changes
//! nothing.

use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use super::word::{FOLDED, is_ignorable, is_mark};

/// The folded spelling of `raw`, a run of word characters; `None` if no visible character remains.
pub(super) fn fold(raw: &str) -> Option<Cow<'_, str>> {
    if is_folded(raw) {
        return Some(Cow::Borrowed(raw));
    }
    let seen = raw
        .chars()
        .filter(|&c| !is_ignorable(c))
        .skip_while(|&c| is_mark(c));
    let lower = seen.flat_map(char::to_lowercase);
    let folded: String = lower
        .map(|c| if c == 'ς' { 'σ' } else { c })
        .nfc()
        .collect();
    (!folded.is_empty()).then_some(Cow::Owned(folded))
}

/// Whether `raw` is surely folded; may be false for a folded word.
fn is_folded(raw: &str) -> bool {
    !raw.starts_with(is_mark)
        && raw.chars().all(|c| FOLDED.has(c.into()))
        && is_nfc_quick(raw.chars()) == IsNormalized::Yes
}

#[cfg(test)]
mod tests {
    use super::super::word::is_unicode;
    use super::*;

    fn folded(raw: &str) -> String {
        fold(raw).map_or(String::new(), Cow::into_owned)
    }

    fn nfd(text: &str) -> String {
        text.nfd().collect()
    }

    #[test]
    fn one_spelling() {
        for (raw, expected) in [
            ("Café", "café"),
            ("cafe\u{301}", "café"),
            ("T\u{308}", "ẗ"),
            ("İ", "i\u{307}"),
            ("ΛΌΓΟΣ", "λόγοσ"),
            ("λόγος", "λόγοσ"),
            ("\u{212b}ngstro\u{308}m", "ångström"),
            ("H₂O", "h₂o"),
            ("co\u{ad}operate", "cooperate"),
            ("می\u{200c}خواهم", "میخواهم"),
            ("\u{338}b", "b"),
            ("\u{fe0f}", ""),
            ("1\u{fe0f}\u{20e3}", "1\u{20e3}"),
            ("e\u{200d}\u{301}", "é"),
        ] {
            assert_eq!(folded(raw), expected, "{raw:?}");
        }
        for same in ["straße", "हिन्दी", "ภาษาไทย", "한국어", "việt"]
        {
            assert!(matches!(fold(same), Some(Cow::Borrowed(_))), "{same:?}");
        }
    }

    /// The laws that make equivalent texts equal, for every character. A text consists of characters, so the laws hold
    /// for texts.
    #[test]
    fn every_character_is_folded_as_its_decomposition_is() {
        for c in '\0'..=char::MAX {
            let (whole, apart) = (c.to_string(), nfd(&c.to_string()));
            // Cutting: a decomposition belongs to words as a whole, or only its marks do.
            match is_unicode(c) {
                true => assert!(apart.chars().all(is_unicode), "{c:?}"),
                false => assert!(
                    apart
                        .chars()
                        .all(|d| d == c || !is_unicode(d) || is_mark(d)),
                    "{c:?}"
                ),
            }
            assert!(apart.starts_with(is_mark) == is_mark(c), "{c:?}");
            if is_mark(c) {
                assert!(apart.chars().all(is_mark), "{c:?}");
            }
            let lower = c.to_lowercase().eq([c]) && c != 'ς';
            assert!(!FOLDED.has(c.into()) || lower && !is_ignorable(c), "{c:?}");
            let ignorable = is_ignorable(c);
            assert!(apart.chars().all(|d| is_ignorable(d) == ignorable), "{c:?}");
            // Folding, alone and after a letter.
            for before in ["", "a"] {
                let (whole, apart) = (format!("{before}{whole}"), format!("{before}{apart}"));
                assert_eq!(folded(&whole), folded(&apart), "{c:?}");
                assert_eq!(folded(&folded(&whole)), folded(&whole), "{c:?}");
                assert_eq!(folded(&whole).to_lowercase(), folded(&whole), "{c:?}");
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn what_is_folded_stays(raw in "\\PC{0,8}|[a-zA-Zςσ\u{301}\u{307}\u{323}\u{345}\u{200d}İΑΤ]{0,8}") {
            let once = folded(&raw);
            proptest::prop_assert_eq!(folded(&once), once.clone());
            proptest::prop_assert_eq!(folded(&nfd(&raw)), once.clone());
            proptest::prop_assert_eq!(folded(&raw.nfc().collect::<String>()), once);
        }
    }
}
