//! Sorts files of numbers, larger than memory or not: runs, then a merge.
//!
//! A file that fits into memory is read, sorted and written. Otherwise every chunk becomes a sorted run on scratch, and
//! the runs are merged range by range ([`super::merge`]). Both passes use the pipeline and stay within the budget. An
//! interrupted job continues after its last run.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use super::columns::{self, Columns, Word};
use super::input::{Input, Layout, RawChunk};
use super::options::SortOptions;
use super::run::EncodedRun;
use super::runs::Runs;
use super::{Sort, merge};
use tokapi_storage::error::{Error, Result};
use tokapi_storage::pipeline::{StageTimes, Stages};
use tokapi_storage::progress::Stage;
use tokapi_storage::scratch::JobIdentity;
use tokapi_storage::whole::{Staged, Streamed, sync_folder};

/// The result of sorting a file.
///
/// [`sort_file`] has an example.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Sorted {
    /// The number of records.
    pub records: u64,
    /// The number of runs on scratch; 0 if all records were in memory.
    pub runs: usize,
    /// The bytes of a chunk.
    pub chunk_bytes: usize,
    /// The times until all runs were sorted.
    pub local: StageTimes,
    /// The times of the merge.
    pub global: StageTimes,
}

/// Sorts the records of `input` into `output` with the engines that `engine` makes.
///
/// ```
/// # use tokapi_sort::{Cpu, KeyType, Layout, SortOptions, sort_file};
/// # use tokapi_storage::memory::Memory;
/// # fn main() -> tokapi_storage::error::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let (input, output) = (folder.path().join("numbers"), folder.path().join("sorted"));
/// std::fs::write(&input, "3\n-1\n2\n").unwrap();
/// let options = SortOptions::new(KeyType::I64, Memory::available()).layout(Layout::Text);
/// let sorted = sort_file(&input, &output, &options, &|| Ok(Box::new(Cpu::new())))?;
/// assert_eq!(sorted.records, 3);
/// assert_eq!(std::fs::read_to_string(&output).unwrap(), "-1\n2\n3\n");
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The input cannot be read or is not of the type; the output or a scratch file cannot be written;
/// an interrupted job blocks this one; the engine fails; [`Error::Cancelled`].
pub fn sort_file(
    input: &Path,
    output: &Path,
    options: &SortOptions,
    engine: &(dyn Fn() -> Result<Box<dyn Sort>> + Sync),
) -> Result<Sorted> {
    let sorter = Sorter {
        input,
        output,
        options,
        engine,
    };
    match options.key_type.word_bytes() {
        4 => sorter.sort::<u32>(),
        _ => sorter.sort::<u64>(),
    }
}

/// The largest chunk that can be sorted within the memory.
///
/// # Errors
/// The engine fails.
pub fn chunk_limit(
    options: &SortOptions,
    engine: &(dyn Fn() -> Result<Box<dyn Sort>> + Sync),
) -> Result<usize> {
    let mut options = options.clone();
    options.chunk_bytes = None;
    let nothing = Path::new("");
    let sorter = Sorter {
        input: nothing,
        output: nothing,
        options: &options,
        engine,
    };
    let (_, chunk) = match options.key_type.word_bytes() {
        4 => sorter.chunk_bytes::<u32>()?,
        _ => sorter.chunk_bytes::<u64>()?,
    };
    Ok(chunk)
}

pub(super) struct Sorter<'a> {
    pub(super) input: &'a Path,
    pub(super) output: &'a Path,
    pub(super) options: &'a SortOptions,
    engine: &'a (dyn Fn() -> Result<Box<dyn Sort>> + Sync),
}

/// Buffers of finished chunks. Fresh memory for every chunk would cost as much time as sorting it.
#[derive(Default)]
struct Spare(Mutex<Vec<Vec<u8>>>);

impl Spare {
    fn buffers(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Vec<u8> {
        self.buffers().pop().unwrap_or_default()
    }

    fn give(&self, buffer: Vec<u8>) {
        self.buffers().push(buffer);
    }
}

impl Sorter<'_> {
    fn sort<W: Word>(&self) -> Result<Sorted> {
        let SortOptions {
            pairs,
            layout,
            scratch,
            ..
        } = self.options;
        let job = self.job()?;
        job.check(scratch)?;
        let record_bytes = self.record_bytes();
        let mut input = Input::open(self.input, *layout, record_bytes)?;
        let progress = &self.options.progress;
        progress.begin(Stage::Reading, input.bytes.unwrap_or(0));
        let resumed = scratch.resume && job.is_begun(scratch);
        if scratch.resume && self.input == Path::new("-") {
            return Err(Error::Usage(
                "standard input cannot be read again; save it to a file to be able to resume"
                    .into(),
            ));
        }
        let (whole, chunk) = self.chunk_bytes::<W>()?;
        let fits = input.bytes.is_some_and(|bytes| bytes <= whole as u64);
        if fits && !self.options.spill && !resumed {
            return self.in_memory::<W>(input, &job);
        }
        let chunk = match (&self.options.tuned, input.bytes) {
            (Some(model), Some(bytes)) if self.options.chunk_bytes.is_none() => {
                let best = model.best(bytes, model.range.0, model.range.1.min(chunk as u64));
                log::info!("predicted best chunk size: {best} bytes");
                usize::try_from(best).map_or(chunk, |best| best.clamp(record_bytes, chunk))
            }
            _ => chunk,
        };
        let mut runs = Runs::<W>::open(&job, scratch, *pairs, chunk)?;
        let local = self.local(&mut input, &mut runs);
        if let Err(error) = local {
            let mended = matches!(
                error,
                Error::Read { .. } | Error::Scratch { .. } | Error::Device(_) | Error::Write { .. }
            );
            if !mended {
                runs.scratch.remove();
            }
            return Err(error);
        }
        let local = local?;
        if let Err(changed) = self.check_unchanged(&job) {
            runs.scratch.remove();
            return Err(changed);
        }
        let global = match self.global(&runs) {
            Err(Error::Cancelled) => {
                runs.scratch.remove();
                return Err(Error::Cancelled);
            }
            global => global?,
        };
        let sorted = Sorted {
            records: runs.runs.iter().map(|run| run.records).sum(),
            runs: runs.runs.len(),
            chunk_bytes: runs.chunk_bytes,
            local,
            global,
        };
        runs.scratch.remove();
        Ok(sorted)
    }

    /// The bytes of a binary record.
    fn record_bytes(&self) -> usize {
        self.options.key_type.bytes() * (1 + usize::from(self.options.pairs))
    }

    fn job(&self) -> Result<JobIdentity> {
        let SortOptions {
            key_type,
            pairs,
            layout,
            ..
        } = self.options;
        let described = tokapi_text::corpus::Input::of_file(self.input).description();
        let folder = match self.output.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
            _ => PathBuf::from("."),
        };
        let folder = folder.canonicalize().unwrap_or(folder);
        let name = self.output.file_name().unwrap_or_default();
        Ok(JobIdentity {
            name: folder.join(name).display().to_string(),
            terms: json!({
                "inputs": described,
                "types": format!("{} {pairs} {layout:?}", key_type.name()),
            }),
            input: (self.input != Path::new("-")).then(|| self.input.to_path_buf()),
            output: folder,
        })
    }

    /// Checks that the input has not changed since the job began.
    pub(super) fn check_unchanged(&self, job: &JobIdentity) -> Result<()> {
        match self.job()?.terms == job.terms {
            true => Ok(()),
            false => Err(Error::Usage(format!(
                "{}: it has changed while it was read; begin again",
                self.input.display()
            ))),
        }
    }

    /// The largest input that is sorted in memory as a whole, and the size of a chunk, in bytes.
    fn chunk_bytes<W: Word>(&self) -> Result<(usize, usize)> {
        let items = W::items(self.options.pairs);
        let engine = (self.engine)()?;
        // The memory of an engine beside the records, per byte of records, in units of a 64th.
        let probe = 64 << 20;
        let fixed = engine.scratch_bytes(items, 0);
        let beside = engine.scratch_bytes(items, probe / items.bytes()) - fixed;
        let each = 64 + (64 * beside).div_ceil(probe);
        // The bytes read stay until they are records. A line of text may become a larger record: `0\n` becomes 16 bytes
        // with pairs.
        let grown = match self.options.layout {
            Layout::Binary => (W::BYTES / self.options.key_type.bytes()) as u64,
            Layout::Text => items.bytes() / 2,
        };
        let raw = match self.reads_keys() {
            true => 0,
            false => 64,
        };
        let usable = self.options.memory.sorting_bytes().saturating_sub(fixed);
        // The limit of the engine, as bytes of input.
        let most = engine.most_items(items).saturating_mul(items.bytes()) / grown;
        let whole = (usable * 64 / (each * grown + raw)).min(most);
        // One chunk is sorted while others are read, queued and written; each of these as bytes.
        let chunk = (usable * 64 / (each * grown + 4 * 64)).min(most);
        let chunk = usize::try_from(chunk).unwrap_or(usize::MAX);
        let chunk = match self.options.chunk_bytes {
            Some(asked) if asked > chunk => {
                return Err(Error::Usage(format!(
                    "chunks of {asked} bytes need more memory; at most {chunk} bytes fit"
                )));
            }
            asked => asked.unwrap_or(chunk),
        };
        let whole = usize::try_from(whole).unwrap_or(usize::MAX);
        Ok((whole, chunk.max(items.bytes() as usize)))
    }

    pub(super) fn parse<W: Word>(
        &self,
        raw: RawChunk,
        columns: &mut Columns<W>,
    ) -> Result<Vec<u8>> {
        let SortOptions {
            layout, key_type, ..
        } = self.options;
        raw.parse(
            *layout,
            *key_type,
            self.input,
            columns,
            &self.options.progress,
        )
    }

    pub(super) fn bytes_of<W: Word>(
        &self,
        columns: &Columns<W>,
        range: std::ops::Range<usize>,
    ) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self.options.layout {
            Layout::Binary => columns.push_records(self.options.key_type, range, &mut bytes),
            Layout::Text => columns.push_lines(self.options.key_type, range, &mut bytes),
        }
        bytes
    }

    pub(super) fn streamed<'a>(&self, staged: &'a mut Staged) -> Result<Streamed<'a>> {
        Streamed::new(staged).map_err(Error::writing(self.output))
    }

    pub(super) fn write(&self, streamed: &mut Streamed<'_>, bytes: &[u8]) -> Result<()> {
        self.options.progress.check()?;
        let written = streamed.write_all(bytes);
        written.map_err(Error::writing(self.output))?;
        self.options.progress.add(bytes.len() as u64);
        Ok(())
    }

    /// An engine that ends early if the operation is cancelled.
    pub(super) fn engine(&self) -> Result<Box<dyn Sort>> {
        let mut engine = (self.engine)()?;
        engine.follow(&self.options.progress);
        Ok(engine)
    }

    pub(super) fn finish(&self, streamed: Streamed<'_>) -> Result<()> {
        streamed.finish().map_err(Error::writing(self.output))
    }

    /// Sorts the chunks into runs.
    fn local<W: Word>(&self, input: &mut Input, runs: &mut Runs<W>) -> Result<StageTimes> {
        if runs.complete {
            return Ok(StageTimes::default());
        }
        if let Some(position) = &runs.position {
            input.go_to(position)?;
            self.options.progress.add(input.given());
        }
        // The engine uses all threads for a chunk.
        let stages = Stages::new(1, !self.options.no_overlap);
        let (chunk_bytes, stamp) = (runs.chunk_bytes, runs.scratch.stamp());
        let spare = Spare::default();
        let read = || input.next(chunk_bytes, spare.take(), &self.options.progress);
        let worker = || {
            let mut engine = None;
            let mut columns = Columns::<W>::new(self.options.pairs);
            let spare = &spare;
            move |raw: RawChunk| {
                let position = raw.position.clone();
                spare.give(self.parse(raw, &mut columns)?);
                if engine.is_none() {
                    engine = Some(self.engine()?);
                }
                if let Some(engine) = &mut engine {
                    columns.sort(&mut **engine)?;
                }
                let run = EncodedRun::new(stamp, &columns, spare.take(), &self.options.progress)?;
                Ok((run, position))
            }
        };
        let write = |(run, position): (EncodedRun, Value)| {
            self.options.progress.check()?;
            runs.push(&run, &position, &self.options.progress)?;
            spare.give(run.bytes);
            Ok(())
        };
        let times = stages.run(read, worker, write)?;
        runs.end()?;
        log::info!("local pass: {times}");
        Ok(times)
    }

    /// Merges the runs into the output.
    fn global<W: Word>(&self, runs: &Runs<W>) -> Result<StageTimes> {
        let threads = rayon::current_num_threads();
        let stages = Stages::new(threads, !self.options.no_overlap);
        let items = W::items(self.options.pairs);
        // The memory of a task: its records, a run's share of them, their bytes, and the scratch of the engine.
        let room =
            self.options.memory.sorting_bytes() / (stages.in_flight() as u64 + threads as u64);
        let most = usize::try_from(room / (5 * items.bytes())).unwrap_or(usize::MAX);
        if most < merge::least_task_records(runs.runs.len()) / 4 {
            return Err(Error::Usage(format!(
                "this memory is too little to merge {} runs; give more memory and continue",
                runs.runs.len()
            )));
        }
        // Larger tasks gain nothing; smaller ones read too many records twice.
        let records = most.min(merge::least_task_records(runs.runs.len()).max(4 << 20));
        let all: u64 = runs.runs.iter().map(|run| run.records).sum();
        let progress = &self.options.progress;
        let total = match self.options.layout {
            Layout::Binary => all * self.record_bytes() as u64,
            // The output has about as many bytes as the input.
            Layout::Text => progress.snapshot().total,
        };
        progress.begin(Stage::Merging, total);
        let mut tasks = merge::tasks(&runs.runs, records).into_iter();
        let mut staged = Staged::create(self.output)?;
        let mut streamed = self.streamed(&mut staged)?;
        let worker = || {
            let mut engine = None;
            let (mut merged, mut part) = (
                Columns::<W>::new(self.options.pairs),
                Columns::<W>::new(self.options.pairs),
            );
            move |task: merge::Task<W>| {
                if engine.is_none() {
                    engine = Some(self.engine()?);
                }
                self.options.progress.check()?;
                if let Some(engine) = &mut engine {
                    task.merge(&runs.runs, &mut **engine, &mut merged, &mut part)?;
                }
                columns::restore(&mut merged.keys, self.options.key_type, progress)?;
                Ok(self.bytes_of(&merged, 0..merged.len()))
            }
        };
        let mut times = stages.run(
            || Ok(tasks.next()),
            worker,
            |bytes| self.write(&mut streamed, &bytes),
        )?;
        let started = std::time::Instant::now();
        self.finish(streamed)?;
        staged.sync(progress)?;
        staged.rename()?;
        times.output += started.elapsed();
        times.wall += started.elapsed();
        sync_folder(self.output)?;
        log::info!("global pass: {times}");
        Ok(times)
    }
}
