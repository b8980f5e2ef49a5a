//! Hints for operators of other search engines, which are plain words here.

use super::{Mode, Search};
use crate::summary::note;

impl Search<'_> {
    /// Prints on standard error which parts of a query are operators in other search engines.
    pub fn hint(&self, text: &str) {
        if matches!(self.args.mode, Mode::Phrase) {
            return;
        }
        for hint in hints(text) {
            note(&format!("tokapi: {hint}\n"));
        }
    }
}

/// A sentence for each word outside of quotes that looks like an operator and is none here.
fn hints(text: &str) -> Vec<String> {
    let mut quoted = false;
    let outside = text.split('"').filter(|_| {
        quoted = !quoted;
        quoted
    });
    let words: Vec<&str> = outside.flat_map(str::split_whitespace).collect();
    // Alone, AND is a word.
    let is_alone = words.len() == 1;
    let hints = words.iter().filter_map(|word| {
        let bare = word.trim_start_matches(['+', '-', '(']);
        let bare = bare.trim_end_matches(')');
        let hint = match bare {
            "AND" | "&&" if !is_alone => "use --mode and, or + before each word that must occur",
            "OR" | "||" if !is_alone => "any of the words suffices already",
            "NOT" if !is_alone => "use - before a word that must not occur",
            _ if is_field(bare) => "use --filter FIELD:VALUE for exact values of a field",
            _ if has_wildcard(bare) => "there are no wildcards; write whole words",
            _ if is_followed_by_number(bare, '~') => "words match exactly",
            _ if is_followed_by_number(bare, '^') => "repeat a word to give it more weight",
            _ => return None,
        };
        Some(format!("`{word}` is no operator here: {hint}"))
    });
    hints.collect()
}

/// Whether the word is the name of a field, a colon and a value, and not a URL.
fn is_field(word: &str) -> bool {
    word.split_once(':').is_some_and(|(field, value)| {
        field.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && field
                .chars()
                .all(|c| c.is_alphanumeric() || "_.-".contains(c))
            && !value.is_empty()
            && !value.starts_with("//")
    })
}

/// Whether `*` touches a letter, or `?` stands between two.
fn has_wildcard(word: &str) -> bool {
    let chars: Vec<char> = word.chars().collect();
    let is_letter = |place: usize| chars.get(place).is_some_and(|c| c.is_alphanumeric());
    (0..chars.len()).any(|place| {
        let before = place > 0 && is_letter(place - 1);
        match chars[place] {
            '*' => before || is_letter(place + 1),
            '?' => before && is_letter(place + 1),
            _ => false,
        }
    })
}

/// Whether the word ends in `sign` and a number; `~` needs no number.
fn is_followed_by_number(word: &str, sign: char) -> bool {
    word.rsplit_once(sign).is_some_and(|(word, number)| {
        let is_number = number.parse::<f32>().is_ok();
        !word.is_empty() && (is_number || (sign == '~' && number.is_empty()))
    })
}

#[cfg(test)]
mod tests {
    use super::hints;

    #[test]
    fn operators_of_others_are_named() {
        for query in [
            "year:>1999",
            "fo*",
            "*fox",
            "f?x",
            "foxx~1",
            "foxx~",
            "fox^3",
            "fox^0.5",
            "a AND b",
            "a OR b",
            "a NOT b",
            "(a && b)",
            "+year:1999",
        ] {
            assert_eq!(hints(query).len(), 1, "{query}: {:?}", hints(query));
        }
        for query in [
            "",
            "fox",
            "what is bm25?",
            "https://example.org/a",
            "12:30",
            "Title: x",
            "AND",
            "c++ -d",
            "\"a AND b\" c",
            "salt and pepper",
            "5 * 3",
            "~",
            "x^y",
            "~/.bashrc",
        ] {
            assert_eq!(hints(query), [""; 0], "{query}");
        }
    }
}
