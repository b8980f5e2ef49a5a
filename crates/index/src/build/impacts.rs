//! Impacts: the weights of all postings, computed when the index is built and quantised to 8 bits.
//! They replace the tfs (Anh and Moffat, "Impact Transformation", SIGIR 2002).
//!
//! Impacts are linear from 1 to 255; 255 is the largest weight of the collection. A weight is
//! rounded to the nearest impact. A weight below half a step is rounded up to 1, so that no
//! posting is lost.

use std::fs;
use std::path::Path;

use rayon::prelude::*;

use super::lists::{self, CodedDocuments};
use crate::manifest::{Impacts, MOST_IMPACT};
use crate::part::Part;
use crate::part::block::BLOCK;
use crate::part::bounds::Front;
use crate::part::cursor::Cursor;
use crate::part::layout;
use crate::part::note::PartNote;
use crate::part::window::Window;
use crate::walk::PostingSource;
use crate::walk::{Renumbered, Walk};
use crate::weighing::{Weigher, Weighing};
use tokapi_storage::error::{Error, Result};
use tokapi_storage::memory::Memory;
use tokapi_storage::progress::{Progress, Stage};
use tokapi_weigh::collection::{BuildOptions, thread_pool};
use tokapi_weigh::formula::Bm25;

/// Replaces the tfs of the part in `folder` by impacts computed by `bm25`, on `threads` threads
/// and within `memory`. The part has no deleted documents.
///
/// # Errors
/// A term has no weight above 0; parameters are out of range; files cannot be read or written.
pub(crate) fn replace_tfs(
    bm25: &Bm25,
    folder: &Path,
    note: &mut PartNote,
    threads: usize,
    memory: &Memory,
    progress: &Progress,
) -> Result<Impacts> {
    bm25.check()?;
    let part = Part::open_in(folder, note, &Window::within(memory))?;
    let weigher = Weigher::new(&part, &Weighing::by(bm25), &note.live());
    let impacts = Impacts {
        bm25: *bm25,
        scale: largest_weight(&part, &weigher, bm25, threads, progress)? / f64::from(MOST_IMPACT),
    };
    let beside = folder.join("impacts");
    fs::create_dir(&beside).map_err(Error::writing(&beside))?;
    let numbers = Renumbered::all(std::slice::from_ref(&part))?;
    let source = Quantised {
        tfs: Walk::new([&part.lists], &numbers)?,
        weigher: &weigher,
        impacts: &impacts,
        documents: note.documents,
        idf: 0.0,
    };
    // Impacts are their own bounds.
    let documents = CodedDocuments::without_lengths(note.documents);
    let files = &layout::TEXT;
    progress.begin(Stage::Writing, note.postings);
    let passed = |postings| {
        progress.add(postings);
        progress.check()
    };
    let stages = memory.encoding_stages(threads, 0, true);
    let (_, counted) =
        lists::write_source(source, files, &documents, stages, &beside, note, passed)?;
    if counted != (note.terms, note.postings) {
        return Err(part.lists.damaged("a list is not what was written"));
    }
    // Some systems cannot replace a mapped file.
    drop(part);
    for file in files.all() {
        let path = folder.join(file.name);
        fs::rename(beside.join(file.name), &path).map_err(Error::writing(&path))?;
    }
    fs::remove_dir(&beside).map_err(Error::writing(&beside))?;
    Ok(impacts)
}

/// The largest weight of all postings; 1 if there are none.
fn largest_weight(
    part: &Part,
    weigher: &Weigher<'_>,
    bm25: &Bm25,
    threads: usize,
    progress: &Progress,
) -> Result<f64> {
    let options = BuildOptions::default().threads(threads);
    let shards = 0..part.lists.shard_count();
    let of_shard = |shard| {
        progress.check()?;
        largest_of_shard(part, weigher, bm25, shard)
    };
    let largest: Vec<Result<f32>> =
        thread_pool(&options)?.install(|| shards.into_par_iter().map(of_shard).collect());
    // The first error by shard, so that it does not depend on the threads.
    let largest: Vec<f32> = largest.into_iter().collect::<Result<_>>()?;
    let most = largest.into_iter().fold(0.0, f32::max);
    Ok(if most > 0.0 { most.into() } else { 1.0 })
}

/// The largest weight of the terms of a shard. Blocks with a bound below the maximum so far are
/// not decoded.
fn largest_of_shard(part: &Part, weigher: &Weigher<'_>, bm25: &Bm25, shard: usize) -> Result<f32> {
    let mut most = 0.0;
    let mut weights = [0.0; BLOCK];
    for (term, found) in part.lists.terms_of_shard(shard)? {
        let idf = bm25.idf(part.note.documents, found.df);
        if idf <= 0.0 {
            return Err(Error::Usage(format!(
                "an impact needs a weight above 0, and {} gives the term {:?}, in {} of {} documents, none; \
                 choose lucene, bm25l or bm25plus",
                bm25.formula,
                String::from_utf8_lossy(&term),
                found.df,
                part.note.documents,
            )));
        }
        let mut cursor = Cursor::new(&found)?;
        let is_below = |front: Option<&Front>, most: f32| {
            front.is_some_and(|front| weigher.magnitude(idf, front) <= most.into())
        };
        if is_below(cursor.list_front(), most) {
            continue;
        }
        for block in 0..cursor.block_count() {
            if !is_below(cursor.front(block), most) {
                cursor.go_to_block(block);
                let (documents, tfs) = cursor.postings()?;
                let weights = &mut weights[..documents.len()];
                weigher.weigh_postings(idf, documents, tfs, weights)?;
                most = weights.iter().copied().fold(most, f32::max);
            }
        }
    }
    Ok(most)
}

/// The lists of a part with impacts instead of tfs.
struct Quantised<'a> {
    tfs: Walk<'a>,
    weigher: &'a Weigher<'a>,
    impacts: &'a Impacts,
    /// N.
    documents: u64,
    /// The df of the current term.
    idf: f64,
}

impl PostingSource for Quantised<'_> {
    fn next_term(&mut self, term: &mut Vec<u8>) -> Result<Option<u64>> {
        let df = self.tfs.next_term(term)?;
        if let Some(df) = df {
            self.idf = self.impacts.bm25.idf(self.documents, df);
        }
        Ok(df)
    }

    fn take(&mut self, room: usize, documents: &mut Vec<u32>, tfs: &mut Vec<u32>) -> Result<()> {
        let from = documents.len();
        self.tfs.take(room, documents, tfs)?;
        let mut weights = [0.0; BLOCK];
        let (documents, tfs) = (&documents[from..], &mut tfs[from..]);
        for (documents, tfs) in documents.chunks(BLOCK).zip(tfs.chunks_mut(BLOCK)) {
            let weights = &mut weights[..documents.len()];
            self.weigher
                .weigh_postings(self.idf, documents, tfs, weights)?;
            for (tf, &weight) in tfs.iter_mut().zip(&*weights) {
                *tf = self.impacts.of(weight);
            }
        }
        Ok(())
    }
}
