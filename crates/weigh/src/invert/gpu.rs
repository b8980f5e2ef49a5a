//! The engine on a GPU: one chunk at a time through a lane to the device.
//!
//! The device cuts and groups raw terms. They are normalized here, once per distinct raw term of the chunk.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokapi_kernels::{self as kernels, Text};

use super::names::Names;
use super::{Invert, Inverted};
use crate::gpu::Lanes;
use crate::postings::{Frequencies, Postings};
use tokapi_storage::error::Result;
use tokapi_storage::strings::Strings;
use tokapi_text::analyze::Analyzer;
use tokapi_text::corpus::Chunk;

/// The engine `gpu`: one for each thread. All share the lanes to the device.
pub struct GpuInverter<'a> {
    lanes: Arc<Lanes>,
    names: Names<'a>,
    /// The starts of the documents on their way to the device.
    starts: Vec<u64>,
    times: Times,
}

/// The time of a thread by activity.
#[derive(Debug, Default)]
struct Times {
    waiting_for_a_lane: Duration,
    on_the_device: Duration,
    copying: Duration,
}

impl Drop for GpuInverter<'_> {
    fn drop(&mut self) {
        log::debug!(
            "gpu: one thread: waiting for a lane {:.3} s, on the device {:.3} s, copying {:.3} s",
            self.times.waiting_for_a_lane.as_secs_f64(),
            self.times.on_the_device.as_secs_f64(),
            self.times.copying.as_secs_f64()
        );
    }
}

impl<'a> GpuInverter<'a> {
    /// An engine that cuts terms by `analyzer`, the one that `lanes` were opened with.
    pub fn new(analyzer: &'a Analyzer, lanes: Arc<Lanes>) -> Self {
        GpuInverter {
            lanes,
            names: Names::new(analyzer),
            starts: Vec::new(),
            times: Times::default(),
        }
    }

    /// Inverts some of the chunk's documents. Text that may exceed a lane's memory is cut in two.
    fn raw(&mut self, chunk: &Chunk, documents: Range<usize>) -> Result<Inverted> {
        let spans = &chunk.spans[documents.clone()];
        let base = spans.first().map_or(0, |span| span.start);
        let end = spans.last().map_or(0, |span| span.end);
        let bytes = (end - base) as u64;
        if bytes > self.lanes.most_bytes() && documents.len() > 1 {
            log::debug!("gpu: a chunk of {bytes} bytes is cut in two");
            let middle = documents.start.midpoint(documents.end);
            let mut first = self.raw(chunk, documents.start..middle)?;
            first.append(self.raw(chunk, middle..documents.end)?)?;
            return Ok(first);
        }
        self.starts.clear();
        self.starts
            .extend(spans.iter().map(|span| (span.start - base) as u64));
        let text = Text::new(&chunk.text[base..end], &self.starts);
        let asked = Instant::now();
        let mut lane = self.lanes.take();
        let started = Instant::now();
        self.times.waiting_for_a_lane += started - asked;
        let inverted = lane.invert(text)?;
        let done = Instant::now();
        self.times.on_the_device += done - started;
        let inverted = Inverted::from(&inverted);
        self.times.copying += done.elapsed();
        Ok(inverted)
    }
}

impl Invert for GpuInverter<'_> {
    fn invert(&mut self, chunk: &mut Chunk) -> Result<Inverted> {
        self.names.bound();
        let inverted = self.raw(chunk, 0..chunk.len())?;
        Ok(match self.names.all_same(&chunk.text) {
            true => inverted,
            false => inverted.rename(&mut self.names),
        })
    }
}

impl From<&kernels::Inverted<'_>> for Inverted {
    fn from(inverted: &kernels::Inverted<'_>) -> Self {
        let offsets = inverted.offsets.iter().map(|&offset| u64::from(offset));
        let places = inverted.large_places.iter().map(|&place| u64::from(place));
        let large = places.zip(inverted.large_frequencies.iter().copied());
        Inverted {
            postings: Postings {
                terms: Strings::from_parts(
                    inverted.term_bytes.to_vec(),
                    inverted.term_offsets.to_vec(),
                ),
                offsets: offsets.collect(),
                documents: inverted.documents.to_vec(),
                frequencies: Frequencies::from_raw(inverted.frequencies.to_vec(), large.collect()),
            },
            lengths: inverted.lengths.to_vec(),
        }
    }
}
