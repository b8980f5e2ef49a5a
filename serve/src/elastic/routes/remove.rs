//! `_delete_by_query`: the documents that match in one state of an index are removed by their ids.

use axum::extract::State;
use serde_json::json;

use super::{Answer, Ask, Asked, of_error, with_reader};
use crate::elastic::dsl::{self, has_no_effect, unknown_param};
use crate::elastic::error::{Refusal, Result};
use crate::elastic::write::{Action, Change, Operation};
use crate::served::Snapshot;

/// `POST /{index}/_delete_by_query`.
pub async fn by_query(State(elastic): Asked, ask: Ask) -> Result<Answer> {
    for (name, value) in &ask.params {
        match (&**name, &**value) {
            ("refresh", _)
            | ("conflicts", "abort" | "proceed")
            | ("wait_for_completion", "true") => {}
            ("q" | "df" | "default_operator" | "filter_path" | "timeout" | "scroll_size", _) => {}
            (name, _) if has_no_effect(name) => {}
            _ => return Err(unknown_param(name, value)),
        }
    }
    let tree = ask.json()?;
    if tree.get("query").is_none() && ask.param("q").is_none() {
        return Err(Refusal::new(
            400,
            "action_request_validation_exception",
            "query is missing; to delete all documents, send {\"query\": {\"match_all\": {}}}",
        ));
    }
    let (query, mut warnings) = dsl::parse_query(&tree, &ask.params)?;
    let snapshot = elastic.one(ask.place("index"))?;
    let definition = elastic.definition(&snapshot);
    let work = move |snapshot: &Snapshot| {
        let index = &**snapshot.index();
        let cut = |text: &str| index.analyzer().terms(text).collect();
        let plan = dsl::lower(&query, &definition.mapping, &cut, false, &mut warnings)?;
        let documents = with_reader(snapshot, &definition, |reader| {
            reader.documents(&plan.matching)
        })?;
        let id = |document| index.id(document).map(std::borrow::Cow::into_owned);
        let ids = documents
            .into_iter()
            .map(id)
            .collect::<tokapi::Result<Vec<String>>>();
        Ok((ids.map_err(of_error)?, warnings))
    };
    let (ids, warnings) = elastic.work(&snapshot, None, ask.started, work).await?;
    let total = ids.len();
    let name = snapshot.name().to_owned();
    let written = elastic
        .write(move |elastic| {
            let operations = ids.into_iter().map(|id| Operation {
                action: Action::Delete,
                id,
                source: String::new(),
            });
            elastic.store.apply(&name, operations.collect())
        })
        .await?;
    let deleted = written
        .iter()
        .filter(|written| written.result == Ok(Change::Deleted))
        .count();
    let answer = json!({
        "took": ask.started.elapsed().as_millis() as u64,
        "timed_out": false,
        "total": total,
        "deleted": deleted,
        "batches": 1,
        "version_conflicts": total - deleted,
        "noops": 0,
        "retries": {"bulk": 0, "search": 0},
        "throttled_millis": 0,
        "requests_per_second": -1.0,
        "throttled_until_millis": 0,
        "failures": [],
    });
    Ok(Answer::json(200, &answer).warn(warnings))
}
