//! The Snowball stemmers, by name.

use snowball_stemmers_rs::Algorithm;

use tokapi_storage::error::{Error, Result};

/// The Snowball language of a stemmer.
pub type Language = Algorithm;

/// The names of the Snowball languages that [`AnalyzerOptions::stemmer`](super::AnalyzerOptions::stemmer) takes.
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

/// The language of this name.
///
/// # Errors
/// There is no such stemmer.
pub(super) fn language(name: &str) -> Result<Language> {
    STEMMERS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|&(_, language)| language)
        .ok_or_else(|| {
            let known = STEMMERS.map(|(known, _)| known).join(", ");
            Error::Usage(format!("no stemmer for `{name}`; there is one for {known}"))
        })
}
