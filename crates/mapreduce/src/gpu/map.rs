//! Maps the records of a split: on the device if it can, otherwise on the host.

use std::ops::Range;

use tokapi_kernels::{self as kernels, Mapper};

use super::super::functors::{MapFunction, ReduceFunction};
use super::super::input::{Input, Reader};
use super::super::job::{Emitter, Job};
use super::super::portable::Portable;
use super::super::run::Run;
use super::super::threads::map::{Mapped, Numbered};
use super::task::Task;
use super::write::{Chunk, has_text_keys};
use tokapi_storage::error::{Error, Result};
use tokapi_text::corpus::Skipped;

/// Maximum size of a chunk's text: positions have 32 bits.
const MOST_BYTES: usize = 0xFFFF_0000;

/// A map thread with its queue on the device.
pub(super) struct MapWorker<J: Job> {
    pub mapper: Mapper,
    pub reader: <J::Input as Input>::Reader,
    /// Maps the records that the device leaves to the host.
    pub emitter: Emitter<J>,
    /// The chunk: record r is `bytes[starts[r]..starts[r + 1]]`.
    pub bytes: Vec<u8>,
    pub starts: Vec<u32>,
}

impl<J: Portable> Task<'_, J> {
    /// Maps all records of a split.
    pub(super) fn map_split(
        &self,
        worker: &mut MapWorker<J>,
        number: u32,
        split: <J::Input as Input>::Split,
    ) -> Result<Mapped<J>> {
        let again = split.clone();
        worker.bytes.clear();
        worker.starts.clear();
        worker.starts.push(0);
        let mut note = J::Note::default();
        let (bytes, starts) = (&mut worker.bytes, &mut worker.starts);
        let skipped = worker.reader.read(number, split, &mut |record| {
            self.threads.progress.check()?;
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
        let records = worker.starts.len() - 1;
        self.map_records(worker, 0..records, &mut found)?;
        Ok(Mapped {
            runs: found.runs,
            note,
            emitted: found.emitted,
            skipped: found.skipped,
        })
    }

    /// Maps some of the chunk's records on the device. If they are too many, each half is mapped
    /// on its own.
    fn map_records(
        &self,
        worker: &mut MapWorker<J>,
        records: Range<usize>,
        found: &mut Found<J>,
    ) -> Result<()> {
        let starts = &worker.starts[records.start..=records.end];
        let map = kernel_map(self.functors.map);
        let reduce = kernel_reduce(self.reduce());
        // A chunk has fewer than 2^32 bytes, and no more records.
        let first = records.start as u32;
        self.threads.progress.check()?;
        match worker.mapper.map(map, reduce, &worker.bytes, starts) {
            Err(kernels::Error::TooLarge(_)) if records.len() < 2 => {
                self.map_left(worker, &[first], found)
            }
            Err(kernels::Error::TooLarge(_)) => {
                let middle = records.start + records.len() / 2;
                self.map_records(worker, records.start..middle, found)?;
                self.map_records(worker, middle..records.end, found)
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
                        bytes: &worker.bytes,
                        note_words: groups.notes.len() / records.len().max(1),
                        groups,
                    })?;
                    found.push(run);
                }
                self.map_left(worker, &left, found)
            }
        }
    }

    /// Maps the records that the device left to the host.
    fn map_left(
        &self,
        worker: &mut MapWorker<J>,
        left: &[u32],
        found: &mut Found<J>,
    ) -> Result<()> {
        if left.is_empty() {
            return Ok(());
        }
        let MapWorker {
            reader, emitter, ..
        } = worker;
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
        if !emitter.container().is_empty() {
            found.push(self.threads.make_run(self.job, emitter, self.spill)?);
        }
        found.emitted += emitter.end_task().1;
        Ok(())
    }
}

/// The results of a split.
struct Found<J: Portable> {
    number: u32,
    /// The split, for records left to the host.
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
