//! A memory budget, and how the passes share it.

use crate::error::{Error, Result};
use crate::pipeline::Stages;

/// The most memory that a job may have resident.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    bytes: u64,
    asked_for: bool,
    held_bytes: Option<u64>,
    merged_runs: Option<usize>,
}

/// What a chunk costs at most while it is inverted, for each byte of its text: measured 12 for
/// text in which every term is new, 5.5 for terms of one character, 3 for generated text.
const INVERTED_BYTES: u64 = 12;
/// What those cost that are read, wait, are encoded and written meanwhile.
const BESIDE_INVERTED_BYTES: u64 = 8;
/// The same for usual text, everything that is under way at a time included.
const USUAL_INVERTED_BYTES: u64 = 5;
/// What a row group costs at most while it is merged, weighed and encoded: measured where every
/// posting has a term of its own.
const ROW_GROUP_BYTES: u64 = 120 << 20;
/// What those cost that are read, wait and are written meanwhile.
const ROW_GROUPS_BESIDE_BYTES: u64 = 120 << 20;
/// What a run costs while it is merged: a block, decoded, and the buffer it is read through.
const RUN_BYTES: u64 = 352 << 10;

impl Memory {
    /// The program, its stacks, and what an allocator holds back.
    const BASE_BYTES: u64 = 32 << 20;
    /// Less is not enough for one row group.
    const LEAST_BYTES: u64 = 300_000_000;

    /// A budget of `bytes`.
    ///
    /// # Errors
    /// Too little to work with.
    pub fn new(bytes: u64) -> Result<Self> {
        match bytes >= Self::LEAST_BYTES {
            true => Ok(Memory {
                bytes,
                asked_for: true,
                held_bytes: None,
                merged_runs: None,
            }),
            false => Err(Error::Memory {
                what: "any job".into(),
                bytes: Self::LEAST_BYTES,
            }),
        }
    }

    /// Four fifths of what this machine can spare.
    pub fn available() -> Self {
        let bytes = available_bytes().unwrap_or(4 << 30) / 5 * 4;
        Memory {
            bytes: bytes.max(Self::LEAST_BYTES),
            asked_for: false,
            held_bytes: None,
            merged_runs: None,
        }
    }

    /// Holds at most so many bytes of inverted chunks: with 0 every chunk goes to scratch.
    pub fn holding(self, held_bytes: u64) -> Self {
        Memory {
            held_bytes: Some(held_bytes),
            ..self
        }
    }

    /// Merges at most so many runs at a time.
    pub fn merging(self, merged_runs: usize) -> Self {
        Memory {
            merged_runs: Some(merged_runs.max(2)),
            ..self
        }
    }

    /// The budget.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    fn usable(&self) -> u64 {
        self.bytes - Self::BASE_BYTES
    }

    /// What inverted chunks may take that are held in memory: merged and weighed they take four
    /// times as much again.
    pub fn held_bytes(&self) -> u64 {
        self.held_bytes.unwrap_or(self.usable() / 5)
    }

    /// Whether so much text surely does not stay in memory when it is inverted.
    pub fn spills(&self, text_bytes: u64) -> bool {
        // 5 bytes a posting and the terms of each chunk: 0.55 of Cranfield and of generated text.
        text_bytes / 2 > self.held_bytes()
    }

    /// The largest chunk with which `threads` threads and the queues between the stages stay within
    /// the budget, inverted chunks that are held included.
    pub fn chunk_bytes(&self, threads: usize) -> u64 {
        let threads = threads as u64;
        let parts = threads * INVERTED_BYTES + BESIDE_INVERTED_BYTES;
        self.inverting_bytes() / parts
    }

    /// The largest document, which is inverted alone: what the budget allows whatever its text, or, where
    /// nobody asked for a budget, what it allows of usual text.
    pub fn document_bytes(&self) -> usize {
        let each = match self.asked_for {
            true => INVERTED_BYTES + BESIDE_INVERTED_BYTES,
            false => USUAL_INVERTED_BYTES,
        };
        usize::try_from(self.inverting_bytes() / each).unwrap_or(usize::MAX)
    }

    fn inverting_bytes(&self) -> u64 {
        self.usable() / 4 * 3
    }

    /// What sorting may take.
    pub fn sorting_bytes(&self) -> u64 {
        self.usable() / 20 * 19
    }

    /// What putting documents in another order may take.
    pub fn reordering_bytes(&self) -> u64 {
        self.usable() / 2
    }

    /// What may be in memory of the mapped files of an index.
    pub fn mapped_bytes(&self) -> u64 {
        self.usable() / 4
    }

    /// What a pass over an index may take for ids, or for a few bytes of every document.
    pub fn per_document_bytes(&self) -> u64 {
        self.usable() / 2
    }

    /// Tells whether `needed` bytes, which `what` takes, are more than [`Memory::per_document_bytes`].
    pub fn check_per_document(&self, needed: u64, what: &str) -> Result<()> {
        match needed <= self.per_document_bytes() {
            true => Ok(()),
            false => Err(Error::Memory {
                what: what.to_owned(),
                bytes: 2 * needed + Self::BASE_BYTES + 1_000_000,
            }),
        }
    }

    /// What the table of documents may take.
    pub fn documents_bytes(&self) -> u64 {
        self.usable() / 5
    }

    /// How many runs can be merged at a time.
    pub fn merged_runs(&self) -> usize {
        let most = usize::try_from(self.merge_bytes() / RUN_BYTES);
        self.merged_runs
            .unwrap_or(most.map_or(usize::MAX, |runs| runs.max(2)))
    }

    /// Of how many runs the terms can be merged, in the place of the table of documents too.
    pub fn merged_terms(&self) -> usize {
        let bytes = self.merge_bytes() + self.documents_bytes();
        usize::try_from(bytes / RUN_BYTES).unwrap_or(usize::MAX)
    }

    /// The buffer through which each of `runs` runs is read while they are merged.
    pub fn read_buffer_bytes(&self, runs: usize) -> usize {
        const BLOCK_BYTES: u64 = 256 << 10;
        let share = (self.merge_bytes() / runs.max(1) as u64).saturating_sub(BLOCK_BYTES);
        // Beyond a few megabytes no disk gets faster.
        share.clamp(64 << 10, 4 << 20) as usize
    }

    fn merge_bytes(&self) -> u64 {
        self.usable() / 4
    }

    /// How runs that take `run_bytes` each are weighed document by document: in the place of the
    /// table of documents and of merging.
    pub fn rows_stages(&self, threads: usize, run_bytes: u64, overlap: bool) -> Stages {
        let share = self.documents_bytes() + self.merge_bytes();
        let most = usize::try_from(share / run_bytes.max(1)).unwrap_or(usize::MAX);
        // Two are held where they are put into groups, besides those under way.
        let most = most.saturating_sub(2);
        Stages {
            threads: (most / 2).clamp(1, threads),
            overlap,
            beside: (most / 2).min(3),
        }
    }

    /// How row groups are merged, weighed and encoded: on as many of `threads` threads as there is
    /// memory for; with little, one row group is under way at a time. Each holds `held_bytes` of what
    /// it comes from.
    pub fn encoding_stages(&self, threads: usize, held_bytes: u64, overlap: bool) -> Stages {
        let share = self.usable() - self.documents_bytes() - self.merge_bytes();
        let beside = ROW_GROUPS_BESIDE_BYTES + 3 * held_bytes;
        let most = share.saturating_sub(beside) / (ROW_GROUP_BYTES + held_bytes);
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        Stages {
            threads: most.clamp(1, threads),
            overlap,
            beside: if most == 0 { 0 } else { 3 },
        }
    }
}

/// The files that this process has mapped, as far as they are in memory.
#[derive(Debug)]
pub struct MappedFiles {
    #[cfg(target_os = "linux")]
    counts: std::fs::File,
}

impl MappedFiles {
    /// None where the system does not tell.
    pub fn new() -> Option<Self> {
        #[cfg(target_os = "linux")]
        {
            let counts = std::fs::File::open("/proc/self/statm").ok()?;
            Some(MappedFiles { counts })
        }
        #[cfg(not(target_os = "linux"))]
        None
    }

    /// The bytes that are in memory; 0 where they cannot be read.
    pub fn bytes(&self) -> u64 {
        #[cfg(target_os = "linux")]
        {
            use std::os::unix::fs::FileExt;
            let mut text = [0; 128];
            let length = self.counts.read_at(&mut text, 0).unwrap_or(0);
            // Pages: all, those in memory, those of them that are mapped from files.
            let mapped = std::str::from_utf8(&text[..length]).ok();
            let mapped = mapped.and_then(|text| text.split(' ').nth(2)?.parse::<u64>().ok());
            mapped.unwrap_or(0) * rustix::param::page_size() as u64
        }
        #[cfg(not(target_os = "linux"))]
        0
    }
}

/// The memory that could be had without swapping; that of the control group where it is less.
fn available_bytes() -> Option<u64> {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let free = read("/proc/meminfo").and_then(|text| {
        let line = text
            .lines()
            .find(|line| line.starts_with("MemAvailable:"))?;
        let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
        Some(kib * 1024)
    });
    let group = [
        "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    ];
    let group = group
        .iter()
        .find_map(|path| read(path)?.trim().parse::<u64>().ok());
    [free, group].into_iter().flatten().min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_stay_within_the_budget() {
        assert!(Memory::new(1 << 20).is_err());
        for bytes in [300_000_000, 1_000_000_000, 1 << 34] {
            let memory = Memory::new(bytes).unwrap();
            for threads in [1, 2, 16, 64] {
                let chunk = memory.chunk_bytes(threads);
                let local = chunk * (threads as u64 * INVERTED_BYTES + 8) + memory.held_bytes();
                assert!(local < bytes, "{local} of {bytes}");
                let global = memory.documents_bytes()
                    + memory.merged_runs() as u64 * RUN_BYTES
                    + memory.encoding_stages(threads, 0, true).threads as u64 * ROW_GROUP_BYTES;
                assert!(global < bytes, "{global} of {bytes}");
            }
        }
        assert!(Memory::available().bytes() > 0);
    }
}
