//! A map task: the records of a split, on the device as far as they can be mapped there.

use std::ops::Range;

use tokapi_kernels::{self as kernels, Mapper};

use super::super::emit::Emitter;
use super::super::functors::{Functors, MapFunction, ReduceFunction};
use super::super::input::{Input, Reader};
use super::super::job::Job;
use super::super::portable::Portable;
use super::super::run::Run;
use super::super::spill::Spill;
use super::super::threads::{Mapped, Numbered, Threads};
use super::write::{Chunk, has_text_keys};
use tokapi_storage::error::{Error, Result};
use tokapi_text::corpus::Skipped;

/// Text of a chunk: places in it have 32 bits.
const MOST_BYTES: usize = 0xFFFF_0000;

/// What a thread maps with.
pub(super) struct Lane<J: Job> {
    pub mapper: Mapper,
    pub reader: <J::Input as Input>::Reader,
    /// For records that the device leaves.
    pub emitter: Emitter<J>,
    /// The chunk: record r is `bytes[starts[r]..starts[r + 1]]`.
    pub bytes: Vec<u8>,
    pub starts: Vec<u32>,
}

/// What all map tasks of a job have in common.
pub(super) struct Task<'a, J: Job> {
    pub threads: &'a Threads,
    pub job: &'a J,
    pub functors: &'a Functors<J>,
    pub spill: &'a Spill,
}

impl<J: Portable> Task<'_, J> {
    /// Maps all records of a split.
    pub(super) fn map_split(
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
