//! Classes of characters, as one bit per character.
//!
//! The `\w` of regular expressions differs between languages; here are two variants. Python's `re` is the one behind
//! BM25 tools and published runs. It has letters, numbers of every kind and the underscore, but no combining marks, so
//! it cuts हिन्दी into three. The `\w` of UTS 18 has marks.

use std::sync::LazyLock;

use regex_syntax::hir::{Class as HirClass, HirKind};

/// A set of characters, one bit per code point.
pub(crate) struct Class(Vec<u64>);

/// The characters that `\w` matches in Python.
pub(super) static PYTHON: LazyLock<Class> = LazyLock::new(|| Class::new(r"[\p{L}\p{N}_]"));

/// The word characters of UTS 18 (alphabetic, marks, decimal numbers, connectors, join controls). Added are the other
/// numbers that `\w` has in Python (² and ½, so that H₂O is one word), and the soft hyphen, a possible hyphenation
/// point within a word.
pub(super) static UNICODE: LazyLock<Class> =
    LazyLock::new(|| Class::new(r"[\p{Alphabetic}\p{M}\p{N}\p{Pc}\p{Join_Control}\u{AD}]"));

/// All characters but white space.
pub(super) static DARK: LazyLock<Class> = LazyLock::new(|| Class::new(r"\P{White_Space}"));

/// Combining marks.
pub(super) static MARKS: LazyLock<Class> = LazyLock::new(|| Class::new(r"\p{M}"));

/// Invisible characters: join controls, the soft hyphen, variation selectors, fillers.
pub(super) static IGNORABLE: LazyLock<Class> =
    LazyLock::new(|| Class::new(r"\p{Default_Ignorable_Code_Point}"));

/// Visible word characters that folding leaves unchanged unless they compose.
pub(super) static FOLDED: LazyLock<Class> = LazyLock::new(|| {
    Class::new(
        r"[[\p{Alphabetic}\p{M}\p{N}\p{Pc}]--\p{Changes_When_Lowercased}--\p{Default_Ignorable_Code_Point}--ς]",
    )
});

impl Class {
    /// The class that the regular expression `class` matches, by the tables of the `regex` crates.
    fn new(class: &str) -> Self {
        let mut bits = vec![0; 0x11_0000 / 64];
        let class = regex_syntax::parse(class).expect("a constant expression");
        if let HirKind::Class(HirClass::Unicode(class)) = class.kind() {
            for range in class.ranges() {
                for c in range.start()..=range.end() {
                    bits[c as usize / 64] |= 1 << (c as usize % 64);
                }
            }
        }
        Class(bits)
    }

    /// Whether the class has the character of this code point.
    #[inline]
    pub(crate) fn has(&self, code_point: u32) -> bool {
        let word = self.0.get(code_point as usize / 64);
        word.is_some_and(|word| word >> (code_point % 64) & 1 == 1)
    }
}

/// Whether `\w` matches `c` in Python.
pub(super) fn is_python(c: char) -> bool {
    PYTHON.has(c.into())
}

/// Whether `c` is a word character of UTS 18, a number of any kind or a soft hyphen.
pub(super) fn is_unicode(c: char) -> bool {
    UNICODE.has(c.into())
}

/// Whether `c` is a combining mark.
pub(super) fn is_mark(c: char) -> bool {
    MARKS.has(c.into())
}

/// Whether `c` is invisible.
pub(super) fn is_ignorable(c: char) -> bool {
    IGNORABLE.has(c.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const IN_BOTH: [char; 11] = ['a', 'Z', '0', '_', 'é', 'ß', '語', '٣', '²', '½', 'Ⅷ'];
    const IN_NONE: [char; 11] = [
        ' ', '-', '\'', '.', '€', '\u{a0}', '…', '\0', '’', '—', '\u{200b}',
    ];
    /// Marks, join controls, the soft hyphen, connectors, and alphabetic symbols.
    const IN_UNICODE: [char; 9] = [
        '\u{301}', '\u{93f}', '\u{5b8}', '\u{64e}', '\u{200c}', '\u{200d}', '\u{ad}', '‿', 'Ⓐ',
    ];

    #[test]
    fn letters_numbers_and_the_underscore() {
        for c in IN_BOTH {
            assert!(is_python(c) && is_unicode(c), "{c:?}");
        }
        for c in IN_NONE {
            assert!(!is_python(c) && !is_unicode(c), "{c:?}");
        }
        for c in IN_UNICODE {
            assert!(!is_python(c) && is_unicode(c), "{c:?}");
        }
    }

    #[test]
    fn white_space_is_that_of_the_standard_library() {
        for c in '\0'..=char::MAX {
            assert_eq!(DARK.has(c.into()), !c.is_whitespace(), "{c:?}");
        }
        assert!(!DARK.has(u32::MAX));
    }

    #[test]
    fn unicode_has_all_that_python_has() {
        for c in '\0'..=char::MAX {
            assert!(!is_python(c) || is_unicode(c), "{c:?}");
        }
    }
}
