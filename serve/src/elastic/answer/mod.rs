//! The JSON of answers, as Elasticsearch's clients read it.

mod cluster;
mod document;
mod hits;

pub use cluster::{IndexState, cat_json, cat_text, health, index_json, root, settings_json};
pub use document::{bulk_item, found, written};
pub use hits::{Hits, count, search, with_took};

/// One shard on one machine, as answers describe it.
pub const SHARDS: &str = r#"{"total":1,"successful":1,"skipped":0,"failed":0}"#;

/// Adds a value as JSON.
pub(super) fn push(value: &(impl serde::Serialize + ?Sized), json: &mut Vec<u8>) {
    // Writing to memory does not fail, and the values have string keys.
    let _ = serde_json::to_writer(json, value);
}
