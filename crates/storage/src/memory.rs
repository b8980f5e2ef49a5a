//! A memory budget, and its division among the passes.

use crate::error::{Error, Result};
use crate::pipeline::Stages;

/// The most resident memory of a job.
///
/// ```
/// # use tokapi_storage::memory::Memory;
/// let memory = Memory::new(1_000_000_000)?;
/// assert_eq!(memory.bytes(), 1_000_000_000);
/// # Ok::<(), tokapi_storage::error::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    bytes: u64,
    asked_for: bool,
    held_bytes: Option<u64>,
    merged_runs: Option<usize>,
}

/// The peak memory of a chunk during inversion, per byte of its text. Measured: 12 for text in which every term is new,
/// 5.5 for terms of one character, 3 for generated text.
const INVERTED_BYTES: u64 = 12;
/// The memory of the chunks that are read, queued, encoded and written at the same time, per byte of a chunk.
const BESIDE_INVERTED_BYTES: u64 = 8;
/// The memory per byte of usual text, for all chunks in flight together.
const USUAL_INVERTED_BYTES: u64 = 5;
/// The peak memory of a row group that is merged, weighed and encoded. Measured with a term of its own for every
/// posting.
const ROW_GROUP_BYTES: u64 = 120 << 20;
/// The memory of the row groups that are read, queued and written at the same time.
const ROW_GROUPS_BESIDE_BYTES: u64 = 120 << 20;
/// The memory of a run during a merge: a decoded block and the read buffer.
const RUN_BYTES: u64 = 352 << 10;

impl Memory {
    /// The program, its stacks, and the memory that an allocator holds back.
    const BASE_BYTES: u64 = 32 << 20;
    /// The least budget: one row group.
    const LEAST_BYTES: u64 = 300_000_000;

    /// A budget of `bytes`.
    ///
    /// # Errors
    /// The budget is too small.
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

    /// Four fifths of the available memory of this machine.
    pub fn available() -> Self {
        let bytes = available_bytes().unwrap_or(4 << 30) / 5 * 4;
        Memory {
            bytes: bytes.max(Self::LEAST_BYTES),
            asked_for: false,
            held_bytes: None,
            merged_runs: None,
        }
    }

    /// Holds at most `held_bytes` bytes of inverted chunks. With 0 every chunk goes to scratch.
    pub fn holding(self, held_bytes: u64) -> Self {
        Memory {
            held_bytes: Some(held_bytes),
            ..self
        }
    }

    /// Merges at most `merged_runs` runs at a time.
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

    /// The limit for inverted chunks that are held in memory. Merging and weighing take four times as much again.
    pub fn held_bytes(&self) -> u64 {
        self.held_bytes.unwrap_or(self.usable() / 5)
    }

    /// Whether `text_bytes` bytes of text are too large to stay in memory after inversion.
    pub fn spills(&self, text_bytes: u64) -> bool {
        // An inverted chunk takes 5 bytes a posting, plus its terms: 0.55 bytes per byte of Cranfield and of generated
        // text.
        text_bytes / 2 > self.held_bytes()
    }

    /// The largest chunk within the budget, for `threads` threads, the queues between the stages and the inverted
    /// chunks that are held.
    pub fn chunk_bytes(&self, threads: usize) -> u64 {
        let threads = threads as u64;
        let parts = threads * INVERTED_BYTES + BESIDE_INVERTED_BYTES;
        self.inverting_bytes() / parts
    }

    /// The largest document. It is inverted alone. With a given budget the limit holds for any text; without one it
    /// holds for usual text.
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

    /// The memory for sorting.
    pub fn sorting_bytes(&self) -> u64 {
        self.usable() / 20 * 19
    }

    /// The memory for reordering documents.
    pub fn reordering_bytes(&self) -> u64 {
        self.usable() / 2
    }

    /// The resident memory of the mapped files of an index.
    pub fn mapped_bytes(&self) -> u64 {
        self.usable() / 4
    }

    /// The memory of a pass over an index for ids, or for a few bytes of every document.
    pub fn per_document_bytes(&self) -> u64 {
        self.usable() / 2
    }

    /// Fails if `needed` bytes for `what` exceed [`Memory::per_document_bytes`].
    pub fn check_per_document(&self, needed: u64, what: &str) -> Result<()> {
        match needed <= self.per_document_bytes() {
            true => Ok(()),
            false => Err(Error::Memory {
                what: what.to_owned(),
                bytes: 2 * needed + Self::BASE_BYTES + 1_000_000,
            }),
        }
    }

    /// The memory for the table of documents.
    pub fn documents_bytes(&self) -> u64 {
        self.usable() / 5
    }

    /// The number of runs that can be merged at a time.
    pub fn merged_runs(&self) -> usize {
        let most = usize::try_from(self.merge_bytes() / RUN_BYTES);
        self.merged_runs
            .unwrap_or(most.map_or(usize::MAX, |runs| runs.max(2)))
    }

    /// The number of runs whose terms can be merged at a time. The memory for the table of documents is used too.
    pub fn merged_terms(&self) -> usize {
        let bytes = self.merge_bytes() + self.documents_bytes();
        usize::try_from(bytes / RUN_BYTES).unwrap_or(usize::MAX)
    }

    /// The size of the read buffer of each of `runs` runs during a merge.
    pub fn read_buffer_bytes(&self, runs: usize) -> usize {
        const BLOCK_BYTES: u64 = 256 << 10;
        let share = (self.merge_bytes() / runs.max(1) as u64).saturating_sub(BLOCK_BYTES);
        // Beyond a few megabytes a larger buffer makes no disk faster.
        share.clamp(64 << 10, 4 << 20) as usize
    }

    fn merge_bytes(&self) -> u64 {
        self.usable() / 4
    }

    /// The stages that weigh runs of `run_bytes` each document by document. They use the memory for the table of
    /// documents and for merging.
    pub fn rows_stages(&self, threads: usize, run_bytes: u64, overlap: bool) -> Stages {
        let share = self.documents_bytes() + self.merge_bytes();
        let most = usize::try_from(share / run_bytes.max(1)).unwrap_or(usize::MAX);
        // Two more runs are held where entries are put into groups.
        let most = most.saturating_sub(2);
        Stages {
            threads: (most / 2).clamp(1, threads),
            overlap,
            beside: (most / 2).min(3),
        }
    }

    /// The stages that merge, weigh and encode row groups, on as many of `threads` threads as the memory allows. With
    /// little memory one row group is in flight at a time. Each holds `held_bytes` of its source.
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

/// The resident memory of the files that this process has mapped.
#[derive(Debug)]
pub struct MappedFiles {
    #[cfg(target_os = "linux")]
    counts: std::fs::File,
}

impl MappedFiles {
    /// None if the system does not tell.
    pub fn new() -> Option<Self> {
        #[cfg(target_os = "linux")]
        {
            let counts = std::fs::File::open("/proc/self/statm").ok()?;
            Some(MappedFiles { counts })
        }
        #[cfg(not(target_os = "linux"))]
        None
    }

    /// The resident bytes; 0 if they cannot be read.
    pub fn bytes(&self) -> u64 {
        #[cfg(target_os = "linux")]
        {
            use std::os::unix::fs::FileExt;
            let mut text = [0; 128];
            let length = self.counts.read_at(&mut text, 0).unwrap_or(0);
            // Three page counts: all, resident, resident and mapped from files.
            let mapped = std::str::from_utf8(&text[..length]).ok();
            let mapped = mapped.and_then(|text| text.split(' ').nth(2)?.parse::<u64>().ok());
            mapped.unwrap_or(0) * rustix::param::page_size() as u64
        }
        #[cfg(not(target_os = "linux"))]
        0
    }
}

/// The memory available without swapping, or that of the control group if it is less.
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
