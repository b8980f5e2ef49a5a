//! The local pass: every thread takes the next block, parses it and inverts it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::engines::Engines;
use super::{BuildOptions, Documents};
use crate::analyze::Analyzer;
use crate::corpus::{Block, Chunk, Corpus, Skipped};
use crate::error::{Error, Place, Position, Result};
use crate::invert::{Invert, Inverted};
use crate::lexicon::PartTerms;
use crate::strings::Strings;

/// An inverted chunk.
pub(super) struct LocalChunk {
    sequence: u64,
    pub(super) inverted: Inverted,
    pub(super) ids: Strings,
    files: Vec<(usize, Arc<Path>)>,
    skipped: Skipped,
    bytes: u64,
}

impl LocalChunk {
    pub(super) fn terms(&self) -> PartTerms<'_> {
        let postings = &self.inverted.postings;
        PartTerms {
            terms: &postings.terms,
            offsets: &postings.offsets,
        }
    }
}

/// What the local pass leaves: the chunks in input order.
pub(super) struct Local {
    pub(super) chunks: Vec<LocalChunk>,
    pub(super) skipped: Skipped,
    pub(super) bytes: u64,
    /// Why the CPU took over, if it did.
    pub(super) fallback: Option<String>,
}

/// Inverts the whole corpus on the threads of `pool`.
pub(super) fn pass(
    corpus: Corpus,
    analyzer: &Analyzer,
    options: &BuildOptions,
    pool: &rayon::ThreadPool,
) -> Result<Local> {
    let fallback = Mutex::new(None);
    let engines = Engines::open(&corpus, analyzer, options, pool, &fallback)?;
    let corpus = Mutex::new(corpus);
    let stop = AtomicBool::new(false);
    let outcomes = pool.broadcast(|_| {
        let mut engine = engines.one();
        let mut done = Vec::new();
        let result = work(&corpus, &mut *engine, &stop, &mut done);
        if result.is_err() {
            stop.store(true, Ordering::Relaxed);
        }
        (done, result.err())
    });
    let mut chunks = Vec::new();
    let mut failures = Vec::new();
    for (done, failure) in outcomes {
        chunks.extend(done);
        failures.extend(failure);
    }
    // Every block before the first bad one has been taken by then, so this one is always found.
    if let Some((_, error)) = failures.into_iter().min_by_key(|&(sequence, _)| sequence) {
        return Err(error);
    }
    chunks.sort_unstable_by_key(|chunk| chunk.sequence);
    let mut skipped = Skipped::default();
    for chunk in &mut chunks {
        skipped.append(std::mem::take(&mut chunk.skipped));
    }
    let bytes = chunks.iter().map(|chunk| chunk.bytes).sum();
    drop(engines);
    Ok(Local {
        chunks,
        skipped,
        bytes,
        fallback: fallback.into_inner().unwrap_or_default(),
    })
}

/// One thread's share. An error comes with the number of its block.
fn work(
    corpus: &Mutex<Corpus>,
    engine: &mut dyn Invert,
    stop: &AtomicBool,
    done: &mut Vec<LocalChunk>,
) -> std::result::Result<(), (u64, Error)> {
    let (mut block, mut chunk) = (Block::default(), Chunk::default());
    while !stop.load(Ordering::Relaxed) {
        let filled = corpus
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .fill(&mut block);
        let sequence = block.sequence();
        let at_block = |error| (sequence, error);
        if !filled.map_err(at_block)? {
            break;
        }
        let bytes = block.len() as u64;
        let skipped = block.parse(&mut chunk).map_err(at_block)?;
        let inverted = engine.invert(&mut chunk).map_err(at_block)?;
        let (ids, files) = (
            std::mem::take(&mut chunk.ids),
            std::mem::take(&mut chunk.files),
        );
        done.push(LocalChunk {
            sequence,
            inverted,
            ids,
            files,
            skipped,
            bytes,
        });
    }
    Ok(())
}

/// The error that document `repeat` has the id of document `of`.
pub(super) fn repeated_id(
    chunks: &[LocalChunk],
    documents: &Documents,
    repeat: u32,
    of: u32,
) -> Error {
    let mut first = 0;
    let mut path = PathBuf::new();
    for chunk in chunks {
        for (in_chunk, file) in &chunk.files {
            if first + in_chunk <= repeat as usize {
                path = file.to_path_buf();
            }
        }
        first += chunk.ids.len();
    }
    let id = documents.ids.text(repeat as usize);
    Error::Input {
        place: Place {
            path,
            position: Position::Whole,
        },
        what: format!(
            "document {} of the input has the id `{id}` of document {}; ids must differ",
            u64::from(repeat) + 1,
            u64::from(of) + 1
        ),
    }
}

impl Local {
    /// Removes the documents numbered `gone`, ascending.
    pub(super) fn remove(&mut self, gone: &[u32]) {
        let mut first = 0;
        for chunk in &mut self.chunks {
            let count = chunk.ids.len();
            let kept = |document: u32| gone.binary_search(&(first + document)).is_err();
            let Inverted { postings, lengths } = &mut chunk.inverted;
            // The new number of every document; a chunk has fewer than 2^32.
            let mut number = Vec::with_capacity(count);
            let mut next = 0;
            for document in 0..count as u32 {
                number.push(next);
                next += u32::from(kept(document));
            }
            if (next as usize) < count {
                let keep: Vec<bool> = postings
                    .documents
                    .iter()
                    .map(|&document| kept(document))
                    .collect();
                postings.retain(&keep);
                postings.drop_empty_terms();
                for document in &mut postings.documents {
                    *document = number[*document as usize];
                }
                let mut documents = 0..;
                lengths.retain(|_| documents.next().is_some_and(kept));
            }
            first += count as u32;
        }
    }
}
