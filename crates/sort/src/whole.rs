//! A file that fits into memory: read, sorted and written as a whole.

use std::time::{Duration, Instant};

use memmap2::MmapMut;

use super::columns::{self, Columns, Word};
use super::external::{Sorted, Sorter};
use super::input::{Input, Layout};
use tokapi_storage::error::{Error, Result};
use tokapi_storage::pipeline::StageTimes;
use tokapi_storage::progress::Stage;
use tokapi_storage::scratch::JobIdentity;
use tokapi_storage::whole::Staged;

/// The number of records that are written at a time.
const WRITTEN_RECORDS: usize = 1 << 18;

impl Sorter<'_> {
    /// Whether the bytes of the input are the keys in memory.
    pub(super) fn reads_keys(&self) -> bool {
        let key_type = self.options.key_type;
        let are_words = key_type.bytes() == key_type.word_bytes();
        self.options.layout == Layout::Binary && !self.options.pairs && are_words
    }

    /// Sorts the whole input as one chunk.
    pub(super) fn in_memory<W: Word>(&self, input: Input, job: &JobIdentity) -> Result<Sorted> {
        // An input of unknown size is never taken to fit.
        let size = usize::try_from(input.bytes.unwrap_or(0)).unwrap_or(0);
        match self.reads_keys() && size > 0 {
            true => self.keys_in_memory::<W>(&input, size, job),
            false => self.records_in_memory::<W>(input, size, job),
        }
    }

    /// Reads keys into memory, sorts them in place and writes them.
    fn keys_in_memory<W: Word>(
        &self,
        input: &Input,
        size: usize,
        job: &JobIdentity,
    ) -> Result<Sorted> {
        let started = Instant::now();
        let progress = &self.options.progress;
        let mut memory = memory(size)?;
        input.read_whole(&mut memory, progress)?;
        self.check_unchanged(job)?;
        let keys: &mut [W] = bytemuck::cast_slice_mut(&mut memory);
        let read = started.elapsed();
        columns::order(keys, self.options.key_type, progress)?;
        W::sort_keys(&mut *self.engine()?, keys)?;
        progress.check()?;
        columns::restore(keys, self.options.key_type, progress)?;
        let computed = started.elapsed();
        progress.begin(Stage::Writing, size as u64);
        let mut staged = Staged::create(self.output)?;
        let mut streamed = self.streamed(&mut staged)?;
        for bytes in memory.chunks(W::BYTES * WRITTEN_RECORDS) {
            self.write(&mut streamed, bytes)?;
        }
        self.finish(streamed)?;
        staged.sync(progress)?;
        staged.rename()?;
        Ok(sorted(
            size / W::BYTES,
            size,
            [read, computed, started.elapsed()],
        ))
    }

    fn records_in_memory<W: Word>(
        &self,
        mut input: Input,
        size: usize,
        job: &JobIdentity,
    ) -> Result<Sorted> {
        let started = Instant::now();
        let progress = &self.options.progress;
        let mut columns = Columns::<W>::new(self.options.pairs);
        // One byte more than the size, so that the end is seen.
        let raw = input.next(size + 1, Vec::with_capacity(size + 1), progress)?;
        self.check_unchanged(job)?;
        let read = started.elapsed();
        if let Some(raw) = raw {
            drop(self.parse(raw, &mut columns)?);
        }
        progress.check()?;
        let mut engine = self.engine()?;
        columns.sort(&mut *engine)?;
        progress.check()?;
        columns::restore(&mut columns.keys, self.options.key_type, progress)?;
        drop(engine);
        let computed = started.elapsed();
        progress.begin(Stage::Writing, size as u64);
        let mut staged = Staged::create(self.output)?;
        let mut streamed = self.streamed(&mut staged)?;
        for from in (0..columns.len()).step_by(WRITTEN_RECORDS) {
            let to = columns.len().min(from + WRITTEN_RECORDS);
            self.write(&mut streamed, &self.bytes_of(&columns, from..to))?;
        }
        self.finish(streamed)?;
        staged.sync(progress)?;
        staged.rename()?;
        Ok(sorted(
            columns.len(),
            size,
            [read, computed, started.elapsed()],
        ))
    }
}

/// Fresh memory, in large pages if the system has them. Small pages took longer to allocate than the keys to sort.
fn memory(size: usize) -> Result<MmapMut> {
    let memory = MmapMut::map_anon(size)
        .map_err(|error| Error::Limit(format!("cannot get {size} bytes of memory: {error}")))?;
    #[cfg(target_os = "linux")]
    // It works without large pages as well.
    let _ = memory.advise(memmap2::Advice::HugePage);
    Ok(memory)
}

/// The result of a sort, with the moments at which reading, computing and writing ended.
fn sorted(records: usize, bytes: usize, [read, computed, written]: [Duration; 3]) -> Sorted {
    Sorted {
        records: records as u64,
        runs: 0,
        chunk_bytes: bytes,
        local: StageTimes {
            items: 1,
            input: read,
            compute: computed - read,
            wall: computed,
            ..StageTimes::default()
        },
        global: StageTimes {
            items: 1,
            output: written - computed,
            wall: written - computed,
            ..StageTimes::default()
        },
    }
}
