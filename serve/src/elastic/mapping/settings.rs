//! The settings of an index that change something here: the formula's parameters and the analyzer.

use serde_json::{Map, Value};
use tokapi::Bm25;

use super::field::Kind;
use super::{MOST_DEPTH, Mapping, inside};
use crate::elastic::error::{Refusal, Result};
use crate::elastic::reader::{Members, Place, check_depth};
use crate::elastic::tree::Tree;

/// The settings of an index that change something here.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settings {
    /// The parameter k1 of BM25, if it is given.
    pub k1: Option<f64>,
    /// The parameter b of BM25, if it is given.
    pub b: Option<f64>,
    /// The analyzer of all texts.
    pub analyzer: AnalyzerName,
    /// The settings of the index as they were given, without the prefix `index`.
    pub source: Map<String, Value>,
}

/// The analyzers of Elasticsearch that have a counterpart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum AnalyzerName {
    /// `standard`: words of Unicode, lower-cased.
    #[default]
    Standard,
    /// `simple`: the words of ASCII.
    Simple,
    /// `whitespace`: runs without white space.
    Whitespace,
    /// A language, such as `english`: words of Unicode, lower-cased and stemmed; of English without stop words.
    Language(String),
}

/// The languages with a stemmer of Snowball, as Elasticsearch names its analyzers.
const LANGUAGES: [&str; 20] = [
    "arabic",
    "armenian",
    "basque",
    "catalan",
    "danish",
    "dutch",
    "english",
    "finnish",
    "french",
    "german",
    "greek",
    "hindi",
    "hungarian",
    "indonesian",
    "italian",
    "norwegian",
    "portuguese",
    "russian",
    "spanish",
    "swedish",
];

/// Settings about shards, replicas and storage: one machine has the whole index.
const WITHOUT_EFFECT: [&str; 12] = [
    "number_of_shards",
    "number_of_replicas",
    "refresh_interval",
    "max_result_window",
    "auto_expand_replicas",
    "codec",
    "translog",
    "uuid",
    "creation_date",
    "provided_name",
    "version",
    "routing",
];

impl Settings {
    /// Parses the settings of an index with the fields of `mapping`.
    ///
    /// # Errors
    /// A setting is not known; text fields have different analyzers or formulas.
    pub fn parse(tree: &Tree, mapping: &Mapping, warnings: &mut Vec<String>) -> Result<Self> {
        let place = Place::default().member("settings");
        let mut all = Vec::new();
        flatten(tree, &place, &mut all)?;
        let mut settings = Settings::default();
        let mut source = Map::new();
        let mut similarities = Vec::new();
        let mut analyzer = None;
        for (name, value) in all {
            let top = name.split('.').next().unwrap_or_default();
            let is_empty = *value == Tree::Object(Vec::new());
            match top {
                "similarity" | "analysis" if is_empty && name == top => continue,
                "similarity" => similarities.push((name.clone(), value)),
                top if WITHOUT_EFFECT.contains(&top) => {}
                "analysis" if name == "analysis.analyzer.default.type" => {
                    analyzer = value.as_value()
                }
                "analysis" => {
                    return Err(Refusal::illegal(format!(
                        "the setting `{name}` at {place} is not supported; name an analyzer of the server in the mapping: standard, simple, whitespace or a language such as english"
                    )));
                }
                _ => {
                    return Err(Refusal::illegal(format!(
                        "unknown setting [{name}] at {place}; leave it out"
                    )));
                }
            }
            insert(&mut source, &name, value.to_json());
        }
        settings.source = source;
        settings.similarity(&similarities, mapping, warnings)?;
        settings.analyzer(mapping, analyzer, warnings)?;
        Ok(settings)
    }

    /// Takes the formula that the text fields name.
    fn similarity(
        &mut self,
        given: &[(String, &Tree)],
        mapping: &Mapping,
        warnings: &mut Vec<String>,
    ) -> Result<()> {
        let used = one_of(mapping, "similarity")?;
        let used = match used.as_deref() {
            None | Some("BM25") => "default",
            Some(name) => name,
        };
        let mut is_known = used == "default";
        for (setting, value) in given {
            let number = || value.as_value().and_then(|value| value.parse::<f64>().ok());
            let parts: Vec<&str> = setting.split('.').collect();
            let wrong = || {
                Err(Refusal::illegal(format!(
                    "the setting `{setting}` is not supported; use the type BM25 with the numbers k1 and b"
                )))
            };
            let [_, name, member] = parts[..] else {
                return wrong();
            };
            let parameter = match (member, number()) {
                ("type", _) if value.as_value().as_deref() == Some("BM25") => None,
                ("discount_overlaps", _) => None,
                ("k1", Some(k1)) => Some((&mut self.k1, k1)),
                ("b", Some(b)) => Some((&mut self.b, b)),
                _ => return wrong(),
            };
            is_known |= name == used;
            match parameter {
                Some((parameter, number)) if name == used => *parameter = Some(number),
                _ if name == used => {}
                _ => warnings.push(format!("no text field has the similarity `{name}`")),
            }
        }
        let usual = Bm25::default();
        let bm25 = usual
            .k1(self.k1.unwrap_or(usual.k1))
            .b(self.b.unwrap_or(usual.b));
        bm25.check()
            .map_err(|error| Refusal::illegal(error.to_string()))?;
        match is_known {
            true => Ok(()),
            false => Err(Refusal::illegal(format!(
                "unknown similarity [{used}] in the mapping; define it in the settings, as `similarity.{used}.type`"
            ))),
        }
    }

    fn analyzer(
        &mut self,
        mapping: &Mapping,
        default: Option<String>,
        warnings: &mut Vec<String>,
    ) -> Result<()> {
        self.analyzer = match one_of(mapping, "analyzer")?.or(default).as_deref() {
            None | Some("standard" | "default") => AnalyzerName::Standard,
            Some("simple") => AnalyzerName::Simple,
            Some("whitespace") => AnalyzerName::Whitespace,
            Some(name) if LANGUAGES.contains(&name) => {
                warnings.push(format!(
                    "the analyzer `{name}` is the Snowball stemmer here, and may cut some words otherwise than Elasticsearch"
                ));
                AnalyzerName::Language(name.to_owned())
            }
            Some(name) => {
                return Err(Refusal::illegal(format!(
                    "unknown analyzer [{name}] in the mapping; use standard, simple, whitespace or one of: {}",
                    LANGUAGES.join(", ")
                )));
            }
        };
        Ok(())
    }
}

/// Adds a value under a dotted name, as objects in objects.
fn insert(object: &mut Map<String, Value>, name: &str, value: Value) {
    match name.split_once('.') {
        None => drop(object.insert(name.to_owned(), value)),
        Some((first, rest)) => {
            let inner = object
                .entry(first)
                .or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(inner) = inner {
                insert(inner, rest, value);
            }
        }
    }
}

/// The value of `member` in the definitions of all text fields, which must be one.
fn one_of(mapping: &Mapping, member: &str) -> Result<Option<String>> {
    let mut found: Option<Option<String>> = None;
    for (name, field) in mapping.fields.iter().filter(|(_, f)| f.kind == Kind::Text) {
        let value = field.definition[member].as_str().map(str::to_owned);
        match &found {
            Some(known) if *known != value => {
                return Err(Refusal::illegal(format!(
                    "the field `{name}` has another {member} than other text fields, which are indexed as one text; give all the same"
                )));
            }
            _ => found = Some(value),
        }
    }
    Ok(found.flatten())
}

/// The settings by their dotted names, without the prefix `index.`.
fn flatten<'a>(tree: &'a Tree, place: &Place, all: &mut Vec<(String, &'a Tree)>) -> Result<()> {
    check_depth(tree, MOST_DEPTH, place)?;
    let mut members = Members::of(tree, place.clone())?;
    let named = |prefix: &str, name: &str| inside(prefix, name).map_err(Refusal::illegal);
    let mut left = Vec::new();
    for (name, value) in members.rest() {
        left.push((named("", name)?, value));
    }
    left.reverse();
    // The depth of JSON is limited.
    while let Some((name, value)) = left.pop() {
        match value {
            Tree::Object(members) if !members.is_empty() || name == "index" => {
                let prefix = format!("{name}.");
                for (member, value) in members.iter().rev() {
                    left.push((named(&prefix, member)?, value));
                }
            }
            value => {
                let name = name.strip_prefix("index.").unwrap_or(&name).to_owned();
                all.push((name, value));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(mapping: &str, settings: &str) -> Result<Settings> {
        let tree = |text: &str| Tree::parse(text.as_bytes()).unwrap();
        let mapping = Mapping::parse(&tree(mapping), &mut Vec::new())?;
        Settings::parse(&tree(settings), &mapping, &mut Vec::new())
    }

    #[test]
    fn similarities_by_name() {
        let mapping = r#"{"properties": {"t": {"type": "text", "similarity": "custom_bm25"}}}"#;
        let settings =
            r#"{"similarity": {"custom_bm25": {"type": "BM25", "k1": 2.0, "b": "0.5"}}}"#;
        let parsed = of(mapping, settings).unwrap();
        assert_eq!((parsed.k1, parsed.b), (Some(2.0), Some(0.5)));
        let dotted =
            r#"{"index": {"similarity.custom_bm25.type": "BM25"}, "index.number_of_shards": 1}"#;
        assert_eq!(of(mapping, dotted).unwrap().k1, None);
        assert!(
            of(mapping, "{}")
                .unwrap_err()
                .reason
                .contains("unknown similarity [custom_bm25]")
        );
        for other in [
            r#"{"similarity": {"custom_bm25": {"type": "DFR"}}}"#,
            r#"{"similarity": {"custom_bm25": {"type": "BM25", "k1": -1}}}"#,
            r#"{"similarity": {"custom_bm25": {"type": "BM25", "b": "NaN"}}}"#,
            r#"{"similarity": {"custom_bm25": {"type": "BM25", "x": 1}}}"#,
        ] {
            assert!(of(mapping, other).is_err(), "{other}");
        }
    }

    #[test]
    fn names_have_a_depth() {
        for parts in [20, 300_000] {
            let name = vec!["a"; parts].join(".");
            let settings = format!(r#"{{"similarity.default.{name}": 1}}"#);
            assert!(of("{}", &settings).unwrap_err().reason.len() < 700);
        }
        let deep = format!(r#"{{"codec": {}1{}}}"#, "[".repeat(60), "]".repeat(60));
        let reason = of("{}", &deep).unwrap_err().reason;
        assert!(reason.contains("more than 50 levels"), "{reason}");
    }

    #[test]
    fn analyzers_by_name() {
        let text = |name: &str| {
            format!(r#"{{"properties": {{"t": {{"type": "text", "analyzer": "{name}"}}}}}}"#)
        };
        assert_eq!(
            of(&text("english"), "{}").unwrap().analyzer,
            AnalyzerName::Language("english".into())
        );
        assert!(
            of(&text("klingon"), "{}")
                .unwrap_err()
                .reason
                .contains("[klingon]")
        );
        let two = r#"{"properties": {"a": {"type": "text", "analyzer": "english"}, "b": {"type": "text"}}}"#;
        assert!(
            of(two, "{}")
                .unwrap_err()
                .reason
                .contains("give all the same")
        );
        assert!(of("{}", r#"{"analysis": {"analyzer": {}, "x": 1}}"#).is_err());
        assert!(of("{}", r#"{"index": {"similarity": {}, "analysis": {}}}"#).is_ok());
        assert!(
            of("{}", r#"{"nonsense": 1}"#)
                .unwrap_err()
                .reason
                .contains("[nonsense]")
        );
    }
}
