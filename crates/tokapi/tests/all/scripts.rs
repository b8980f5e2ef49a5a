//! Words of many scripts, spelled composed and decomposed: each spelling finds the other.

use std::collections::BTreeSet;

use crate::random::kept_by;
use proptest::prelude::*;
use tokapi::Index;
use tokapi::{Analyzer, AnalyzerOptions, Cut, StopWords};
use tokapi::{Occur, Query, SearchOptions};
use tokapi_index::IndexOptions;
use tokapi_text::analyze::STEMMERS;
use unicode_normalization::UnicodeNormalization;

/// A word of a script, one more, and the stemmer of a language that is written in it.
const WORDS: [(&str, &str, &str, Option<&str>); 12] = [
    ("Hindi", "हिन्दी", "फ़िल्में", Some("hindi")),
    ("Tamil", "தமிழ்", "கோவில்", Some("tamil")),
    ("Thai", "ภาษาไทย", "น้ำ", None),
    ("Arabic with vowels", "كِتَابٌ", "مُدَرِّسَةٌ", Some("arabic")),
    ("Hebrew with points", "שָׁלוֹם", "תּוֹרָה", None),
    ("Vietnamese", "Việt", "ngữ", None),
    ("Korean", "한국어", "값이", None),
    ("French", "Café", "ÉLÈVES", Some("french")),
    ("German", "Äpfel", "Straße", Some("german")),
    ("Greek", "ΛΌΓΟΣ", "ᾠδή", Some("greek")),
    ("Yiddish", "ייִדיש", "שפּראַך", Some("yiddish")),
    ("Nepali", "नेपाली", "भाषाहरू", Some("nepali")),
];

fn nfc(text: &str) -> String {
    text.nfc().collect()
}

fn nfd(text: &str) -> String {
    text.nfd().collect()
}

fn stemmed(stemmer: Option<&str>) -> Analyzer {
    let options = AnalyzerOptions::default().stemmer(stemmer.map(str::to_owned));
    Analyzer::new(&options).unwrap()
}

/// An index of texts and positions, with the ids `0`, `1`, ...
fn with_index(texts: &[String], analyzer: &Analyzer, user: impl FnOnce(&Index)) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let line = |(id, text)| serde_json::json!({ "id": format!("{id}"), "contents": text });
    let lines: Vec<String> = texts
        .iter()
        .enumerate()
        .map(|found| line(found).to_string())
        .collect();
    kept_by(analyzer, &lines.join("\n"), &[], |collection, contents| {
        let options = IndexOptions {
            contents: Some(contents),
            ..Default::default()
        };
        Index::build_with(collection, &path, options).unwrap();
    });
    user(&Index::open(&path).unwrap());
}

/// The documents that `query` finds, and what their snippets highlight.
fn found(index: &Index, query: &Query) -> Vec<(String, Vec<String>)> {
    let hits = index.search(query, &SearchOptions::default()).unwrap();
    let highlighter = index.highlighter(query).unwrap();
    let hit = |hit: &tokapi::Hit| {
        let text = index.document(hit.document).unwrap().text.unwrap();
        let snippet = highlighter.snippet(&text, 200);
        let shown = snippet.highlights.into_iter();
        let shown = shown.map(|range| snippet.text[range].to_owned()).collect();
        (index.id(hit.document).unwrap().to_string(), shown)
    };
    let mut found: Vec<(String, Vec<String>)> = hits.iter().map(hit).collect();
    found.sort();
    found
}

#[test]
fn both_spellings_are_one_term_in_every_script() {
    for (script, word, other, stemmer) in WORDS {
        for stemmer in BTreeSet::from([None, stemmer]) {
            let analyzer = stemmed(stemmer);
            let texts = [
                format!("“{}”—{}…", nfc(word), nfc(other)),
                format!("≠{} {}", nfd(word), nfd(other)),
                "nothing\u{a0}of this".to_owned(),
            ];
            with_index(&texts, &analyzer, |index| {
                for spelled in [nfc(word), nfd(word), word.to_lowercase()] {
                    let query = Query::parse(&spelled, index.analyzer(), Occur::Should);
                    assert_eq!(query.clauses.len(), 1, "{script} {stemmer:?}");
                    let expected = [("0", nfc(word)), ("1", nfd(word))];
                    let expected = expected.map(|(id, word)| (id.to_owned(), vec![word]));
                    assert_eq!(found(index, &query), expected, "{script} {stemmer:?}");
                    let explained = index.explain(&query, &SearchOptions::default(), 1).unwrap();
                    assert_eq!(explained.terms.len(), 1, "{script} {stemmer:?}");
                }
                let phrase = format!("\"{} {}\"", nfd(other), nfc(word));
                let query = Query::parse(&phrase, index.analyzer(), Occur::Should);
                assert!(found(index, &query).is_empty(), "{script}");
                let phrase = format!("\"{} {}\"", nfd(word), nfc(other));
                let query = Query::parse(&phrase, index.analyzer(), Occur::Should);
                assert_eq!(found(index, &query).len(), 2, "{script}");
            });
        }
    }
}

#[test]
fn typographic_punctuation_parts_words() {
    let texts = [
        "a “quoted” word—dash, foo\u{a0}bar, it’s".to_owned(),
        "‘single’ «guillemets» and„low“… end\u{200b}less ❤\u{fe0f}".to_owned(),
    ];
    with_index(&texts, &Analyzer::default(), |index| {
        for (word, id) in [
            ("quoted", "0"),
            ("dash", "0"),
            ("bar", "0"),
            ("it", "0"),
            ("single", "1"),
            ("guillemets", "1"),
            ("low", "1"),
            ("end", "1"),
        ] {
            let query = Query::parse(word, index.analyzer(), Occur::Should);
            let expected = [(id.to_owned(), vec![word.to_owned()])];
            assert_eq!(found(index, &query), expected);
        }
    });
}

#[test]
fn stop_words_are_spelled_as_terms_are() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "\u{feff}The\n# none\nE\u{301}TE\u{301}\nÎLE\n").unwrap();
    let of = |cut| {
        let options = AnalyzerOptions::default()
            .cut(cut)
            .stop_words(StopWords::File(file.path().to_path_buf()));
        let analyzer = Analyzer::new(&options).unwrap();
        // They can be kept and read again.
        let again = Analyzer::new(&analyzer.options()).unwrap();
        assert_eq!(again.description(), analyzer.description());
        analyzer
    };
    let text = "the THE été E\u{301}te\u{301} île wing The";
    let terms = |cut| of(cut).terms(text).collect::<Vec<String>>();
    assert_eq!(terms(Cut::Unicode), ["wing"]);
    assert_eq!(terms(Cut::Python), ["été", "e", "te", "wing"]);
    assert_eq!(terms(Cut::Plain), ["été", "île", "wing"]);
    // Nothing is lower-cased here.
    let kept = ["the", "THE", "été", "E\u{301}te\u{301}", "île", "wing"];
    assert_eq!(terms(Cut::Whitespace), kept);
}

#[test]
fn every_stemmer_stems_both_spellings_alike() {
    for (name, _) in STEMMERS {
        let analyzer = stemmed(Some(name));
        for (script, word, other, _) in WORDS {
            let terms = |text: String| analyzer.terms(&text).collect::<Vec<String>>();
            let text = format!("{word} {other}");
            assert_eq!(terms(nfc(&text)), terms(nfd(&text)), "{name}, {script}");
            assert_eq!(terms(nfc(&text)).len(), 2, "{name}, {script}");
        }
    }
}

/// Text of all characters there are, and of some that compose, hang, are cased or not seen.
fn texts() -> impl Strategy<Value = String> {
    let some = "[ a-eA-E_=≠<¨΅ςσΣΑαİIiſK\u{212a}\u{212b}ÅéạÉ\u{300}-\u{304}\u{307}\u{308}\u{323}\
                \u{338}\u{345}\u{34f}\u{ad}\u{200b}-\u{200d}\u{fe0f}ﬁ²½Ⅷ가각\u{1100}\u{1161}\u{11a8}\
                क\u{93c}क़ि\u{9c7}\u{9be}יִ\u{5b4}𝅗𝅥\u{1d157}\u{1d165}❤]{0,24}";
    let all = proptest::collection::vec(any::<char>(), 0..24);
    let all = all.prop_map(|chars| chars.into_iter().collect::<String>());
    prop_oneof![some, "\\PC{0,24}", all]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn equivalent_texts_have_the_same_terms(text in texts()) {
        let analyzer = Analyzer::default();
        let terms = |text: &str| analyzer.terms(text).collect::<Vec<String>>();
        let expected = terms(&text);
        prop_assert_eq!(&terms(&nfd(&text)), &expected);
        prop_assert_eq!(&terms(&nfc(&text)), &expected);
        // A term is spelled as a term is, in lower case and composed.
        prop_assert_eq!(&terms(&expected.join(" ")), &expected);
        for term in &expected {
            prop_assert_eq!(&nfc(term), term);
            prop_assert_eq!(&term.to_lowercase(), term);
        }
    }
}
