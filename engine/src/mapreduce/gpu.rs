//! The runner `gpu`: map tasks on a device, reduce tasks on the threads of this process.
//!
//! A split is a chunk. Several are under way at once, each by a thread with a queue of its own
//! on the device: one is parsed, one uploaded, one computed on, one written as a run. Chunks need
//! not fit on the device together, and one that has more pairs than there is memory for is halved. What
//! the device cannot map, such as a single record with too many pairs, is mapped here.

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use tokapi_kernels::{self as kernels, Algorithm, Build, Groups, Mapper, MapperOptions};

use super::codec;
use super::cuts::Partitions;
use super::emit::Emitter;
use super::functors::{DeviceKey, DeviceValue, Functors, MapFunction, ReduceFunction, slice};
use super::input::{Input, Reader};
use super::job::Job;
use super::output::{RunJob, collect, write};
use super::portable::{ListJob, Portable, Runner, TextJob};
use super::report::Report;
use super::run::{Run, RunWriter};
use super::spill::Spill;
use super::threads::{Mapped, Numbered, Threads};
use crate::corpus::Skipped;
use crate::error::{Error, Result};
use crate::output::Staged;

/// Splits that are on the device at once, at most.
const LANES: usize = 8;

/// Text of a chunk: places in it have 32 bits.
const MOST_BYTES: usize = 0xFFFF_0000;

/// Maps on a device and reduces on threads.
#[derive(Debug, Clone)]
pub struct Gpu {
    /// How the rest works: threads, memory, scratch files, partitions.
    pub threads: Threads,
    /// The build of the kernels.
    pub build: Build,
    /// The device, counted from 0.
    pub device: u32,
    /// Device memory to use at most; what is free where `None`.
    pub memory_bytes: Option<u64>,
    /// How pairs are sorted.
    pub sort: Algorithm,
    /// Splits of a lane after which the device is lost, for tests of that.
    #[doc(hidden)]
    pub fail_after: Option<u64>,
}

impl Gpu {
    /// The first device, radix sort.
    pub fn new(build: Build, threads: Threads) -> Self {
        Gpu {
            threads,
            build,
            device: 0,
            memory_bytes: None,
            sort: Algorithm::default(),
            fail_after: None,
        }
    }

    fn mappers(&self) -> Result<Vec<Mapper>> {
        let lanes = self.threads.threads.clamp(1, LANES);
        let device = self.build.device(self.device)?;
        // The build for the host knows of no limit. Some is left for text, and what others need.
        let free = Some(device.free_bytes / 8 * 7).filter(|&free| free > 0);
        let memory_bytes = free.into_iter().chain(self.memory_bytes).min();
        let options = MapperOptions {
            device: self.device,
            memory_bytes: memory_bytes.map_or(u64::MAX, |bytes| bytes / lanes as u64),
            sort: self.sort,
            fail_after: self.fail_after,
            timed: false,
        };
        let mapper = |_| Ok(Mapper::new(self.build, &options)?);
        (0..lanes).map(mapper).collect()
    }

    fn map<J: Portable>(
        &self,
        job: &mut J,
        functors: &Functors<J>,
        mut input: J::Input,
        spill: &Spill,
        report: &mut Report,
    ) -> Result<Vec<Run>> {
        let lanes: Vec<Mutex<Lane<J>>> = self
            .mappers()?
            .into_iter()
            .map(|mapper| {
                Mutex::new(Lane {
                    mapper,
                    reader: input.reader(),
                    emitter: Emitter::new(self.threads.combiner(job), self.threads.skip_bad),
                    bytes: Vec::new(),
                    starts: Vec::new(),
                })
            })
            .collect();
        let mut numbers = 0..;
        let read = || {
            Ok(input
                .next_split()?
                .and_then(|split| numbers.next().zip(Some(split))))
        };
        let next_lane = AtomicUsize::new(0);
        let task = Task {
            threads: &self.threads,
            job: &*job,
            functors,
            spill,
        };
        let worker = || {
            let lane = &lanes[next_lane.fetch_add(1, Ordering::Relaxed) % lanes.len()];
            let task = &task;
            move |(number, split)| {
                let mut lane = lane.lock().unwrap_or_else(PoisonError::into_inner);
                task.map_split(&mut lane, number, split)
            }
        };
        let (mut runs, mut notes) = (Vec::new(), Vec::new());
        let keep = |mapped: Mapped<J>| {
            report.take_mapped(mapped, &mut runs, &mut notes);
            Ok(())
        };
        crate::pipeline::Stages::new(lanes.len(), true).run(read, worker, keep)?;
        drop(lanes);
        let runs = report.take_runs(runs);
        job.all_mapped(notes)?;
        Ok(runs)
    }
}

/// What a thread maps with.
struct Lane<J: Job> {
    mapper: Mapper,
    reader: <J::Input as Input>::Reader,
    /// For records that the device leaves.
    emitter: Emitter<J>,
    /// The chunk: record r is `bytes[starts[r]..starts[r + 1]]`.
    bytes: Vec<u8>,
    starts: Vec<u32>,
}

/// What all map tasks of a job have in common.
struct Task<'a, J: Job> {
    threads: &'a Threads,
    job: &'a J,
    functors: &'a Functors<J>,
    spill: &'a Spill,
}

impl<J: Portable> Task<'_, J> {
    fn map_split(
        &self,
        lane: &mut Lane<J>,
        number: u32,
        split: <J::Input as Input>::Split,
    ) -> Result<Mapped<J>> {
        let again = split.clone();
        lane.bytes.clear();
        lane.starts.clear();
        lane.starts.push(0);
        let mut note = J::Note::default();
        let (bytes, starts) = (&mut lane.bytes, &mut lane.starts);
        let skipped = lane.reader.read(number, split, &mut |record| {
            (self.functors.record)(self.job, record, bytes, &mut note);
            if bytes.len() > MOST_BYTES {
                return Err(Error::Limit(
                    "a chunk has 4 GiB of text or more; split the input".into(),
                ));
            }
            starts.push(bytes.len() as u32);
            Ok(())
        })?;
        let mut found = Found {
            number,
            again,
            runs: Vec::new(),
            emitted: 0,
            skipped,
        };
        let records = lane.starts.len() - 1;
        self.map_records(lane, 0..records, &mut found)?;
        Ok(Mapped {
            runs: found.runs,
            note,
            emitted: found.emitted,
            skipped: found.skipped,
        })
    }

    /// Maps some of the chunk's records on the device, in halves where they are too many for it.
    fn map_records(
        &self,
        lane: &mut Lane<J>,
        records: Range<usize>,
        found: &mut Found<J>,
    ) -> Result<()> {
        let starts = &lane.starts[records.start..=records.end];
        let map = kernel_map(self.functors.map);
        let reduce = kernel_reduce(self.reduce());
        // A chunk has fewer than 2^32 bytes, and no more records.
        let first = records.start as u32;
        match lane.mapper.map(map, reduce, &lane.bytes, starts) {
            Err(kernels::Error::TooLarge(_)) if records.len() < 2 => {
                self.map_left(lane, &[first], found)
            }
            Err(kernels::Error::TooLarge(_)) => {
                let middle = records.start + records.len() / 2;
                self.map_records(lane, records.start..middle, found)?;
                self.map_records(lane, middle..records.end, found)
            }
            Err(other) => Err(other.into()),
            Ok(groups) => {
                found.emitted += groups.pairs;
                let left: Vec<u32> = groups.left.iter().map(|&left| first + left).collect();
                if !groups.keys.is_empty() {
                    let run = self.write_run(&Chunk {
                        has_text_keys: has_text_keys(self.functors.map),
                        split: found.number,
                        first,
                        bytes: &lane.bytes,
                        note_words: groups.notes.len() / records.len().max(1),
                        groups,
                    })?;
                    found.push(run);
                }
                self.map_left(lane, &left, found)
            }
        }
    }

    /// Maps records here that the device has left.
    fn map_left(&self, lane: &mut Lane<J>, left: &[u32], found: &mut Found<J>) -> Result<()> {
        if left.is_empty() {
            return Ok(());
        }
        let Lane {
            reader, emitter, ..
        } = lane;
        let (mut left, mut at) = (left.iter().peekable(), 0);
        let skipped = &mut found.skipped;
        reader.read(found.number, found.again.clone(), &mut |record| {
            let is_left = left.next_if_eq(&&at).is_some();
            at += 1;
            match is_left {
                true => self
                    .threads
                    .map_record(self.job, record, emitter, skipped, &()),
                false => Ok(()),
            }
        })?;
        if !emitter.is_empty() {
            found.push(self.threads.make_run(self.job, emitter, self.spill)?);
        }
        found.emitted += emitter.end_task().1;
        Ok(())
    }

    /// How values are reduced on the device: not at all where that would be to combine them, and this is
    /// not wanted.
    fn reduce(&self) -> ReduceFunction {
        match self.functors.reduce {
            ReduceFunction::Runs => ReduceFunction::Runs,
            _ if !self.threads.combine => ReduceFunction::Nothing,
            combines => combines,
        }
    }

    fn write_run(&self, chunk: &Chunk<'_>) -> Result<Run> {
        let groups = &chunk.groups;
        let order = self.order(chunk)?;
        let about = 16 * groups.keys.len() + 4 * groups.values.len();
        self.spill.write(about, |run| {
            let (mut key, mut values) = (Vec::new(), Vec::new());
            match order {
                None => (0..groups.keys.len()).try_for_each(|group| {
                    self.write_group(chunk, group, 0, run, &mut key, &mut values)
                }),
                Some(order) => order.into_iter().try_for_each(|(part, group)| {
                    self.write_group(chunk, group as usize, part, run, &mut key, &mut values)
                }),
            }
        })
    }

    /// The groups by partition, where there are any but one.
    fn order(&self, chunk: &Chunk<'_>) -> Result<Option<Vec<(u32, u32)>>> {
        let Partitions::Hashed(count) = self.threads.partitions else {
            return Ok(None);
        };
        let mut order = Vec::with_capacity(chunk.groups.keys.len());
        let mut bytes = Vec::new();
        for group in 0..chunk.groups.keys.len() {
            let key = (self.functors.key)(chunk.key(group)?);
            bytes.clear();
            codec::encode(&key, &mut bytes)?;
            let part = self.job.partition(&key, codec::hash(&bytes), count.max(1));
            // Groups are fewer than 2^32.
            order.push((part, group as u32));
        }
        order.sort_unstable();
        Ok(Some(order))
    }

    fn write_group(
        &self,
        chunk: &Chunk<'_>,
        group: usize,
        part: u32,
        run: &mut RunWriter,
        bytes: &mut Vec<u8>,
        values: &mut Vec<(J::Value, u64)>,
    ) -> Result<()> {
        let key = chunk.key(group)?;
        // Of what is not counted each value counts as one.
        let is_one = self.functors.reduce == ReduceFunction::Count && !self.threads.combine;
        for &word in chunk.words(group) {
            let word = if is_one { 1 } else { word };
            (self.functors.values)(
                self.job,
                chunk.value(key.text, word),
                &mut |value, times| {
                    values.push((value, times));
                },
            )
            .map_err(|what| Error::Map {
                input: format!("key `{}`", key.text),
                what: what.into(),
            })?;
        }
        bytes.clear();
        codec::encode(&(self.functors.key)(key), bytes)?;
        let count = values.iter().map(|(_, times)| times).sum();
        let repeats = values.iter().any(|&(_, times)| times > 1);
        run.group(part, bytes, count, repeats)?;
        for (value, times) in values.drain(..) {
            match repeats {
                true => {
                    bytes.clear();
                    codec::encode(&value, bytes)?;
                    run.repeat(bytes, times)?;
                }
                false => run.encode(&value)?,
            }
        }
        Ok(())
    }
}

/// What has been found in a split.
struct Found<J: Portable> {
    number: u32,
    /// The split, for records that the device leaves.
    again: <J::Input as Input>::Split,
    /// In the order of their records.
    runs: Vec<Numbered>,
    emitted: u64,
    skipped: Skipped,
}

impl<J: Portable> Found<J> {
    fn push(&mut self, run: Run) {
        self.runs.push(((self.number, self.runs.len() as u32), run));
    }
}

/// What came back from the device.
struct Chunk<'a> {
    has_text_keys: bool,
    split: u32,
    /// The number of the first record in its split.
    first: u32,
    bytes: &'a [u8],
    note_words: usize,
    groups: Groups<'a>,
}

impl Chunk<'_> {
    fn words(&self, group: usize) -> &[u64] {
        let starts = &self.groups.value_starts[group..];
        &self.groups.values[starts[0] as usize..starts[1] as usize]
    }

    fn key(&self, group: usize) -> Result<DeviceKey<'_>> {
        let words = self.groups.keys[group];
        let text = match self.has_text_keys {
            true => slice(self.bytes, words[1]).map_err(|what| Error::Device(what.into()))?,
            false => "",
        };
        Ok(DeviceKey {
            split: self.split,
            text,
            words,
            value: self.words(group).first().copied().unwrap_or(0),
        })
    }

    fn value<'a>(&'a self, key: &'a str, word: u64) -> DeviceValue<'a> {
        DeviceValue {
            key,
            word,
            split: self.split,
            first: self.first,
            bytes: self.bytes,
            notes: self.groups.notes,
            note_words: self.note_words,
        }
    }
}

impl<J: Portable> RunJob<J> for Gpu {
    fn run_job<P: Send>(
        &self,
        job: &mut J,
        input: J::Input,
        part: impl Fn() -> P + Sync,
        push: impl Fn(&mut P, J::Output<'_>) -> Result<()> + Sync,
        take: impl FnMut(P) -> Result<()>,
    ) -> Result<Report> {
        let functors = J::functors().ok_or_else(|| {
            let name = J::NAME;
            Error::Usage(format!(
                "{name} has no functions for a device; use --runner threads"
            ))
        })?;
        let map = |job: &mut J, spill: &Spill, report: &mut Report| {
            self.map(job, &functors, input, spill, report)
        };
        self.threads.run_with(job, map, part, push, take)
    }

    fn scratch(&self) -> &Path {
        &self.threads.scratch
    }
}

impl Runner for Gpu {
    fn tasks(&self) -> usize {
        self.threads.tasks()
    }

    fn text<J: TextJob>(
        &self,
        job: &mut J,
        input: J::Input,
        path: &Path,
    ) -> Result<(Staged, Report)> {
        write(self, job, input, path, J::format)
    }

    fn list<J: ListJob>(&self, job: &mut J, input: J::Input) -> Result<(Vec<J::Owned>, Report)> {
        collect(self, job, input, J::own)
    }
}

/// Whether keys are texts.
fn has_text_keys(map: MapFunction) -> bool {
    !matches!(
        map,
        MapFunction::Lengths | MapFunction::Bands | MapFunction::Ranks | MapFunction::Words
    )
}

fn kernel_map(map: MapFunction) -> kernels::MapFunction {
    match map {
        MapFunction::Terms => kernels::MapFunction::Terms,
        MapFunction::Whole => kernels::MapFunction::Whole,
        MapFunction::Lengths => kernels::MapFunction::Lengths,
        MapFunction::Cooccurrences => kernels::MapFunction::Cooccurrences,
        MapFunction::Edges => kernels::MapFunction::Edges,
        MapFunction::FirstField => kernels::MapFunction::FirstField,
        MapFunction::Postings => kernels::MapFunction::Postings,
        MapFunction::Bands => kernels::MapFunction::Bands,
        MapFunction::Ranks => kernels::MapFunction::Ranks,
        MapFunction::Words => kernels::MapFunction::Words,
    }
}

fn kernel_reduce(reduce: ReduceFunction) -> kernels::ReduceFunction {
    match reduce {
        ReduceFunction::Nothing => kernels::ReduceFunction::Nothing,
        ReduceFunction::Count => kernels::ReduceFunction::Count,
        ReduceFunction::Sum => kernels::ReduceFunction::Sum,
        ReduceFunction::First => kernels::ReduceFunction::First,
        ReduceFunction::Runs => kernels::ReduceFunction::Runs,
    }
}
