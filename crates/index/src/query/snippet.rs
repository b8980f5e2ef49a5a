//! Snippets: the part of a text that matches the query best.

use std::ops::Range;

use hashbrown::HashMap;

use super::Query;
use super::terms::WeighedQuery;
use crate::Index;
use crate::weighing::Weighing;
use tokapi_storage::error::Result;
use tokapi_text::analyze::Analyzer;
use tokapi_weigh::formula::Bm25;

/// Bytes of a text that are searched for a snippet. The limit keeps the time of a document of a
/// gigabyte as low as that of any other.
const SEARCHED_BYTES: usize = 1 << 20;

/// Characters that change the direction of text. They could hide the meaning of a line.
const DIRECTIONS: [Range<char>; 2] = ['\u{202a}'..'\u{202f}', '\u{2066}'..'\u{206a}'];

/// Part of a text on one line, without control characters.
///
/// [`Highlighter`] has an example.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snippet {
    /// The text. An ellipsis marks omitted text before or after it.
    pub text: String,
    /// The byte ranges of the query's terms in the text, ascending.
    pub highlights: Vec<Range<usize>>,
}

/// Finds the terms of a query in texts.
///
/// ```
/// # use tokapi_index::query::Query;
/// # use tokapi_index::{Index, IndexBuilder};
/// # use tokapi_text::corpus::{Corpus, CorpusOptions, Document};
/// # fn main() -> tokapi_storage::error::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("index");
/// # let documents = [Document::new("a", "Boundary layers"), Document::new("b", "Wing flow")];
/// # let corpus = Corpus::from_documents(documents, CorpusOptions::default());
/// # IndexBuilder::new(&path).build(corpus)?;
/// let index = Index::open(&path)?;
/// let highlighter = index.highlighter(&Query::any(["flow"]))?;
/// let snippet = highlighter.snippet("Wing flow", 60);
/// assert_eq!(&snippet.text[snippet.highlights[0].clone()], "flow");
/// # Ok(())
/// # }
/// ```
pub struct Highlighter<'a> {
    analyzer: &'a Analyzer,
    /// The numbers of the terms, and the value of each in a snippet.
    terms: HashMap<String, usize>,
    worths: Vec<u64>,
}

/// An occurrence of a query term in a text.
struct Occurrence {
    bytes: Range<usize>,
    characters: Range<usize>,
    term: usize,
}

impl Index {
    /// Prepares to find the terms of `query` in texts.
    ///
    /// # Errors
    /// The index is damaged.
    pub fn highlighter(&self, query: &Query) -> Result<Highlighter<'_>> {
        let (mut terms, mut worths) = (HashMap::new(), Vec::new());
        // By idf, even if scores are sums of impacts.
        let weighing = Weighing::by(&Bm25::default());
        for term in WeighedQuery::new(self, query, weighing, None)?.terms {
            if !term.not {
                // An idf is a few units at most; every term has a value above 0.
                worths.push((1000.0 * term.idf.max(0.0)) as u64 + 1);
                terms.insert(term.term.to_owned(), terms.len());
            }
        }
        Ok(Highlighter {
            analyzer: self.analyzer(),
            terms,
            worths,
        })
    }
}

impl Highlighter<'_> {
    /// The part of `text`, of about `characters` characters, with the highest sum of idf of the
    /// query's terms; the beginning of the text if it has none of them.
    pub fn snippet(&self, text: &str, characters: usize) -> Snippet {
        let mut end = text.len().min(SEARCHED_BYTES);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let occurrences = self.occurrences(&text[..end]);
        let best = self.best(&occurrences, characters);
        let window = around(text, &occurrences[best], characters);
        clean(text, window, &occurrences)
    }

    fn occurrences(&self, text: &str) -> Vec<Occurrence> {
        let mut occurrences = Vec::new();
        // The terms of the raw words seen so far.
        let mut seen: HashMap<&str, Option<usize>> = HashMap::new();
        let (mut at, mut character) = (0, 0);
        for (start, raw) in self.analyzer.raw_terms(text) {
            let term = *seen.entry(raw).or_insert_with(|| {
                let term = self.analyzer.normalize(raw)?;
                self.terms.get(&*term).copied()
            });
            if let Some(term) = term {
                character += text[at..start].chars().count();
                let length = raw.chars().count();
                at = start + raw.len();
                occurrences.push(Occurrence {
                    bytes: start..at,
                    characters: character..character + length,
                    term,
                });
                character += length;
            }
        }
        occurrences
    }

    /// The first sequence of occurrences within `characters` with the highest value. Every term
    /// counts once.
    fn best(&self, occurrences: &[Occurrence], characters: usize) -> Range<usize> {
        let mut counts = vec![0u64; self.worths.len()];
        let (mut best, mut most, mut worth) = (0..0, (0, 0), 0);
        let mut from = 0;
        for (last, occurrence) in occurrences.iter().enumerate() {
            counts[occurrence.term] += 1;
            if counts[occurrence.term] == 1 {
                worth += self.worths[occurrence.term];
            }
            while from < last
                && occurrence.characters.end - occurrences[from].characters.start > characters
            {
                let term = occurrences[from].term;
                counts[term] -= 1;
                if counts[term] == 0 {
                    worth -= self.worths[term];
                }
                from += 1;
            }
            let here = (worth, last + 1 - from);
            if here > most {
                (best, most) = (from..last + 1, here);
            }
        }
        best
    }
}

/// A window of about `characters` characters around the occurrences, in bytes. It ends at word
/// boundaries if there is room.
fn around(text: &str, occurrences: &[Occurrence], characters: usize) -> Range<usize> {
    let (first, last) = match occurrences {
        [first, .., last] => (first, last),
        [only] => (only, only),
        [] => {
            let end = text.char_indices().nth(characters);
            return 0..end.map_or(text.len(), |(at, _)| word_end(text, 0, at));
        }
    };
    let room = last.characters.end - first.characters.start;
    let room = characters.saturating_sub(room);
    let before = first.characters.start.min(room / 2);
    let start = match before {
        0 => first.bytes.start,
        _ => {
            let mut before = text[..first.bytes.start]
                .char_indices()
                .rev()
                .skip(before - 1);
            before.next().map_or(0, |(at, _)| at)
        }
    };
    let mut behind = text[last.bytes.end..].char_indices().skip(room - before);
    let end = behind.next().map(|(at, _)| last.bytes.end + at);
    let start = match text[start..first.bytes.start].find(char::is_whitespace) {
        Some(space) if start > 0 => start + space,
        _ => start,
    };
    start..end.map_or(text.len(), |end| word_end(text, last.bytes.end, end))
}

/// The last word boundary between `from` and `end`, if there is one.
fn word_end(text: &str, from: usize, end: usize) -> usize {
    if text[end..].starts_with(char::is_whitespace) {
        return end;
    }
    let space = text[from..end].rfind(char::is_whitespace);
    space.map_or(end, |space| from + space)
}

/// The text of a window on one line, and the ranges of the occurrences in it.
fn clean(text: &str, window: Range<usize>, occurrences: &[Occurrence]) -> Snippet {
    let first = occurrences.partition_point(|occurrence| occurrence.bytes.start < window.start);
    let mut occurrences = occurrences[first..].iter().peekable();
    let mut snippet = Snippet::default();
    if !text[..window.start].trim().is_empty() {
        snippet.text.push('…');
    }
    let bare = snippet.text.len();
    let mut open: Option<(usize, usize)> = None;
    let mut needs_space = false;
    for (at, character) in text[window.clone()].char_indices() {
        let at = window.start + at;
        close(&mut open, at, &mut snippet);
        if DIRECTIONS.iter().any(|range| range.contains(&character)) {
            continue;
        }
        let is_blank = character.is_whitespace() || character.is_control();
        if is_blank {
            needs_space = snippet.text.len() > bare;
            continue;
        }
        if std::mem::take(&mut needs_space) {
            snippet.text.push(' ');
        }
        // An occurrence may begin with omitted characters.
        while let Some(occurrence) = occurrences.next_if(|next| next.bytes.start <= at) {
            open = Some((snippet.text.len(), occurrence.bytes.end));
        }
        snippet.text.push(character);
    }
    close(&mut open, window.end, &mut snippet);
    if !text[window.end..].trim_end().is_empty() {
        snippet.text.push('…');
    }
    snippet
}

/// Ends the highlight whose end is at byte `at` of the text or before.
fn close(open: &mut Option<(usize, usize)>, at: usize, snippet: &mut Snippet) {
    if let Some((start, _)) = open.take_if(|(_, end)| *end <= at) {
        snippet.highlights.push(start..snippet.text.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tokapi_text::analyze::AnalyzerOptions;

    fn highlighter<'a>(analyzer: &'a Analyzer, terms: &[(&str, u64)]) -> Highlighter<'a> {
        let numbers = terms.iter().enumerate();
        Highlighter {
            analyzer,
            terms: numbers
                .map(|(number, (term, _))| ((*term).to_owned(), number))
                .collect(),
            worths: terms.iter().map(|(_, worth)| *worth).collect(),
        }
    }

    /// The snippet with its highlights in brackets.
    fn marked(snippet: &Snippet) -> String {
        let mut text = snippet.text.clone();
        for range in snippet.highlights.iter().rev() {
            text.insert(range.end, ']');
            text.insert(range.start, '[');
        }
        text
    }

    #[test]
    fn the_window_has_what_is_worth_most() {
        let stemmed = Analyzer::new(&AnalyzerOptions::default().stemmer("english".to_owned()));
        let stemmed = stemmed.unwrap();
        let find = highlighter(&stemmed, &[("run", 10), ("dog", 10), ("the", 1)]);
        let text =
            "The dog. the the the the the the. And then the Dogs were\n\n running; the end of it";
        assert_eq!(
            marked(&find.snippet(text, 30)),
            "…[the] [Dogs] were [running]; [the]…"
        );
        assert_eq!(
            marked(&find.snippet("nothing here but words", 10)),
            "nothing…"
        );
        assert_eq!(marked(&find.snippet("a dog", 200)), "a [dog]");
        assert_eq!(marked(&find.snippet("", 200)), "");
        assert_eq!(marked(&find.snippet("dog", 0)), "[dog]");
        let escapes = "a\u{1b}[31m dog\u{7}\r\n\u{9b}2J \u{202e}dogs";
        assert_eq!(
            marked(&find.snippet(escapes, 200)),
            "a [31m [dog] 2J [dogs]"
        );
    }

    proptest! {
        #[test]
        fn snippets_are_short_and_clean(text in "(\\PC|[ -~]|dog |\n|\t|\u{1b}|\u{202e}|日本){0,120}", characters in 0..60usize) {
            let usual = Analyzer::default();
            let find = highlighter(&usual, &[("dog", 10), ("日本", 20)]);
            let snippet = find.snippet(&text, characters);
            prop_assert!(!snippet.text.contains(char::is_control));
            // A term longer than the window is shown in full.
            let most = characters.max(usual.raw_terms(&text).map(|(_, raw)| raw.chars().count()).max().unwrap_or(0));
            prop_assert!(snippet.text.chars().count() <= most + 2, "{:?}", snippet);
            for range in &snippet.highlights {
                prop_assert!(range.start < range.end);
                let shown = &snippet.text[range.clone()];
                let terms: Vec<String> = usual.terms(shown).collect();
                prop_assert!(terms == ["dog"] || terms == ["日本"], "{:?}", snippet);
            }
        }
    }
}
