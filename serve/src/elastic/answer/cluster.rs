//! The answers about the server and its indexes.

use serde_json::{Value, json};

use crate::elastic::store::Definition;

/// An index, as lists of indexes show it.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexState {
    /// Its name.
    pub name: String,
    /// Its documents.
    pub documents: u64,
    /// Deleted documents that still take space.
    pub deleted: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// The number that no other index has.
    pub uuid: String,
}

/// The answer of `GET /`; `version` is the version of Elasticsearch whose clients are served.
pub fn root(version: &str) -> Value {
    json!({
        "name": "tokapi",
        "cluster_name": "tokapi",
        "cluster_uuid": "tokapi",
        "version": {
            "number": version,
            "build_flavor": "default",
            "build_type": "tokapi",
            "build_hash": env!("CARGO_PKG_VERSION"),
            "build_date": "1970-01-01T00:00:00Z",
            "build_snapshot": false,
            "lucene_version": "9.12.0",
            "minimum_wire_compatibility_version": "7.17.0",
            "minimum_index_compatibility_version": "7.0.0",
        },
        "tagline": "You Know, for Search",
    })
}

/// The answer of `_cluster/health`, for `indexes` indexes. One shard on one machine is all that is expected: green.
pub fn health(indexes: usize) -> Value {
    json!({
        "cluster_name": "tokapi",
        "status": "green",
        "timed_out": false,
        "number_of_nodes": 1,
        "number_of_data_nodes": 1,
        "active_primary_shards": indexes,
        "active_shards": indexes,
        "relocating_shards": 0,
        "initializing_shards": 0,
        "unassigned_shards": 0,
        "delayed_unassigned_shards": 0,
        "number_of_pending_tasks": 0,
        "number_of_in_flight_fetch": 0,
        "task_max_waiting_in_queue_millis": 0,
        "active_shards_percent_as_number": 100.0,
    })
}

/// The answer of `GET /{index}` for one index.
pub fn index_json(name: &str, definition: &Definition) -> Value {
    json!({
        "aliases": {},
        "mappings": definition.mapping.to_json(),
        "settings": settings_json(name, definition),
    })
}

/// The settings of an index.
pub fn settings_json(name: &str, definition: &Definition) -> Value {
    let mut index = Value::Object(definition.settings.source.clone());
    index["number_of_shards"] = "1".into();
    index["number_of_replicas"] = "0".into();
    index["provided_name"] = name.into();
    index["uuid"] = definition.uuid.as_str().into();
    index["creation_date"] = definition.created_ms.to_string().into();
    index["version"] = json!({"created": "8000099"});
    json!({"index": index})
}

/// The answer of `_cat/indices` as JSON. All values are strings, as in Elasticsearch.
pub fn cat_json(indexes: &[IndexState]) -> Value {
    let rows = indexes.iter().map(|index| {
        json!({
            "health": "green",
            "status": "open",
            "index": index.name,
            "uuid": index.uuid,
            "pri": "1",
            "rep": "0",
            "docs.count": index.documents.to_string(),
            "docs.deleted": index.deleted.to_string(),
            "store.size": bytes(index.bytes),
            "pri.store.size": bytes(index.bytes),
            "dataset.size": bytes(index.bytes),
        })
    });
    rows.collect()
}

/// The answer of `_cat/indices` as a table, with a line of names if `v` is asked for.
pub fn cat_text(indexes: &[IndexState], names: bool) -> String {
    let head = [
        "health",
        "status",
        "index",
        "uuid",
        "pri",
        "rep",
        "docs.count",
        "docs.deleted",
        "store.size",
        "pri.store.size",
    ];
    let mut rows: Vec<Vec<String>> = Vec::new();
    if names {
        rows.push(head.map(str::to_owned).to_vec());
    }
    for index in indexes {
        let size = bytes(index.bytes);
        rows.push(vec![
            "green".into(),
            "open".into(),
            index.name.clone(),
            index.uuid.clone(),
            "1".into(),
            "0".into(),
            index.documents.to_string(),
            index.deleted.to_string(),
            size.clone(),
            size,
        ]);
    }
    let width = |at: usize| {
        rows.iter()
            .map(|row| row[at].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let cells = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:width$}"));
        text += cells.collect::<Vec<_>>().join(" ").trim_end();
        text.push('\n');
    }
    text
}

/// A number of bytes in Elasticsearch's units.
fn bytes(count: u64) -> String {
    let mut unit = 0;
    let mut value = count as f64;
    while value >= 1024.0 && unit < 4 {
        value /= 1024.0;
        unit += 1;
    }
    let unit = ["b", "kb", "mb", "gb", "tb"][unit];
    match unit {
        "b" => format!("{count}b"),
        _ => format!("{value:.1}{unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_indexes() {
        let index = IndexState {
            name: "books".into(),
            documents: 1400,
            deleted: 0,
            bytes: 1536,
            uuid: "u".into(),
        };
        let text = cat_text(std::slice::from_ref(&index), true);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[1],
            "green  open   books u    1   0   1400       0            1.5kb      1.5kb"
        );
        assert_eq!(cat_json(&[index])[0]["docs.count"], "1400");
        assert_eq!(bytes(5), "5b");
    }
}
