//! The answers about single documents: `_doc`, `_mget`, and the items of `_bulk`.

use serde_json::{Value, json};

use super::push;
use crate::elastic::write::Written;

/// The answer of `GET /{index}/_doc/{id}`; `source` is the shown document, if there is one.
pub fn found(index: &str, id: &str, exists: bool, source: Option<&str>) -> Vec<u8> {
    let mut json = b"{\"_index\":".to_vec();
    push(index, &mut json);
    json.extend_from_slice(b",\"_id\":");
    push(id, &mut json);
    match exists {
        false => json.extend_from_slice(b",\"found\":false}"),
        true => {
            json.extend_from_slice(
                b",\"_version\":1,\"_seq_no\":0,\"_primary_term\":1,\"found\":true",
            );
            if let Some(source) = source {
                json.extend_from_slice(b",\"_source\":");
                json.extend_from_slice(source.as_bytes());
            }
            json.push(b'}');
        }
    }
    json
}

/// The answer to one write.
pub fn written(index: &str, written: &Written) -> (u16, Value) {
    match &written.result {
        Ok(change) => {
            let (status, result) = change.status();
            let body = json!({
                "_index": index,
                "_id": written.id,
                "_version": 1,
                "result": result,
                "_shards": {"total": 1, "successful": 1, "failed": 0},
                "_seq_no": 0,
                "_primary_term": 1,
            });
            (status, body)
        }
        Err(refusal) => (refusal.status, refusal.body()),
    }
}

/// An item of the answer of `_bulk`: under the name of its action.
pub fn bulk_item(index: &str, item: &Written) -> Value {
    let mut body = match &item.result {
        Ok(_) => written(index, item).1,
        Err(refusal) => json!({"_index": index, "_id": item.id, "error": refusal.cause()}),
    };
    body["status"] = match &item.result {
        Ok(change) => change.status().0.into(),
        Err(refusal) => refusal.status.into(),
    };
    json!({item.action.name(): body})
}
