//! Writes results of the device as a run.

use tokapi_kernels::Groups;

use super::super::codec;
use super::super::cuts::Partitions;
use super::super::functors::{DeviceKey, DeviceValue, MapFunction, ReduceFunction, slice};
use super::super::portable::Portable;
use super::super::run::{Run, RunWriter};
use super::task::Task;
use tokapi_storage::error::{Error, Result};

/// A result of the device.
pub(super) struct Chunk<'a> {
    pub has_text_keys: bool,
    pub split: u32,
    /// The number of the first record in its split.
    pub first: u32,
    pub bytes: &'a [u8],
    pub note_words: usize,
    pub groups: Groups<'a>,
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

impl<J: Portable> Task<'_, J> {
    pub(super) fn write_run(&self, chunk: &Chunk<'_>) -> Result<Run> {
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

    /// The groups by partition, if there is more than one partition.
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
        // Without counts, each value counts as one.
        let is_one = self.functors.reduce == ReduceFunction::Count && !self.threads.combine;
        for &word in chunk.words(group) {
            let word = if is_one { 1 } else { word };
            let value = (self.functors.value)(self.job, chunk.value(key.text, word));
            values.push(value.map_err(|what| Error::Map {
                input: format!("key `{}`", key.text),
                what: what.into(),
            })?);
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

/// Whether keys are text.
pub(super) fn has_text_keys(map: MapFunction) -> bool {
    !matches!(
        map,
        MapFunction::Lengths | MapFunction::Bands | MapFunction::Ranks | MapFunction::Words
    )
}
