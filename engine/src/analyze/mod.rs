//! From a document's text to its terms.
//!
//! An analyzer first *cuts* text into raw terms: maximal runs of term characters, told by a table
//! of classes (`cut.rs`), so that every engine cuts the same terms. It then *normalizes* raw terms:
//! lower case, length limits, stop words, stemming. The second step depends on the raw term
//! alone, so engines take it once per distinct raw term, not once per occurrence.

pub(crate) mod cut;
mod stop_words;
mod word;

use std::borrow::Cow;
use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use snowball_stemmers_rs::{Algorithm, Stemmer};

use crate::error::{Error, Result};
pub use stop_words::StopWords;

/// How text is cut into terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cut {
    /// By byte classes: ASCII letters and digits and every byte of a multi-byte character are
    /// kept, ASCII letters lower-cased.
    #[default]
    Plain,
    /// Runs of what the regular expression `\w+` matches in Unicode mode (as Python has it:
    /// letters, numbers, underscore), fully lower-cased.
    Unicode,
    /// Runs of anything but white space, as they are.
    Whitespace,
}

/// The Snowball language of a stemmer.
pub type Language = Algorithm;

/// The names of the Snowball languages that [`AnalyzerOptions::stemmer`] takes.
pub const STEMMERS: [(&str, Language); 36] = [
    ("arabic", Algorithm::Arabic),
    ("armenian", Algorithm::Armenian),
    ("basque", Algorithm::Basque),
    ("catalan", Algorithm::Catalan),
    ("czech", Algorithm::Czech),
    ("danish", Algorithm::Danish),
    ("dutch", Algorithm::Dutch),
    ("english", Algorithm::English),
    ("esperanto", Algorithm::Esperanto),
    ("estonian", Algorithm::Estonian),
    ("finnish", Algorithm::Finnish),
    ("french", Algorithm::French),
    ("german", Algorithm::German),
    ("greek", Algorithm::Greek),
    ("hindi", Algorithm::Hindi),
    ("hungarian", Algorithm::Hungarian),
    ("indonesian", Algorithm::Indonesian),
    ("irish", Algorithm::Irish),
    ("italian", Algorithm::Italian),
    ("lithuanian", Algorithm::Lithuanian),
    ("nepali", Algorithm::Nepali),
    ("norwegian", Algorithm::Norwegian),
    ("persian", Algorithm::Persian),
    ("polish", Algorithm::Polish),
    ("porter", Algorithm::Porter),
    ("portuguese", Algorithm::Portuguese),
    ("romanian", Algorithm::Romanian),
    ("russian", Algorithm::Russian),
    ("serbian", Algorithm::Serbian),
    ("sesotho", Algorithm::Sesotho),
    ("spanish", Algorithm::Spanish),
    ("swedish", Algorithm::Swedish),
    ("tamil", Algorithm::Tamil),
    ("turkish", Algorithm::Turkish),
    ("ukrainian", Algorithm::Ukrainian),
    ("yiddish", Algorithm::Yiddish),
];

/// What an [`Analyzer`] does.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnalyzerOptions {
    /// How text is cut.
    pub cut: Cut,
    /// Terms to drop, compared after lower-casing and before stemming.
    pub stop_words: StopWords,
    /// The Snowball stemmer, by a name from [`STEMMERS`].
    pub stemmer: Option<String>,
    /// Drops terms of fewer characters, counted before stemming.
    pub min_length: Option<usize>,
    /// Drops terms of more characters, counted before stemming.
    pub max_length: Option<usize>,
}

/// Turns text into terms; see the [module](self).
pub struct Analyzer {
    cut: Cut,
    stop_words: HashSet<Box<[u8]>>,
    stemmer: Option<Stemmer>,
    min_length: usize,
    max_length: usize,
    /// The language of the stemmer, by name.
    stemmer_name: Option<String>,
}

impl Default for Analyzer {
    fn default() -> Self {
        Analyzer {
            cut: Cut::Plain,
            stop_words: HashSet::new(),
            stemmer: None,
            min_length: 0,
            max_length: usize::MAX,
            stemmer_name: None,
        }
    }
}

impl Analyzer {
    /// Options by which it can be made again, without any file.
    pub fn options(&self) -> AnalyzerOptions {
        let words = self.stop_words.iter();
        let words = words.map(|word| String::from_utf8_lossy(word).into_owned());
        let mut words: Vec<String> = words.collect();
        words.sort_unstable();
        AnalyzerOptions {
            cut: self.cut,
            stop_words: match words.is_empty() {
                true => StopWords::None,
                false => StopWords::These(words),
            },
            stemmer: self.stemmer_name.clone(),
            min_length: Some(self.min_length).filter(|&length| length > 0),
            max_length: Some(self.max_length).filter(|&length| length < usize::MAX),
        }
    }

    /// What it does, in words: the same for two analyzers only if they cut the same terms.
    pub fn description(&self) -> String {
        let mut stop_words: Vec<&[u8]> = self.stop_words.iter().map(|word| &word[..]).collect();
        stop_words.sort_unstable();
        let checksum = stop_words.iter().fold(0, |sum, word| {
            let mut hasher = crc32fast::Hasher::new_with_initial(sum);
            hasher.update(word);
            hasher.update(b"\n");
            hasher.finalize()
        });
        format!(
            "{:?}, {} stop words ({checksum:08x}), stemmer {}, length {}",
            self.cut,
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
            Some(name) => Some(Stemmer::create(language(name)?)),
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
            stop_words: options.stop_words.load()?,
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

    /// The raw terms of `text` in order, each with the byte that it starts at.
    pub(crate) fn raw_terms<'a>(
        &'a self,
        text: &'a str,
    ) -> impl Iterator<Item = (usize, &'a str)> + 'a {
        let mut rest = text;
        std::iter::from_fn(move || {
            rest = rest.trim_start_matches(|c| !self.is_term_char(c));
            let start = text.len() - rest.len();
            let end = rest.find(|c| !self.is_term_char(c));
            let (raw, behind) = rest.split_at(end.unwrap_or(rest.len()));
            rest = behind;
            (!raw.is_empty()).then_some((start, raw))
        })
    }

    /// Whether `c` belongs to terms rather than between them.
    pub(crate) fn is_term_char(&self, c: char) -> bool {
        match self.cut {
            Cut::Plain => c.is_ascii_alphanumeric() || !c.is_ascii(),
            Cut::Unicode => word::is_word(c),
            Cut::Whitespace => !c.is_whitespace(),
        }
    }

    /// Whether ASCII letters may be lower-cased before the text is cut.
    pub(crate) fn folds_ascii(&self) -> bool {
        self.cut != Cut::Whitespace
    }

    /// Whether every character beyond ASCII belongs to terms.
    #[cfg(feature = "kernels")]
    pub(crate) fn keeps_all_beyond_ascii(&self) -> bool {
        self.cut == Cut::Plain
    }

    /// The term that raw term `raw` becomes; `None` drops it.
    pub(crate) fn normalize<'a>(&self, raw: &'a str) -> Option<Cow<'a, str>> {
        let lower = self.lower(raw);
        // Bytes bound characters, so the exact count is rarely needed.
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
                    // A stemmer that leaves nothing would make a term without a name.
                    stem if stem.is_empty() => Some(lower),
                    stem => Some(Cow::Owned(stem.into_owned())),
                }
            }
        }
    }

    /// Whether [`Analyzer::normalize`] gives back every ASCII term in lower case as it is.
    pub(crate) fn keeps_folded_ascii(&self) -> bool {
        self.stop_words.is_empty()
            && self.stemmer.is_none()
            && self.min_length <= 1
            && self.max_length == usize::MAX
    }

    /// Whether [`Analyzer::normalize`] may give an ASCII term in lower case another name.
    pub(crate) fn stems(&self) -> bool {
        self.stemmer.is_some()
    }

    /// Whether non-ASCII terms are changed by lower-casing beyond ASCII.
    pub(crate) fn lowers_beyond_ascii(&self) -> bool {
        self.cut == Cut::Unicode
    }

    fn lower<'a>(&self, raw: &'a str) -> Cow<'a, str> {
        match self.cut {
            Cut::Whitespace => Cow::Borrowed(raw),
            _ if raw.bytes().all(|b| b.is_ascii() && !b.is_ascii_uppercase()) => Cow::Borrowed(raw),
            Cut::Plain => Cow::Owned(raw.to_ascii_lowercase()),
            Cut::Unicode => Cow::Owned(raw.to_lowercase()),
        }
    }

    /// The classes of characters by which engines cut.
    pub(crate) fn cutter(&self) -> cut::Cutter {
        match self.cut {
            Cut::Plain => cut::Cutter::new(|c| self.is_term_char(c), cut::High::Term),
            Cut::Unicode => {
                cut::Cutter::new(|c| self.is_term_char(c), cut::High::Told(word::is_word))
            }
            Cut::Whitespace => cut::Cutter::new(
                |c| self.is_term_char(c),
                cut::High::Told(|c| !c.is_whitespace()),
            ),
        }
    }
}

fn language(name: &str) -> Result<Language> {
    STEMMERS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|&(_, language)| language)
        .ok_or_else(|| {
            let known = STEMMERS.map(|(known, _)| known).join(", ");
            Error::Usage(format!("no stemmer for `{name}`; there is one for {known}"))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(options: AnalyzerOptions, text: &str) -> Vec<String> {
        Analyzer::new(&options).unwrap().terms(text).collect()
    }

    #[test]
    fn the_three_cuts() {
        let text = "Don't stop: the ÉTUDE_2 costs 3.5€\u{a0}now";
        let cut = |cut| AnalyzerOptions {
            cut,
            ..Default::default()
        };
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
            terms(cut(Cut::Unicode), text),
            [
                "don", "t", "stop", "the", "étude_2", "costs", "3", "5", "now"
            ]
        );
        assert_eq!(
            terms(cut(Cut::Whitespace), text),
            ["Don't", "stop:", "the", "ÉTUDE_2", "costs", "3.5€", "now"]
        );
    }

    #[test]
    fn stop_words_lengths_and_stems_in_this_order() {
        let options = AnalyzerOptions {
            stop_words: StopWords::English,
            stemmer: Some("english".into()),
            min_length: Some(2),
            max_length: Some(9),
            ..Default::default()
        };
        assert_eq!(
            terms(options, "The running of 9 dogs is internationally FUNNY"),
            ["run", "dog", "funni"]
        );
    }

    proptest::proptest! {
        #[test]
        fn every_stemmer_takes_every_word(word in "\\PC{0,12}", which in 0..STEMMERS.len()) {
            let options = AnalyzerOptions {
                stemmer: Some(STEMMERS[which].0.into()),
                ..Default::default()
            };
            let stems: Vec<String> = Analyzer::new(&options).unwrap().terms(&word).collect();
            proptest::prop_assert!(stems.iter().all(|stem| !stem.is_empty()));
        }
    }

    #[test]
    fn unknown_stemmer_names_the_known_ones() {
        let options = AnalyzerOptions {
            stemmer: Some("klingon".into()),
            ..Default::default()
        };
        let error = Analyzer::new(&options).err().unwrap().to_string();
        assert!(
            error.contains("klingon") && error.contains("swedish"),
            "{error}"
        );
    }
}
