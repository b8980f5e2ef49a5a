//! From a document's text to its terms.
//!
//! An analyzer first *cuts* text into raw terms: maximal runs of term characters. A table of classes decides
//! (`cut.rs`), so every engine cuts the same terms. The analyzer then *normalizes* raw terms: lower case and one
//! spelling (`fold.rs`), length limits, stop words, stemming. The second step depends on the raw term alone, so engines
//! apply it once per distinct raw term, not once per occurrence.

pub mod cut;
mod cuts;
mod fold;
mod stemmers;
mod stop_words;
mod word;

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use snowball_stemmers_rs::Stemmer;

pub use cuts::Cut;
pub use stemmers::{Language, STEMMERS};
pub use stop_words::StopWords;
use tokapi_storage::error::{Error, Result};

/// The options of an [`Analyzer`], which has an example.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AnalyzerOptions {
    /// How text is cut.
    pub cut: Cut,
    /// The terms to drop. Both sides are lower-cased and folded as [`Cut`] says before they are compared; stemming
    /// comes after.
    pub stop_words: StopWords,
    /// The Snowball stemmer, by a name from [`STEMMERS`].
    pub stemmer: Option<String>,
    /// Terms of fewer characters are dropped; counted before stemming.
    pub min_length: Option<usize>,
    /// Terms of more characters are dropped; counted before stemming.
    pub max_length: Option<usize>,
}

impl AnalyzerOptions {
    tokapi_storage::setters! {
        cut: Cut, stop_words: StopWords, stemmer: impl Into<Option<String>>,
        min_length: impl Into<Option<usize>>, max_length: impl Into<Option<usize>>,
    }
}

/// Turns text into terms; see the [module](self). Clones share its tables.
///
/// ```
/// # use tokapi_text::analyze::{Analyzer, AnalyzerOptions, StopWords};
/// let options = AnalyzerOptions::default()
///     .stop_words(StopWords::English)
///     .stemmer("english".to_owned());
/// let analyzer = Analyzer::new(&options)?;
/// let terms: Vec<String> = analyzer.terms("The wings of the aircraft").collect();
/// assert_eq!(terms, ["wing", "aircraft"]);
/// assert_eq!(analyzer.to_string(), "Unicode words; 33 stop words; stemmer english");
/// # Ok::<(), tokapi_storage::error::Error>(())
/// ```
#[derive(Clone)]
pub struct Analyzer {
    cut: Cut,
    stop_words: Arc<HashSet<Box<[u8]>>>,
    stemmer: Option<Arc<Stemmer>>,
    min_length: usize,
    max_length: usize,
    /// The language of the stemmer, by name.
    stemmer_name: Option<String>,
}

impl AnalyzerOptions {
    /// Drops the stop words that no term can match by their spelling. Earlier versions stored stop words as given, so
    /// these had no effect; the terms of such an index are those without them.
    pub fn drop_idle_stop_words(&mut self) {
        if let StopWords::These(words) = &mut self.stop_words {
            words.retain(|word| self.cut.fold(word).is_some_and(|folded| folded == **word));
        }
    }
}

impl Default for Analyzer {
    fn default() -> Self {
        Cut::default().into()
    }
}

impl From<Cut> for Analyzer {
    /// An analyzer that cuts only; it neither drops nor stems.
    fn from(cut: Cut) -> Self {
        Analyzer {
            cut,
            stop_words: Arc::default(),
            stemmer: None,
            min_length: 0,
            max_length: usize::MAX,
            stemmer_name: None,
        }
    }
}

impl From<&Analyzer> for Analyzer {
    fn from(analyzer: &Analyzer) -> Self {
        analyzer.clone()
    }
}

/// In words, for people: `Unicode words; no stop words; no stemmer`.
impl fmt::Display for Analyzer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.cut.name())?;
        match self.stop_words.len() {
            0 => f.write_str("; no stop words")?,
            1 => f.write_str("; 1 stop word")?,
            count => write!(f, "; {count} stop words")?,
        }
        match &self.stemmer_name {
            None => f.write_str("; no stemmer")?,
            Some(language) => write!(f, "; stemmer {language}")?,
        }
        match (self.min_length, self.max_length) {
            (0, usize::MAX) => Ok(()),
            (least, usize::MAX) => write!(f, "; terms of {least} characters or more"),
            (least, most) => write!(f, "; terms of {least} to {most} characters"),
        }
    }
}

impl Analyzer {
    /// Options that build the same analyzer again, without any file.
    pub fn options(&self) -> AnalyzerOptions {
        let words = self.stop_words.iter();
        let words = words.map(|word| String::from_utf8_lossy(word).into_owned());
        let mut words: Vec<String> = words.collect();
        words.sort_unstable();
        AnalyzerOptions::default()
            .cut(self.cut)
            .stop_words(match words.is_empty() {
                true => StopWords::None,
                false => StopWords::These(words),
            })
            .stemmer(self.stemmer_name.clone())
            .min_length(Some(self.min_length).filter(|&length| length > 0))
            .max_length(Some(self.max_length).filter(|&length| length < usize::MAX))
    }

    /// A description in words. Two analyzers have the same one only if they give the same terms.
    pub fn description(&self) -> String {
        self.description_as(self.cut.name())
    }

    /// The description for journals. It keeps the first name of [`Cut::Python`], so that jobs begun under that name can
    /// be resumed.
    pub fn journal_description(&self) -> String {
        self.description_as(match self.cut {
            Cut::Python => "Unicode",
            cut => cut.name(),
        })
    }

    fn description_as(&self, cut: &str) -> String {
        let mut stop_words: Vec<&[u8]> = self.stop_words.iter().map(|word| &word[..]).collect();
        stop_words.sort_unstable();
        let checksum = stop_words.iter().fold(0, |sum, word| {
            let mut hasher = crc32fast::Hasher::new_with_initial(sum);
            hasher.update(word);
            hasher.update(b"\n");
            hasher.finalize()
        });
        format!(
            "{cut}, {} stop words ({checksum:08x}), stemmer {}, length {}",
            stop_words.len(),
            self.stemmer_name.as_deref().unwrap_or("none"),
            match self.max_length {
                usize::MAX => format!("from {}", self.min_length),
                most => format!("{} to {most}", self.min_length),
            }
        )
    }

    /// Prepares an analyzer.
    ///
    /// # Errors
    /// An unknown stemmer, length limits that no term can meet, an unreadable stop word file.
    pub fn new(options: &AnalyzerOptions) -> Result<Self> {
        let stemmer = match &options.stemmer {
            None => None,
            Some(name) => Some(Arc::new(Stemmer::create(stemmers::language(name)?))),
        };
        let (min_length, max_length) = (
            options.min_length.unwrap_or(0),
            options.max_length.unwrap_or(usize::MAX),
        );
        if min_length > max_length {
            return Err(Error::Usage(format!(
                "no term has at least {min_length} and at most {max_length} characters; \
                 raise the maximum length or lower the minimum"
            )));
        }
        Ok(Analyzer {
            cut: options.cut,
            stop_words: Arc::new(options.stop_words.load(options.cut)?),
            stemmer,
            min_length,
            max_length,
            stemmer_name: options.stemmer.clone(),
        })
    }

    /// The terms of `text` in order: the definition, one character at a time.
    pub fn terms<'a>(&'a self, text: &'a str) -> impl Iterator<Item = String> + 'a {
        let raw = self.raw_terms(text);
        raw.filter_map(|(_, raw)| self.normalize(raw).map(Cow::into_owned))
    }

    /// The raw terms of `text` in order, each with its byte offset.
    pub fn raw_terms<'a>(&'a self, text: &'a str) -> impl Iterator<Item = (usize, &'a str)> + 'a {
        let mut rest = text;
        std::iter::from_fn(move || {
            rest = rest.trim_start_matches(|c| !self.cut.begins_term(c));
            let start = text.len() - rest.len();
            let end = rest.find(|c| !self.is_term_char(c));
            let (raw, behind) = rest.split_at(end.unwrap_or(rest.len()));
            rest = behind;
            (!raw.is_empty()).then_some((start, raw))
        })
    }

    /// Whether `c` is a term character.
    pub fn is_term_char(&self, c: char) -> bool {
        self.cut.is_term_char(c)
    }

    /// Whether ASCII letters may be lower-cased before the text is cut.
    pub fn folds_ascii(&self) -> bool {
        self.cut != Cut::Whitespace
    }

    /// Whether every character beyond ASCII belongs to terms.
    pub fn keeps_all_beyond_ascii(&self) -> bool {
        self.cut == Cut::Plain
    }

    /// The term that raw term `raw` becomes; `None` drops it.
    pub fn normalize<'a>(&self, raw: &'a str) -> Option<Cow<'a, str>> {
        let lower = self.cut.fold(raw)?;
        // The byte length bounds the character count, so the exact count is rarely needed.
        let too_short = || lower.len() < self.min_length || lower.chars().count() < self.min_length;
        if (self.min_length > 1 && too_short())
            || (lower.len() > self.max_length && lower.chars().count() > self.max_length)
            || self.stop_words.contains(lower.as_bytes())
        {
            return None;
        }
        match &self.stemmer {
            None => Some(lower),
            Some(stemmer) => {
                let stem = stemmer.stem(&lower);
                match stem {
                    stem if stem == lower => Some(lower),
                    // An empty stem would make a term without a name, so the word stays.
                    stem if stem.is_empty() => Some(lower),
                    stem => Some(Cow::Owned(stem.into_owned())),
                }
            }
        }
    }

    /// Whether [`Analyzer::normalize`] leaves every ASCII term in lower case unchanged.
    pub fn keeps_folded_ascii(&self) -> bool {
        self.stop_words.is_empty()
            && self.stemmer.is_none()
            && self.min_length <= 1
            && self.max_length == usize::MAX
    }

    /// Whether [`Analyzer::normalize`] may rename an ASCII term in lower case.
    pub fn stems(&self) -> bool {
        self.stemmer.is_some()
    }

    /// Whether folding may rename terms with characters beyond ASCII.
    pub fn folds_beyond_ascii(&self) -> bool {
        matches!(self.cut, Cut::Python | Cut::Unicode)
    }

    /// The table of character classes for cutting.
    pub fn cutter(&self) -> cut::Cutter {
        let high = match self.cut {
            Cut::Plain => cut::High::Term,
            Cut::Python => cut::High::Told(&word::PYTHON),
            Cut::Whitespace => cut::High::Told(&word::DARK),
            Cut::Unicode => cut::High::Told(&word::UNICODE),
        };
        cut::Cutter::new(|c| self.is_term_char(c), high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(options: AnalyzerOptions, text: &str) -> Vec<String> {
        Analyzer::new(&options).unwrap().terms(text).collect()
    }

    #[test]
    fn the_four_cuts() {
        let text = "Don't stop: the ÉTUDE_2 costs 3.5€\u{a0}now";
        let cut = |cut| AnalyzerOptions::default().cut(cut);
        assert_eq!(
            terms(cut(Cut::Plain), text),
            [
                "don",
                "t",
                "stop",
                "the",
                "Étude",
                "2",
                "costs",
                "3",
                "5€\u{a0}now"
            ]
        );
        assert_eq!(
            terms(cut(Cut::Python), text),
            [
                "don", "t", "stop", "the", "étude_2", "costs", "3", "5", "now"
            ]
        );
        let decomposed = "E\u{301}TUDE हिन्दी";
        assert_eq!(
            terms(cut(Cut::Python), decomposed),
            ["e", "tude", "ह", "न", "द"]
        );
        assert_eq!(terms(cut(Cut::Unicode), decomposed), ["étude", "हिन्दी"]);
        assert_eq!(
            terms(cut(Cut::Unicode), text),
            terms(cut(Cut::Python), text)
        );
        assert_eq!(
            terms(cut(Cut::Whitespace), text),
            ["Don't", "stop:", "the", "ÉTUDE_2", "costs", "3.5€", "now"]
        );
    }

    #[test]
    fn stop_words_lengths_and_stems_in_this_order() {
        let options = AnalyzerOptions::default()
            .stop_words(StopWords::English)
            .stemmer("english".to_owned())
            .min_length(2)
            .max_length(9);
        assert_eq!(
            terms(options, "The running of 9 dogs is internationally FUNNY"),
            ["run", "dog", "funni"]
        );
    }

    proptest::proptest! {
        #[test]
        fn every_stemmer_takes_every_word(word in "\\PC{0,12}", which in 0..STEMMERS.len()) {
            let options = AnalyzerOptions::default().stemmer(STEMMERS[which].0.to_owned());
            let stems: Vec<String> = Analyzer::new(&options).unwrap().terms(&word).collect();
            proptest::prop_assert!(stems.iter().all(|stem| !stem.is_empty()));
        }
    }

    /// These names are stored in indexes, journals and jobs.
    #[test]
    fn stored_names_mean_what_they_meant() {
        for (number, cut, name) in [
            (0, Cut::Plain, "plain"),
            (1, Cut::Python, "python"),
            (2, Cut::Whitespace, "whitespace"),
            (3, Cut::Unicode, "unicode-nfc"),
        ] {
            assert_eq!(postcard::to_allocvec(&cut).unwrap(), [number]);
            assert_eq!(serde_json::to_value(cut).unwrap(), name);
            let read: Cut = serde_json::from_value(name.into()).unwrap();
            assert_eq!(read, cut);
        }
        let former: Cut = serde_json::from_value("unicode".into()).unwrap();
        assert_eq!(former, Cut::Python);
        let journal = |cut| Analyzer::from(cut).journal_description();
        let rest = "0 stop words (00000000), stemmer none, length from 0";
        assert_eq!(journal(Cut::Plain), format!("Plain, {rest}"));
        assert_eq!(journal(Cut::Python), format!("Unicode, {rest}"));
        assert_eq!(journal(Cut::Unicode), format!("Unicode words, {rest}"));
    }

    #[test]
    fn stop_words_that_had_no_effect_have_none() {
        let mut options = AnalyzerOptions::default()
            .cut(Cut::Python)
            .stop_words(StopWords::These(vec!["The".into(), "of".into()]));
        options.drop_idle_stop_words();
        assert_eq!(terms(options, "The end of it"), ["the", "end", "it"]);
    }

    #[test]
    fn unknown_stemmer_names_the_known_ones() {
        let options = AnalyzerOptions::default().stemmer("klingon".to_owned());
        let error = Analyzer::new(&options).err().unwrap().to_string();
        assert!(
            error.contains("klingon") && error.contains("swedish"),
            "{error}"
        );
    }
}
