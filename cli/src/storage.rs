//! The options by which a verb keeps within the memory, and goes on after an interruption.

use std::path::{Path, PathBuf};

use tokapi::collection::Storage;
use tokapi::scratch::ScratchOptions;
use tokapi::{Error, Memory};

use crate::size;

/// How much memory there is.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub struct Budget {
    /// The most memory to have resident, mapped files included [default: four fifths of what is available]
    #[arg(long, value_name = "SIZE", value_parser = size::parse, help_heading = "Memory")]
    memory: Option<u64>,
}

/// How much memory there is, and where the rest goes.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub struct Room {
    #[command(flatten)]
    budget: Budget,

    /// A folder for scratch files [default: that of the output]; once for each disk
    ///
    /// With two disks one is read while the other is written to.
    #[arg(long, value_name = "FOLDER", help_heading = "Memory")]
    pub scratch: Vec<PathBuf>,
}

#[derive(Debug, clap::Args)]
#[group(skip)]
pub struct Args {
    #[command(flatten)]
    room: Room,

    /// Continue an interrupted run of the same job
    #[arg(long, help_heading = "Memory")]
    resume: bool,

    /// Put every chunk on scratch, also while there is memory: then a run that is interrupted early can be continued too
    #[arg(long, help_heading = "Memory")]
    pub spill: bool,

    /// Read, compute and write one after the other: for comparison
    #[arg(long, help_heading = "Memory")]
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
}

impl Args {
    /// Where the collection for `output` goes.
    pub fn storage(&self, output: Option<&Path>) -> Result<Storage, Error> {
        let memory = self.room.memory()?;
        Ok(Storage {
            memory: match self.spill {
                true => memory.holding(0),
                false => memory,
            },
            scratch: self.scratch(),
            output: output.map(Path::to_path_buf),
        })
    }

    fn scratch(&self) -> ScratchOptions {
        ScratchOptions {
            folders: self.room.scratch.clone(),
            resume: self.resume,
        }
    }
}

/// Makes threads use what others have freed. Where each has a heap of its own, a budget of 300 MB
/// took 340 MB, half of it free; with two it took 200 MB, in the same time. Some of
/// what is freed is not given back to the system, from which every chunk would have to get it again,
/// a page at a time; the smaller the budget, the less: of 300 MB, 120 had been free between what
/// was in use.
fn share_freed_memory(budget: u64) {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        let alone = (budget / 64).clamp(1 << 20, 32 << 20);
        let kept = (budget / 16).clamp(1 << 20, 64 << 20);
        // SAFETY: sets limits of the allocator, which is made for being called at any time; both
        // are far below 2^31.
        unsafe {
            libc::mallopt(libc::M_ARENA_MAX, 2);
            libc::mallopt(libc::M_MMAP_THRESHOLD, alone as libc::c_int);
            libc::mallopt(libc::M_TRIM_THRESHOLD, kept as libc::c_int);
        }
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    let _ = budget;
}

/// Says after which errors the work can go on.
pub fn suggest_resuming(error: Error) -> Error {
    match error {
        Error::Scratch { path, source } => Error::Scratch {
            path,
            source: std::io::Error::new(
                source.kind(),
                format!("{source}; when that is mended, go on with --resume"),
            ),
        },
        other => other,
    }
}
