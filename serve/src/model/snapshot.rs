//! Snapshots of indexes.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The index of a new snapshot.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SnapshotRequest {
    /// The name of the index.
    pub index: String,
}

/// The name of an index that is restored.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RestoreRequest {
    /// The name, which no index has; that of the index of the snapshot unless given.
    pub index: Option<String>,
}

/// All snapshots.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct SnapshotsAnswer {
    /// The snapshots, by name.
    pub snapshots: Vec<SnapshotAnswer>,
}

/// A snapshot of an index.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct SnapshotAnswer {
    /// The name of the snapshot.
    pub snapshot: String,
    /// The name of the index.
    pub index: String,
    /// The time of the snapshot: milliseconds since the beginning of 1970.
    pub created_ms: u64,
    /// The state of the index that it has; missing if the snapshot is damaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
    /// The number of documents; missing if the snapshot is damaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub documents: Option<u64>,
    /// The size of the files, which the index may share; missing if the snapshot is damaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}
