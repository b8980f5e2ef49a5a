//! The statistics of a job.

use std::time::Duration;

use serde::Serialize;

use tokapi_text::corpus::Skipped;

/// The counters of a job.
///
/// [`Job`](crate::Job) has an example.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Report {
    /// Number of splits of the input.
    pub splits: u64,
    /// Number of pairs emitted by `map`.
    pub emitted_pairs: u64,
    /// Number of pairs from map to reduce: fewer if they were combined.
    pub shuffled_pairs: u64,
    /// The size of these pairs in bytes, each with its key.
    pub pair_bytes: u64,
    /// The size of the runs in bytes; each run stores a key once.
    pub shuffled_bytes: u64,
    /// Bytes that were written to scratch files.
    pub spilled_bytes: u64,
    /// Number of runs.
    pub runs: u64,
    /// Keys.
    pub keys: u64,
    /// Outputs.
    pub outputs: u64,
    /// Number of pairs reduced in each partition.
    pub partition_pairs: Vec<u64>,
    /// Number of tasks repeated because a worker died, hung or failed.
    pub reruns: u64,
    /// Number of slow tasks that were started a second time near the end.
    pub stragglers: u64,
    /// Inputs that were omitted.
    pub skipped: Skipped,
    /// The time of the map phase.
    pub map: Duration,
    /// The time of the reduce phase.
    pub reduce: Duration,
}

impl Report {
    /// The pairs of the largest partition divided by the mean: the relative load of the slowest
    /// reduce task.
    pub fn skew(&self) -> f64 {
        let largest = self.partition_pairs.iter().max().copied().unwrap_or(0);
        let sum: u64 = self.partition_pairs.iter().sum();
        match sum {
            0 => 1.0,
            sum => largest as f64 * self.partition_pairs.len() as f64 / sum as f64,
        }
    }

    /// Adds the statistics of a step of this job.
    pub fn append(&mut self, other: Report) {
        self.splits += other.splits;
        self.emitted_pairs += other.emitted_pairs;
        self.shuffled_pairs += other.shuffled_pairs;
        self.pair_bytes += other.pair_bytes;
        self.shuffled_bytes += other.shuffled_bytes;
        self.spilled_bytes += other.spilled_bytes;
        self.runs += other.runs;
        self.keys += other.keys;
        self.outputs += other.outputs;
        self.partition_pairs = other.partition_pairs;
        self.reruns += other.reruns;
        self.stragglers += other.stragglers;
        self.skipped.append(other.skipped);
        self.map += other.map;
        self.reduce += other.reduce;
    }
}

/// The counters for machine-readable output.
impl Serialize for Report {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut object = serializer.serialize_struct("Report", 16)?;
        object.serialize_field("splits", &self.splits)?;
        object.serialize_field("emitted_pairs", &self.emitted_pairs)?;
        object.serialize_field("shuffled_pairs", &self.shuffled_pairs)?;
        object.serialize_field("pair_bytes", &self.pair_bytes)?;
        object.serialize_field("shuffled_bytes", &self.shuffled_bytes)?;
        object.serialize_field("spilled_bytes", &self.spilled_bytes)?;
        object.serialize_field("runs", &self.runs)?;
        object.serialize_field("keys", &self.keys)?;
        object.serialize_field("outputs", &self.outputs)?;
        object.serialize_field("partitions", &self.partition_pairs.len())?;
        object.serialize_field("skew", &self.skew())?;
        object.serialize_field("map_seconds", &self.map.as_secs_f64())?;
        object.serialize_field("reduce_seconds", &self.reduce.as_secs_f64())?;
        object.serialize_field("reruns", &self.reruns)?;
        object.serialize_field("stragglers", &self.stragglers)?;
        object.serialize_field("skipped", &self.skipped.count)?;
        object.end()
    }
}
