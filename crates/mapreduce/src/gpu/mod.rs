//! The runner `gpu`: map tasks on a device, reduce tasks on the threads of this process.
//!
//! A split is a chunk. Several threads, each with a queue on the device, process splits at once:
//! one split is parsed, one uploaded, one computed, one written as a run. Chunks need not fit on
//! the device together. A chunk with more pairs than the memory holds is halved. Records that the
//! device cannot map, such as one with too many pairs, are mapped on the host.

mod map;
mod task;
mod write;

use std::path::Path;
use std::sync::Mutex;

use tokapi_kernels::{Algorithm, Build, Mapper, MapperOptions};

use super::input::Input;
use super::job::{Emitter, Room};
use super::output::{Recorded, Written, record, write};
use super::portable::{ListJob, Portable, Runner, Text, TextJob};
use super::run::Run;
use super::threads::map::{MapSink, map_splits};
use super::threads::{RunJob, Threads};
use map::MapWorker;
use task::Task;
use tokapi_storage::error::{Error, Result};
use tokapi_storage::progress::Progress;

/// Maximum number of splits on the device at once.
const WORKERS: usize = 16;

/// Maps on a device and reduces on threads.
#[derive(Debug, Clone)]
pub struct GpuRunner {
    /// The options of the host: threads, memory, scratch files, partitions.
    pub threads: Threads,
    /// The build of the kernels.
    pub build: Build,
    /// The device, counted from 0.
    pub device: u32,
    /// Maximum device memory in bytes; `None` means the free memory.
    pub memory_bytes: Option<u64>,
    /// The sort algorithm for pairs.
    pub sort: Algorithm,
    /// For tests: splits of a worker after which the device is lost.
    #[doc(hidden)]
    pub fail_after: Option<u64>,
}

impl GpuRunner {
    /// The first device, radix sort.
    pub fn new(build: Build, threads: Threads) -> Self {
        GpuRunner {
            threads,
            build,
            device: 0,
            memory_bytes: None,
            sort: Algorithm::default(),
            fail_after: None,
        }
    }

    fn mappers(&self) -> Result<Vec<Mapper>> {
        let workers = self.threads.threads.clamp(1, WORKERS);
        let device = self.build.device(self.device)?;
        // The host build has no limit. Some memory is reserved for text and for other programs.
        let free = Some(device.free_bytes / 8 * 7).filter(|&free| free > 0);
        let memory_bytes = free.into_iter().chain(self.memory_bytes).min();
        let options = MapperOptions {
            device: self.device,
            memory_bytes: memory_bytes.map_or(u64::MAX, |bytes| bytes / workers as u64),
            sort: self.sort,
            fail_after: self.fail_after,
            timed: false,
        };
        let mapper = |_| Ok(Mapper::new(self.build, &options)?);
        (0..workers).map(mapper).collect()
    }
}

impl<J: Portable> RunJob<J> for GpuRunner {
    fn threads(&self) -> &Threads {
        &self.threads
    }

    fn map(&self, job: &mut J, input: J::Input, sink: &mut MapSink) -> Result<Vec<Run>> {
        let functors = J::FUNCTORS.ok_or_else(|| {
            let name = J::NAME;
            Error::Usage(format!(
                "{name} has no functions for a device; run it on threads"
            ))
        })?;
        let MapSink { spill, report } = sink;
        let workers: Vec<Mutex<MapWorker<J>>> = self
            .mappers()?
            .into_iter()
            .map(|mapper| {
                Mutex::new(MapWorker {
                    mapper,
                    reader: input.reader(),
                    emitter: Emitter::new(self.threads.combiner(job), self.threads.skip_bad),
                    bytes: Vec::new(),
                    starts: Vec::new(),
                })
            })
            .collect();
        let task = Task {
            threads: &self.threads,
            job: &*job,
            functors: &functors,
            spill,
        };
        let map = |worker: &mut MapWorker<J>, number, split| task.map_split(worker, number, split);
        let notes = self.threads.notes();
        let progress = &self.threads.progress;
        let (runs, notes) = map_splits(input, &workers, map, notes, report, progress)?;
        drop(workers);
        let runs = report.take_runs(runs);
        job.all_mapped(&notes, &self.threads.room())?;
        Ok(runs)
    }
}

impl Runner for GpuRunner {
    fn tasks(&self) -> usize {
        self.threads.tasks()
    }

    fn room(&self) -> Room {
        self.threads.room()
    }

    fn progress(&self) -> &Progress {
        &self.threads.progress
    }

    fn needs_functors(&self) -> bool {
        true
    }

    fn text<J: TextJob>(&self, job: &mut J, input: J::Input, path: &Path) -> Result<Written> {
        write(self, job, input, path, |output, text| output.push(text))
    }

    fn records<J: ListJob>(&self, job: &mut J, input: J::Input) -> Result<Recorded<J::Owned>> {
        let runner = GpuRunner {
            threads: self.threads.in_key_order(),
            ..self.clone()
        };
        record(&runner, job, input, J::own)
    }
}
