//! Writes: `_bulk`, `_doc` and `_create`.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use serde_json::json;

use super::{Answer, Ask, Asked, Elastic};
use crate::elastic::answer;
use crate::elastic::dsl::unknown_param;
use crate::elastic::error::{Refusal, Result};
use crate::elastic::store::Definition;
use crate::elastic::write::{self, Action, Operation, Written};

/// `_bulk`.
pub async fn bulk(State(elastic): Asked, ask: Ask) -> Result<Answer> {
    params(&ask)?;
    let Ask {
        path,
        body,
        started,
        may_create,
        ..
    } = ask;
    elastic
        .write(move |elastic| {
            let index = path.iter().find(|(name, _)| name == "index");
            let index = index.map(|(_, name)| &**name);
            let lines = write::parse_bulk(&body, index)?;
            let (mut items, mut by_index) = (Vec::new(), BTreeMap::<String, Vec<_>>::new());
            for line in lines {
                let place = items.len();
                items.push((line.index.clone(), None));
                match line.operation {
                    Ok(operation) => by_index
                        .entry(line.index)
                        .or_default()
                        .push((place, operation)),
                    Err(refusal) => {
                        items[place].1 = Some(Written {
                            action: line.action,
                            id: line.id,
                            result: Err(refusal),
                        });
                    }
                }
            }
            for (index, operations) in by_index {
                let (places, operations): (Vec<usize>, Vec<Operation>) =
                    operations.into_iter().unzip();
                for (place, written) in places
                    .into_iter()
                    .zip(apply(elastic, &index, operations, may_create))
                {
                    items[place].1 = Some(written);
                }
            }
            let errors = items
                .iter()
                .any(|(_, w)| w.as_ref().is_some_and(|w| w.result.is_err()));
            let items = items.iter();
            let items = items.filter_map(|(index, w)| Some(answer::bulk_item(index, w.as_ref()?)));
            let items: Vec<_> = items.collect();
            let took = started.elapsed().as_millis() as u64;
            Ok(Answer::json(
                200,
                &json!({"took": took, "errors": errors, "items": items}),
            ))
        })
        .await
}

/// Applies operations to one index, which is created if it is not there. A fault of the whole is that of each.
fn apply(
    elastic: &Elastic,
    index: &str,
    operations: Vec<Operation>,
    may_create: bool,
) -> Vec<Written> {
    let creates = operations
        .iter()
        .any(|operation| operation.action != Action::Delete);
    let served = ensure(elastic, index, creates, may_create);
    let heads: Vec<(Action, String)> = operations
        .iter()
        .map(|o| (o.action, o.id.clone()))
        .collect();
    let applied = served.and_then(|()| elastic.store.apply(index, operations));
    match applied {
        Ok(written) => written,
        Err(refusal) => {
            let all = heads.into_iter().map(|(action, id)| Written {
                action,
                id,
                result: Err(refusal.clone()),
            });
            all.collect()
        }
    }
}

/// Creates an index for documents that come before it.
fn ensure(elastic: &Elastic, index: &str, creates: bool, may_create: bool) -> Result<()> {
    if elastic.service.catalog.get(index).is_ok() {
        return Ok(());
    }
    if !creates {
        return Err(Refusal::no_index(index));
    }
    if !may_create {
        let reason = format!(
            "no such index [{index}], and the token lacks the scope admin, which creates one"
        );
        return Err(Refusal::new(403, "security_exception", reason));
    }
    super::indexes::check_name(index)?;
    match elastic.store.create(index, Definition::new()) {
        // Another request was first.
        Err(refusal) if refusal.kind == "resource_already_exists_exception" => Ok(()),
        result => result,
    }
}

/// `POST /{index}/_doc`: a document without an id.
pub async fn add(State(elastic): Asked, ask: Ask) -> Result<Answer> {
    one(&elastic, ask, Action::Index).await
}

/// `PUT /{index}/_doc/{id}`; with `op_type=create` a new document only.
pub async fn put(State(elastic): Asked, ask: Ask) -> Result<Answer> {
    let action = match ask.param("op_type") {
        Some("create") => Action::Create,
        _ => Action::Index,
    };
    one(&elastic, ask, action).await
}

/// `PUT /{index}/_create/{id}`.
pub async fn create(State(elastic): Asked, ask: Ask) -> Result<Answer> {
    one(&elastic, ask, Action::Create).await
}

/// `DELETE /{index}/_doc/{id}`.
pub async fn delete(State(elastic): Asked, ask: Ask) -> Result<Answer> {
    one(&elastic, ask, Action::Delete).await
}

async fn one(elastic: &Arc<Elastic>, ask: Ask, action: Action) -> Result<Answer> {
    params(&ask)?;
    elastic
        .write(move |elastic| {
            let index = ask.place("index");
            let id = Some(ask.place("id")).filter(|id| !id.is_empty());
            let operation = write::operation(action, id.map(str::to_owned), &ask.body)?;
            let written = apply(elastic, index, vec![operation], ask.may_create);
            let written = written.into_iter().next().ok_or_else(|| {
                Refusal::new(
                    500,
                    "exception",
                    "the server failed to answer; its log has the cause",
                )
            })?;
            let (status, body) = answer::written(index, &written);
            Ok(Answer::json(status, &body))
        })
        .await
}

/// Checks the parameters of a write. A write is visible when it is answered, as `refresh=true` asks for.
fn params(ask: &Ask) -> Result<()> {
    for (name, value) in &ask.params {
        match (&**name, &**value) {
            ("refresh", "" | "true" | "false" | "wait_for") => {}
            (
                "timeout"
                | "wait_for_active_shards"
                | "filter_path"
                | "pretty"
                | "human"
                | "error_trace",
                _,
            ) => {}
            ("op_type", "index" | "create") => {}
            ("require_alias" | "require_data_stream", "false") => {}
            ("_source", "false") => {}
            _ => return Err(unknown_param(name, value)),
        }
    }
    Ok(())
}
