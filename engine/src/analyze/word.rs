//! What `\w` matches in Unicode mode, as a bit per character.
//!
//! Regular expressions differ here. This is the `\w` of Python's `re`, which BM25 tools and
//! published runs are made with: letters, numbers of every kind and the underscore, but no
//! combining marks.

use std::sync::LazyLock;

use regex_syntax::hir::{Class, HirKind};

/// One bit per code point, from the tables of the `regex` family.
static WORD: LazyLock<Vec<u64>> = LazyLock::new(|| {
    let mut bits = vec![0; 0x11_0000 / 64];
    let class = regex_syntax::parse(r"[\p{L}\p{N}_]").expect("a constant expression");
    if let HirKind::Class(Class::Unicode(class)) = class.kind() {
        for range in class.ranges() {
            for c in range.start()..=range.end() {
                bits[c as usize / 64] |= 1 << (c as usize % 64);
            }
        }
    }
    bits
});

/// Whether `\w` matches `c`.
#[inline]
pub(super) fn is_word(c: char) -> bool {
    WORD[c as usize / 64] >> (c as usize % 64) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::is_word;

    #[test]
    fn letters_numbers_and_the_underscore() {
        for c in ['a', 'Z', '0', '_', 'é', 'ß', '語', '٣', '²', '½', 'Ⅷ'] {
            assert!(is_word(c), "{c:?}");
        }
        for c in [
            ' ', '-', '\'', '.', '€', '\u{a0}', '…', '\0', '\u{301}', '\u{200d}', '‿',
        ] {
            assert!(!is_word(c), "{c:?}");
        }
    }
}
