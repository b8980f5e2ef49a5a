//! The options of memory, scratch files and resuming.

use std::path::{Path, PathBuf};

use tokapi::ScratchOptions;
use tokapi::Storage;
use tokapi::{Error, Memory};

use crate::size;

/// The memory budget.
#[derive(Debug, clap::Args)]
#[group(skip)]
#[command(next_help_heading = None)]
pub struct Budget {
    /// The most memory to use, mapped files included [default: four fifths of what is available]
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    memory: Option<u64>,
}

/// The memory budget, and the folders for the rest.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub struct Room {
    #[command(flatten)]
    budget: Budget,

    /// A folder for scratch files; give one for each disk [default: the folder of the output]
    ///
    /// With two disks, one is read while the other is written.
    #[arg(long, value_name = "DIR", help_heading = "Memory and scratch")]
    pub scratch: Vec<PathBuf>,
}

#[derive(Debug, clap::Args)]
#[group(skip)]
pub struct Args {
    #[command(flatten)]
    room: Room,

    #[command(flatten)]
    pub course: Course,
}

/// The course of a job that may be larger than memory.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub struct Course {
    /// Continue an interrupted run of the same job
    #[arg(long, help_heading = "Memory and scratch")]
    pub resume: bool,

    /// Write every chunk to scratch files, so that --resume works from the beginning on
    #[arg(long, help_heading = "Memory and scratch")]
    pub spill: bool,

    /// Read, compute and write one after the other: for comparison
    #[arg(long, help_heading = "Memory and scratch")]
    pub no_overlap: bool,
}

impl Budget {
    /// The budget.
    pub fn memory(&self) -> Result<Memory, Error> {
        let memory = self.memory.map(Memory::new).transpose()?;
        if let Some(memory) = &memory {
            share_freed_memory(memory.bytes());
        }
        Ok(memory.unwrap_or_else(Memory::available))
    }
}

impl Room {
    /// The budget.
    pub fn memory(&self) -> Result<Memory, Error> {
        self.budget.memory()
    }

    /// The folders for scratch files.
    pub fn scratch(&self) -> ScratchOptions {
        ScratchOptions::default().folders(self.scratch.clone())
    }
}

impl Args {
    /// Where the collection for `output` goes.
    pub fn storage(&self, output: Option<&Path>) -> Result<Storage, Error> {
        let memory = self.room.memory()?;
        Ok(Storage::new(match self.course.spill {
            true => memory.holding(0),
            false => memory,
        })
        .scratch(self.room.scratch().resume(self.course.resume))
        .output(output.map(Path::to_path_buf)))
    }
}

/// Makes threads use memory that others have freed. With a heap for each thread, a budget of 300 MB took 340 MB, half
/// of it free; with two heaps it took 200 MB, in the same time. Some freed memory is not given back to the system,
/// because every chunk would have to get it again, a page at a time. The smaller the budget, the less is kept: at
/// 300 MB, 120 MB had been free between blocks in use.
fn share_freed_memory(budget: u64) {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        let alone = (budget / 64).clamp(1 << 20, 32 << 20);
        let kept = (budget / 16).clamp(1 << 20, 64 << 20);
        // SAFETY: sets limits of the allocator, which may be done at any time; both are far below 2^31.
        unsafe {
            libc::mallopt(libc::M_ARENA_MAX, 2);
            libc::mallopt(libc::M_MMAP_THRESHOLD, alone as libc::c_int);
            libc::mallopt(libc::M_TRIM_THRESHOLD, kept as libc::c_int);
        }
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    let _ = budget;
}

/// Adds the way on to an error after which the job can be resumed.
pub fn suggest_resuming(error: Error) -> Error {
    match error {
        Error::Scratch { path, source } => Error::Scratch {
            path,
            source: std::io::Error::new(
                source.kind(),
                format!("{source}; remove the cause, then continue with --resume"),
            ),
        },
        other => other,
    }
}
