//! The global pass by document: every run is weighed alone, after the df of its terms is known.

use std::sync::Arc;

use super::External;
use super::buckets::{Bucket, Buckets};
use super::terms::{TermReader, TermWriter};
use crate::collection::{ByDocument, Rows};
use crate::formula::{Bm25, Prune};
use crate::lexicon;
use crate::lexicon::{Lexicon, TermSlice};
use crate::limit;
use tokapi_storage::error::{Error, Result};
use tokapi_storage::pipeline::Stages;
use tokapi_storage::progress::{Progress, Stage};
use tokapi_storage::scratch::frames::{FrameFile, FrameWriter};
use tokapi_storage::varint;

/// The ids and df of every run's terms, on scratch.
pub(crate) struct RunTerms {
    file: FrameFile,
    /// The places of the frames of every run.
    places: Vec<Vec<u64>>,
    /// The number of all terms.
    pub count: u64,
}

/// Bytes in a frame. One frame per run is in memory.
const FRAME_BYTES: usize = 32 << 10;

/// Ids and df on their way to scratch.
struct RunTermsWriter {
    frames: FrameWriter,
    buffers: Vec<Buffer>,
    places: Vec<Vec<u64>>,
    count: u64,
    /// The run of the last piece of a large term.
    last_piece: Option<usize>,
}

#[derive(Default)]
struct Buffer {
    bytes: Vec<u8>,
    last_id: u64,
}

impl RunTermsWriter {
    /// Adds the terms of a merged bucket.
    fn push(&mut self, bucket: &Bucket, merged: &lexicon::Bucket) -> Result<()> {
        let first = match bucket.piece {
            // The term has its id already.
            Some(piece) if !piece.first => self.count - 1,
            _ => self.count,
        };
        for (slice, ends) in bucket.slices.iter().zip(merged.ends.windows(2)) {
            let run = Some(slice.run);
            let before =
                std::mem::replace(&mut self.last_piece, run.filter(|_| bucket.piece.is_some()));
            if bucket.piece.is_some_and(|piece| !piece.first) && before == run {
                continue;
            }
            for &id in &merged.ids[ends[0]..ends[1]] {
                let df = bucket
                    .piece
                    .map_or(merged.df[id as usize], |piece| piece.df);
                let id = first + u64::from(id);
                let Buffer { bytes, last_id } = &mut self.buffers[slice.run];
                varint::push(id - std::mem::replace(last_id, id), bytes);
                varint::push(df, bytes);
            }
            if self.buffers[slice.run].bytes.len() >= FRAME_BYTES {
                self.flush(slice.run)?;
            }
        }
        self.count = first + merged.df.len() as u64;
        Ok(())
    }

    fn flush(&mut self, run: usize) -> Result<()> {
        self.places[run].push(self.frames.at());
        let bytes = &mut self.buffers[run].bytes;
        self.frames.push(|frame| frame.append(bytes))
    }

    fn finish(mut self) -> Result<RunTerms> {
        for run in 0..self.buffers.len() {
            self.flush(run)?;
        }
        limit::check(self.count, "distinct terms")?;
        Ok(RunTerms {
            file: self.frames.finish()?,
            places: self.places,
            count: self.count,
        })
    }
}

impl RunTerms {
    /// The ids and the df of the terms of run `run`.
    fn of_run(&self, run: usize) -> Result<(Vec<u32>, Vec<u64>)> {
        let (mut ids, mut df) = (Vec::new(), Vec::new());
        let mut id = 0;
        for &at in &self.places[run] {
            let mut frame = self.file.read(at, self.file.length, 2 * FRAME_BYTES);
            let mut bytes = frame.next()?.unwrap_or_default();
            let damaged = || self.file.corrupt("an id is not what was written");
            while !bytes.is_empty() {
                id += varint::take(&mut bytes).ok_or_else(damaged)?;
                ids.push(u32::try_from(id).map_err(|_| damaged())?);
                df.push(varint::take(&mut bytes).ok_or_else(damaged)?);
            }
        }
        Ok((ids, df))
    }
}

impl External {
    /// Merges the terms of all runs. Returns the ids and df of every run's terms, and all terms.
    ///
    /// # Errors
    /// 2^32 or more distinct terms; a run cannot be read; scratch cannot be written.
    pub(crate) fn merge_terms(&self) -> Result<(RunTerms, TermReader)> {
        let most = self.memory.merged_terms();
        if self.runs.len() > most {
            return Err(Error::Usage(format!(
                "this memory holds an output by document of at most {most} chunks, and there are {}; give more memory, \
                 which makes chunks larger, or order the output by term",
                self.runs.len()
            )));
        }
        let mut buckets = Buckets::new(&self.runs, self.memory.read_buffer_bytes(self.runs.len()))?;
        let mut ids = RunTermsWriter {
            frames: self.scratch.create("ids", None)?,
            buffers: self.runs.iter().map(|_| Buffer::default()).collect(),
            places: vec![Vec::new(); self.runs.len()],
            count: 0,
            last_piece: None,
        };
        let mut terms: TermWriter = self.new_terms()?;
        let worker = || {
            |bucket: Arc<Bucket>| {
                let slices: Vec<TermSlice<'_>> = bucket.term_slices();
                let mut merged = lexicon::Bucket::merge(&slices, |slice, term| {
                    u64::from(bucket.slices[slice].block.df[term])
                });
                if let Some(piece) = bucket.piece {
                    merged.df = vec![piece.df];
                }
                Ok((Arc::clone(&bucket), merged))
            }
        };
        let write = |(bucket, merged): (Arc<Bucket>, lexicon::Bucket)| {
            ids.push(&bucket, &merged)?;
            if bucket.piece.is_some_and(|piece| !piece.first) {
                return Ok(());
            }
            let lexicon = Lexicon {
                terms: merged.terms,
                df: merged.df,
            };
            let all = 0..lexicon.df.len();
            terms.push(&lexicon, all)
        };
        let bytes = self.runs.iter().map(|run| run.file.length).sum();
        self.progress.begin(Stage::Merging, bytes);
        let next = || Ok(buckets.next_reported(&self.progress)?.map(Arc::new));
        let times = self.stages().run(next, worker, write)?;
        log::info!("lexicon: {} terms; {times}", terms.len());
        Ok((ids.finish()?, terms.finish()?))
    }

    /// The rows of the collection under `bm25`.
    ///
    /// # Errors
    /// Parameters out of range.
    pub(crate) fn by_document<'a>(
        &'a self,
        terms: &'a RunTerms,
        bm25: &Bm25,
    ) -> Result<ExternalRows<'a>> {
        bm25.check()?;
        if self.largest_run_bytes() > self.memory.bytes() {
            return Err(Error::Usage(
                "the interrupted run was ordered by term; continue by term, or begin again by document"
                    .into(),
            ));
        }
        Ok(ExternalRows {
            external: self,
            terms,
            bm25: *bm25,
        })
    }

    /// Keeps only the postings that `prune` keeps under `bm25`; df and lengths stay as they are.
    ///
    /// # Errors
    /// Parameters out of range; a run cannot be read; scratch cannot be written.
    pub(crate) fn prune(&mut self, bm25: &Bm25, prune: &Prune) -> Result<()> {
        bm25.check()?;
        if prune.keeps_all() {
            return Ok(());
        }
        let (terms, _) = self.merge_terms()?;
        let rows = self.by_document(&terms, bm25)?;
        self.progress.begin(Stage::Writing, self.postings_count());
        let mut parts = 0..self.runs.len();
        let worker = || {
            |part: usize| {
                let (mut run, _, weights) = rows.weighed(part)?;
                self.progress.add(weights.len() as u64);
                let keep = prune.mask(&run.postings, &weights, run.lengths.len());
                run.postings.retain(&keep);
                Ok(run.encode(self.scratch.stamp()))
            }
        };
        let mut pruned = Vec::new();
        let stages = self.run_stages();
        stages.run(
            || Ok(parts.next()),
            worker,
            |run| {
                let read = self.runs[pruned.len()].file.path.clone();
                pruned.push(run.write(&self.scratch, Some(&read), &self.progress)?);
                Ok(())
            },
        )?;
        self.runs = pruned;
        self.rewritten = true;
        Ok(())
    }
}

/// A collection on scratch, weighed by document.
pub(crate) struct ExternalRows<'a> {
    external: &'a External,
    terms: &'a RunTerms,
    bm25: Bm25,
}

impl ExternalRows<'_> {
    /// A run with the ids of its terms and the weights of its postings.
    fn weighed(
        &self,
        part: usize,
    ) -> Result<(crate::collection::run::LoadedRun, Vec<u32>, Vec<f32>)> {
        self.external.progress.check()?;
        let External {
            runs, statistics, ..
        } = self.external;
        let run = runs[part].load(1 << 20)?;
        let (ids, df) = self.terms.of_run(part)?;
        if ids.len() != run.postings.terms.len() {
            return Err(runs[part].file.corrupt("it has other terms than before"));
        }
        let norms: Vec<f64> = run
            .lengths
            .iter()
            .map(|&length| self.bm25.norm(length, statistics))
            .collect();
        let tfs = run.postings.frequencies.expand(0..run.postings.len());
        let mut weights = vec![0.0; tfs.len()];
        for (term, &df) in df.iter().enumerate() {
            let range = run.postings.range(term);
            self.bm25.weigh(
                self.bm25.idf(statistics.documents, df),
                &run.postings.documents[range.clone()],
                &tfs[range.clone()],
                &norms,
                &mut weights[range],
            );
        }
        Ok((run, ids, weights))
    }
}

impl ByDocument for ExternalRows<'_> {
    fn part_count(&self) -> usize {
        self.external.runs.len()
    }

    fn rows(&self, part: usize) -> Result<Rows> {
        let (mut run, term_ids, weights) = self.weighed(part)?;
        self.external.progress.add(weights.len() as u64);
        let first = self.external.firsts[part] as usize;
        let named = |(place, id): (usize, &[u8])| match id {
            b"" => (first + place).to_string().into_bytes(),
            id => id.to_vec(),
        };
        let ids = run.ids.iter().enumerate().map(named).collect();
        let names = std::mem::take(&mut run.postings.terms);
        Ok(Rows::of_postings(
            first,
            ids,
            &run.postings,
            &weights,
            names,
            term_ids,
        ))
    }

    fn shape(&self) -> [u64; 3] {
        [
            self.external.statistics.documents,
            self.terms.count,
            self.external.postings_count(),
        ]
    }

    fn stages(&self) -> Stages {
        self.external.run_stages()
    }

    fn encoding_stages(&self) -> Stages {
        self.external.run_encoding_stages()
    }

    fn progress(&self) -> &Progress {
        &self.external.progress
    }
}
