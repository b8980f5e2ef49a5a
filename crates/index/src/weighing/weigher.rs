//! Computes the weights of postings at query time, and their bounds.

use super::Weighing;
use crate::part::Part;
use crate::part::block::{BLOCK, Entry};
use crate::part::bounds::{Point, tf_of};
use crate::wide::wide;
use tokapi_storage::error::Result;
use tokapi_weigh::formula::Statistics;
use tokapi_weigh::formula::{Bm25, UsePart};

/// Weighs the postings of a part.
pub(crate) struct Weigher<'a> {
    part: &'a Part,
    weighing: Weighing,
    avdl: f64,
    /// L of every length code.
    norms: [f64; 256],
}

/// The factor by which bounds exceed weights, because rounding is not always monotone.
const SLACK: f64 = 1.0 + 1e-6;

impl<'a> Weigher<'a> {
    pub fn new(part: &'a Part, weighing: &Weighing, statistics: &Statistics) -> Self {
        let avdl = weighing.bm25().average_length(statistics);
        let mut norms = [0.0; 256];
        norms_wide(weighing.bm25(), avdl, part.codes().starts(), &mut norms);
        Weigher {
            part,
            weighing: *weighing,
            avdl,
            norms,
        }
    }

    /// The part.
    pub fn part(&self) -> &'a Part {
        self.part
    }

    /// The length of a document; any number if the formula ignores lengths.
    #[inline]
    pub fn length(&self, document: u32) -> Result<u32> {
        match self.weighing.needs_lengths() {
            true => self.part.length(document),
            false => Ok(0),
        }
    }

    /// Writes the lengths of `documents`, if the formula uses lengths.
    #[inline]
    pub fn lengths(&self, documents: &[u32], lengths: &mut [u32; BLOCK]) -> Result<()> {
        match self.weighing.needs_lengths() {
            true => self.part.lengths(documents, lengths),
            false => Ok(()),
        }
    }

    /// Writes the weights of a term with `idf` in documents of these lengths.
    #[inline]
    pub fn weigh(&self, idf: f64, lengths: &[u32], tfs: &[u32], weights: &mut [f32]) {
        weigh_wide(
            &self.weighing,
            Postings {
                bm25: self.weighing.bm25(),
                avdl: self.avdl,
                idf,
                lengths,
                tfs,
                weights,
            },
        );
    }

    /// Writes the weights of up to a block of postings of a term with `idf`.
    #[inline]
    pub fn weigh_postings(
        &self,
        idf: f64,
        documents: &[u32],
        tfs: &[u32],
        weights: &mut [f32],
    ) -> Result<()> {
        let mut lengths = [0; BLOCK];
        self.lengths(documents, &mut lengths)?;
        self.weigh(idf, &lengths[..documents.len()], tfs, weights);
        Ok(())
    }

    /// The weight of one posting.
    pub fn weight(&self, idf: f64, document: u32, tf: u32) -> Result<f32> {
        let mut weight = [0.0];
        self.weigh(idf, &[self.length(document)?], &[tf], &mut weight);
        Ok(weight[0])
    }

    /// The bound of the absolute weights in each of the blocks.
    pub fn magnitudes(&self, idf: f64, blocks: &[Entry]) -> Vec<f32> {
        let mut bounds = vec![0.0; blocks.len()];
        bound_wide(
            &self.weighing,
            Bounds {
                norms: &self.norms,
                factor: idf.abs() * SLACK,
                blocks,
                bounds: &mut bounds,
            },
        );
        bounds
    }

    /// The bound of the absolute weights of postings within `front`.
    #[inline]
    pub fn magnitude(&self, idf: f64, front: &[Point]) -> f64 {
        let part = self.weighing.with_part(Bound {
            norms: &self.norms,
            front,
        });
        idf.abs() * part * SLACK
    }
}

wide! {
    /// Weighs postings.
    fn weigh_wide(weighing: &Weighing, postings: Postings<'_>) {
        weighing.with_part(postings);
    }
}

wide! {
    /// Writes L for these lengths.
    fn norms_wide(bm25: &Bm25, avdl: f64, lengths: &[u32; 256], norms: &mut [f64; 256]) {
        for (norm, &length) in norms.iter_mut().zip(lengths) {
            *norm = bm25.norm_at(length, avdl);
        }
    }
}

wide! {
    /// Computes bounds of the tf parts of blocks.
    fn bound_wide(weighing: &Weighing, bounds: Bounds<'_>) {
        weighing.with_part(bounds);
    }
}

/// Postings of a term to weigh.
struct Postings<'a> {
    bm25: &'a Bm25,
    avdl: f64,
    idf: f64,
    lengths: &'a [u32],
    tfs: &'a [u32],
    weights: &'a mut [f32],
}

impl UsePart for Postings<'_> {
    type Output = ();

    #[inline(always)]
    fn with(self, part: impl Fn(f64, f64) -> f64 + Copy) {
        let postings = self.lengths.iter().zip(self.tfs).zip(self.weights);
        for ((&length, &tf), weight) in postings {
            let norm = self.bm25.norm_at(length, self.avdl);
            *weight = (self.idf * part(f64::from(tf), norm)) as f32;
        }
    }
}

/// The largest tf part of a front.
struct Bound<'a> {
    norms: &'a [f64; 256],
    front: &'a [Point],
}

impl UsePart for Bound<'_> {
    type Output = f64;

    #[inline(always)]
    fn with(self, part: impl Fn(f64, f64) -> f64 + Copy) -> f64 {
        let parts = self
            .front
            .iter()
            .map(|point| part(tf_of(*point), self.norms[usize::from(point.length)]));
        parts.fold(0.0, f64::max)
    }
}

/// The largest weights of blocks.
struct Bounds<'a> {
    norms: &'a [f64; 256],
    factor: f64,
    blocks: &'a [Entry],
    bounds: &'a mut [f32],
}

impl UsePart for Bounds<'_> {
    type Output = ();

    #[inline(always)]
    fn with(self, part: impl Fn(f64, f64) -> f64 + Copy) {
        for (block, bound) in self.blocks.iter().zip(self.bounds) {
            let of = |point: Point| part(tf_of(point), self.norms[usize::from(point.length)]);
            let most = block.front.map(of).into_iter().fold(0.0, f64::max);
            *bound = (self.factor * most) as f32;
        }
    }
}
