//! The server as a cluster: its health, and the list of its indexes.

use axum::extract::State;

use super::{Answer, Ask, Asked};
use crate::elastic::answer::{self, IndexState};
use crate::elastic::dsl::unknown_param;
use crate::elastic::error::Result;

/// `_cluster/health`. The server is healthy when it answers: nothing is waited for.
pub async fn health(State(elastic): Asked, ask: Ask) -> Result<Answer> {
    for (name, value) in &ask.params {
        match (&**name, &**value) {
            ("wait_for_status", "green" | "yellow" | "red") | ("level", "cluster") => {}
            ("wait_for_nodes", "1" | ">=1" | "ge(1)")
            | ("wait_for_active_shards", "0" | "1" | "all") => {}
            ("wait_for_no_relocating_shards" | "wait_for_no_initializing_shards", _) => {}
            ("timeout" | "master_timeout" | "local" | "wait_for_events", _) => {}
            ("pretty" | "human" | "error_trace" | "filter_path" | "expand_wildcards", _) => {}
            _ => return Err(unknown_param(name, value)),
        }
    }
    let count = elastic.named(ask.place("index"))?.len();
    Ok(Answer::json(200, &answer::health(count)))
}

/// `_cat/indices`: a table, or JSON with `format=json`.
pub async fn cat(State(elastic): Asked, ask: Ask) -> Result<Answer> {
    for (name, value) in &ask.params {
        match (&**name, &**value) {
            ("format", "json" | "text") | ("v", "" | "true" | "false") => {}
            (
                "expand_wildcards" | "pretty" | "human" | "error_trace" | "filter_path"
                | "master_timeout",
                _,
            ) => {}
            _ => return Err(unknown_param(name, value)),
        }
    }
    let mut indexes = Vec::new();
    for name in elastic.named(ask.place("index"))? {
        let snapshot = elastic.one(&name)?;
        let info = snapshot.info();
        indexes.push(IndexState {
            documents: info.statistics.documents,
            deleted: info.deleted,
            bytes: info.files.iter().map(|(_, bytes)| bytes).sum(),
            uuid: elastic.definition(&snapshot).uuid.clone(),
            name,
        });
    }
    if ask.param("format") == Some("json") {
        return Ok(Answer::json(200, &answer::cat_json(&indexes)));
    }
    let names = ask.param("v").is_some_and(|value| value != "false");
    Ok(Answer {
        is_json: false,
        ..Answer::ok(answer::cat_text(&indexes, names))
    })
}
