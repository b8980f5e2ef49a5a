//! Indexes: created, described, deleted.

use axum::extract::State;
use serde_json::{Map, Value, json};

use super::{Answer, Ask, Asked, Elastic};
use crate::elastic::answer;
use crate::elastic::dsl::unknown_param;
use crate::elastic::error::{Refusal, Result};
use crate::elastic::mapping::{Mapping, Settings};
use crate::elastic::reader::{Members, Place};
use crate::elastic::store::Definition;
use crate::elastic::tree::Tree;

/// Checks the name of a new index, by the rules of Elasticsearch.
pub fn check_name(name: &str) -> Result<()> {
    let is_allowed =
        |c: char| !c.is_uppercase() && !"\\/*?\"<>| ,#:".contains(c) && !c.is_control();
    let fits = !name.is_empty()
        && name.len() <= 255
        && !name.starts_with(['_', '-', '+', '.'])
        && name.chars().all(is_allowed);
    match fits {
        true => Ok(()),
        false => Err(Refusal {
            index: Some(name.to_owned()),
            ..Refusal::new(
                400,
                "invalid_index_name_exception",
                format!(
                    "Invalid index name [{}]; use lowercase letters, digits, - and _, and begin with a letter or a digit",
                    name.escape_debug()
                ),
            )
        }),
    }
}

/// `PUT /{index}`.
pub async fn create(State(elastic): Asked, ask: Ask) -> Result<Answer> {
    params(&ask)?;
    let name = ask.place("index").to_owned();
    check_name(&name)?;
    let tree = ask.json()?;
    let mut members = Members::of(&tree, Place::default())?;
    let mut warnings = Vec::new();
    let empty = Tree::Object(Vec::new());
    let mapping = Mapping::parse(members.take("mappings").unwrap_or(&empty), &mut warnings)?;
    let settings = members.take("settings").unwrap_or(&empty);
    let settings = Settings::parse(settings, &mapping, &mut warnings)?;
    match members.take("aliases") {
        None => {}
        Some(Tree::Object(aliases)) if aliases.is_empty() => {}
        Some(_) => {
            return Err(Refusal::illegal(
                "`aliases` are not supported; use the names of indexes",
            ));
        }
    }
    members.finish("create index")?;
    let definition = Definition {
        mapping,
        settings,
        ..Definition::new()
    };
    let answer = json!({"acknowledged": true, "shards_acknowledged": true, "index": name});
    elastic
        .write(move |elastic| {
            if elastic.service.catalog.get(&name).is_ok() {
                return Err(Refusal::index_exists(&name));
            }
            elastic.store.create(&name, definition)
        })
        .await?;
    Ok(Answer::json(200, &answer).warn(warnings))
}

/// `DELETE /{index}`.
pub async fn delete(State(elastic): Asked, ask: Ask) -> Result<Answer> {
    let ignores = ask.param("ignore_unavailable") == Some("true");
    params(&ask)?;
    let name = ask.place("index").to_owned();
    if name.contains('*') || name == "_all" {
        return Err(Refusal::illegal(
            "Wildcard expressions or all indices are not allowed; name the indexes to delete",
        ));
    }
    elastic
        .write(move |elastic| {
            let names: Vec<&str> = name.split(',').collect();
            for name in &names {
                if elastic.service.catalog.get(name).is_err() && !ignores {
                    return Err(Refusal::no_index(name));
                }
            }
            for name in names {
                match elastic.store.remove(name) {
                    Err(refusal) if refusal.status == 404 && ignores => {}
                    result => result?,
                }
            }
            Ok(())
        })
        .await?;
    Ok(Answer::json(200, &json!({"acknowledged": true})))
}

/// `GET /{index}`, and `HEAD`.
pub async fn get(State(elastic): Asked, ask: Ask) -> Result<Answer> {
    params(&ask)?;
    described(&elastic, &ask, answer::index_json)
}

/// `GET /{index}/_mapping`.
pub async fn mappings(State(elastic): Asked, ask: Ask) -> Result<Answer> {
    params(&ask)?;
    described(
        &elastic,
        &ask,
        |_, definition| json!({"mappings": definition.mapping.to_json()}),
    )
}

/// `GET /{index}/_settings`.
pub async fn settings(State(elastic): Asked, ask: Ask) -> Result<Answer> {
    params(&ask)?;
    described(
        &elastic,
        &ask,
        |name, definition| json!({"settings": answer::settings_json(name, definition)}),
    )
}

/// `GET /_alias` and `GET /{index}/_alias`: no index has one.
pub async fn aliases(State(elastic): Asked, ask: Ask) -> Result<Answer> {
    params(&ask)?;
    described(&elastic, &ask, |_, _| json!({"aliases": {}}))
}

/// `GET /_alias/{alias}`: there is none.
pub async fn alias(ask: Ask) -> Answer {
    let alias = ask.place("alias");
    let answer = json!({"error": format!("alias [{alias}] missing"), "status": 404});
    Answer::json(404, &answer)
}

/// `PUT /{index}/_mapping`.
pub async fn map(State(elastic): Asked, ask: Ask) -> Result<Answer> {
    params(&ask)?;
    let snapshot = elastic.one(ask.place("index"))?;
    let tree = ask.json()?;
    let warnings = elastic
        .write(move |elastic| {
            let mut warnings = Vec::new();
            let mut change = |mapping: &mut Mapping| mapping.merge(&tree, &mut warnings);
            elastic.store.change_mapping(snapshot.name(), &mut change)?;
            Ok(warnings)
        })
        .await?;
    Ok(Answer::json(200, &json!({"acknowledged": true})).warn(warnings))
}

/// `PUT /{index}/_settings`: settings about storage, which change nothing here.
pub async fn set(State(elastic): Asked, ask: Ask) -> Result<Answer> {
    params(&ask)?;
    let snapshot = elastic.one(ask.place("index"))?;
    let definition = elastic.definition(&snapshot);
    let settings = Settings::parse(&ask.json()?, &Mapping::default(), &mut Vec::new())?;
    let changes =
        (settings.k1, settings.b, &settings.analyzer) != (None, None, &Default::default());
    let known = &definition.settings;
    let is_same =
        (settings.k1, settings.b, &settings.analyzer) == (known.k1, known.b, &known.analyzer);
    match changes && !is_same {
        true => Err(Refusal::illegal(
            "the analyzer and the similarity of an index cannot be changed; create another index",
        )),
        false => Ok(Answer::json(200, &json!({"acknowledged": true}))),
    }
}

/// `_forcemerge`: the server merges by itself.
pub async fn merge(State(elastic): Asked, ask: Ask) -> Result<Answer> {
    for (name, value) in &ask.params {
        match (&**name, &**value) {
            ("max_num_segments" | "flush" | "wait_for_completion", _) => {}
            ("pretty" | "human" | "error_trace" | "filter_path", _) => {}
            _ => return Err(unknown_param(name, value)),
        }
    }
    let count = elastic.named(ask.place("index"))?.len();
    let shards = json!({"_shards": {"total": count, "successful": count, "failed": 0}});
    let warning = "the server merges in the background, and did not merge now".to_owned();
    Ok(Answer::json(200, &shards).warn(vec![warning]))
}

/// `_refresh` and `_flush`: writes are visible and durable when they are answered.
pub async fn refresh(State(elastic): Asked, ask: Ask) -> Result<Answer> {
    params(&ask)?;
    let count = elastic.named(ask.place("index"))?.len();
    let shards = json!({"total": count, "successful": count, "failed": 0});
    Ok(Answer::json(200, &json!({"_shards": shards})))
}

/// A description of each named index, by its name.
fn described(
    elastic: &Elastic,
    ask: &Ask,
    describe: impl Fn(&str, &Definition) -> Value,
) -> Result<Answer> {
    let mut all = Map::new();
    for name in elastic.named(ask.place("index"))? {
        let snapshot = elastic.one(&name)?;
        let definition = elastic.definition(&snapshot);
        all.insert(name.clone(), describe(&name, &definition));
    }
    Ok(Answer::json(200, &all.into()))
}

/// Checks the parameters of a request about indexes.
fn params(ask: &Ask) -> Result<()> {
    for (name, value) in &ask.params {
        match (&**name, &**value) {
            (
                "timeout" | "master_timeout" | "cluster_manager_timeout" | "wait_for_active_shards",
                _,
            ) => {}
            ("ignore_unavailable" | "allow_no_indices" | "expand_wildcards" | "local", _) => {}
            (
                "pretty" | "human" | "error_trace" | "filter_path" | "force" | "wait_if_ongoing",
                _,
            ) => {}
            ("flat_settings" | "include_defaults" | "features" | "include_type_name", "false") => {}
            _ => return Err(unknown_param(name, value)),
        }
    }
    Ok(())
}
