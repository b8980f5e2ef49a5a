//! The local pass: chunks are read, inverted and stored, each stage on its own threads.
//!
//! Inverted chunks stay in memory while they fit. After that, every chunk goes to scratch as a run.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::documents::Documents;
use super::engines::Engines;
use super::external::Spill;
use super::note::{ChunkNote, repeated_id};
use super::options::BuildOptions;
use super::run::EncodedRun;
use crate::invert::Inverted;
use crate::lexicon::PartTerms;
use crate::limit;
use tokapi_storage::error::{Error, Result};
use tokapi_storage::pipeline::{StageTimes, Stages};
use tokapi_storage::progress::Progress;
use tokapi_storage::strings::Strings;
use tokapi_text::corpus::{Block, Chunk, Corpus};

/// An inverted chunk.
pub(crate) struct LocalChunk {
    pub(crate) inverted: Inverted,
    pub(crate) ids: Strings,
    pub(crate) files: Vec<(usize, Arc<Path>)>,
    pub(crate) note: ChunkNote,
}

impl LocalChunk {
    pub(super) fn terms(&self) -> PartTerms<'_> {
        let postings = &self.inverted.postings;
        PartTerms {
            terms: &postings.terms,
            offsets: &postings.offsets,
        }
    }

    /// The chunk as a run, for the job of `stamp`.
    pub(crate) fn encode(&self, stamp: u64) -> EncodedRun {
        let Inverted { postings, lengths } = &self.inverted;
        EncodedRun::new(stamp, postings, None, lengths, &self.ids, &self.files)
    }

    /// The memory of the chunk.
    fn memory_bytes(&self) -> u64 {
        let postings = &self.inverted.postings;
        let terms = &postings.terms;
        let bytes = 5 * postings.len()
            + 16 * terms.len()
            + terms.byte_count()
            + 12 * self.ids.len()
            + self.ids.byte_count();
        bytes as u64
    }
}

/// Joins the documents of all chunks. Documents without an id get their number.
pub(super) fn documents(chunks: &[LocalChunk], progress: &Progress) -> Result<Documents> {
    let count: usize = chunks.iter().map(|chunk| chunk.ids.len()).sum();
    limit::check(count, "documents; split it")?;
    let bytes = chunks.iter().map(|chunk| chunk.ids.byte_count()).sum();
    let mut documents = Documents {
        ids: Strings::with_capacity(count, bytes),
        lengths: Vec::with_capacity(count),
        numbered: bytes == 0,
        some_numbered: false,
    };
    for chunk in chunks {
        progress.check()?;
        for (id, &length) in chunk.ids.iter().zip(&chunk.inverted.lengths) {
            documents.push(documents.len(), id, length);
        }
    }
    Ok(documents)
}

/// The result of the local pass in memory, in input order.
#[derive(Default)]
pub(super) struct Local {
    pub(super) chunks: Vec<LocalChunk>,
    pub(super) note: ChunkNote,
    /// The reason why the CPU took over, if it did.
    pub(super) fallback: Option<String>,
    pub(super) times: StageTimes,
    held_bytes: u64,
}

/// A chunk on its way from a worker to memory or scratch.
enum Made {
    Inverted(LocalChunk),
    Run(EncodedRun, ChunkNote),
}

/// Inverts the whole corpus. Chunks that do not fit into memory go to `spill`, if there is one.
pub(super) fn pass(
    mut corpus: Corpus,
    options: &BuildOptions,
    pool: &rayon::ThreadPool,
    mut spill: Option<&mut Spill>,
) -> Result<Local> {
    let fallback = Mutex::new(None);
    let engines = Engines::open(&corpus, options, pool, &fallback)?;
    let stages = Stages::new(pool.current_num_threads(), !options.no_overlap);
    let chunk_bytes = corpus.chunk_bytes();
    let progress = corpus.progress();
    if let Some(spill) = &spill {
        spill.go_on(&mut corpus)?;
    }
    // The stamp of the job once chunks go to scratch; 0 before.
    let stamp = AtomicU64::new(spill.as_ref().map_or(0, |spill| spill.stamp()));
    let load = spill.is_some();
    let spare = Mutex::new(Vec::new());
    let read = || {
        let mut block: Block = lock(&spare).pop().unwrap_or_default();
        if !corpus.fill(&mut block)? {
            return Ok(None);
        }
        if load {
            block.load()?;
        }
        Ok(Some(block))
    };
    // A document larger than a chunk has the memory to itself.
    let alone = RwLock::new(());
    let worker = || {
        let mut engine = engines.one();
        let mut chunk = Chunk::default();
        let (alone, stamp, spare, progress) = (&alone, &stamp, &spare, &progress);
        move |mut block: Block| {
            progress.check()?;
            let bytes = block.len();
            let (_shared, _alone);
            match load && bytes > chunk_bytes {
                true => _alone = alone.write(),
                false => _shared = alone.read(),
            }
            let skipped = block.parse(&mut chunk)?;
            let inverted = engine.invert(&mut chunk)?;
            progress.add_documents(inverted.lengths.len() as u64);
            match load && bytes > chunk_bytes {
                true => chunk.text = Vec::new(),
                false => lock(spare).push(block),
            }
            let local = LocalChunk {
                inverted,
                ids: std::mem::take(&mut chunk.ids),
                files: std::mem::take(&mut chunk.files),
                note: ChunkNote {
                    skipped,
                    bytes: bytes as u64,
                },
            };
            Ok(match stamp.load(Ordering::Relaxed) {
                0 => Made::Inverted(local),
                stamp => Made::Run(local.encode(stamp), local.note),
            })
        }
    };
    let mut local = Local::default();
    let write = |made: Made| match (made, &mut spill) {
        (Made::Run(run, note), Some(spill)) => spill.write(run, note, &progress),
        (Made::Inverted(chunk), Some(spill)) if spill.stamp() != 0 => {
            spill.write(chunk.encode(spill.stamp()), chunk.note, &progress)
        }
        (Made::Inverted(chunk), Some(spill)) => {
            local.keep(chunk);
            if local.held_bytes > spill.held_bytes() {
                stamp.store(spill.begin(chunk_bytes)?, Ordering::Relaxed);
                for chunk in std::mem::take(&mut local.chunks) {
                    spill.write(chunk.encode(spill.stamp()), chunk.note, &progress)?;
                }
            }
            Ok(())
        }
        (Made::Inverted(chunk), None) => {
            local.keep(chunk);
            Ok(())
        }
        // Only a spill has a stamp.
        (Made::Run(..), None) => Ok(()),
    };
    let times = stages.run(read, worker, write)?;
    log::info!("local pass: {times}");
    for chunk in &mut local.chunks {
        local.note.append(std::mem::take(&mut chunk.note));
    }
    local.times = times;
    local.fallback = lock(&fallback).take();
    Ok(local)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Local {
    fn keep(&mut self, chunk: LocalChunk) {
        self.held_bytes += chunk.memory_bytes();
        self.chunks.push(chunk);
    }

    /// The error for document `repeat` with the id of document `of`.
    pub fn repeated_id(&self, documents: &Documents, repeat: u32, of: u32) -> Error {
        let mut first = 0;
        let mut path = PathBuf::new();
        for chunk in &self.chunks {
            for (in_chunk, file) in &chunk.files {
                if first + in_chunk <= repeat as usize {
                    path = file.to_path_buf();
                }
            }
            first += chunk.ids.len();
        }
        repeated_id(path, &documents.ids.text(repeat as usize), repeat, of)
    }

    /// Removes the documents numbered `gone`, ascending.
    ///
    /// # Errors
    /// `progress` is cancelled.
    pub(super) fn remove(&mut self, gone: &[u32], progress: &Progress) -> Result<()> {
        let mut first = 0;
        for chunk in &mut self.chunks {
            progress.check()?;
            let count = chunk.ids.len() as u32;
            let from = gone.partition_point(|&document| document < first);
            let to = gone.partition_point(|&document| document < first + count);
            let gone: Vec<u32> = gone[from..to].iter().map(|gone| gone - first).collect();
            chunk.inverted.remove(&gone);
            first += count;
        }
        Ok(())
    }
}
