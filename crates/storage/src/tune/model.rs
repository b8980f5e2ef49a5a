//! The cost of a job as a function of the chunk size.
//!
//! With c the chunk size in bytes, a stage takes, for every byte of input,
//!
//! ```text
//! t(c) = constant + per_chunk / c + repeated / sqrt(c) + growth g(c)
//! ```
//!
//! - `constant` is the cost of every byte, and `per_chunk` the cost of every chunk of any size: a run to open, a flush,
//!   a launch. Input and output have these two terms alone: I1 + I2 / c.
//! - g(c) is the growth of the computation with the chunk: log c for merge sort, (log c)^2 for a bitonic network, none
//!   for radix sort ([`Growth`]). Inversion has a log c too: its tables outgrow one cache after the other.
//! - `repeated` is the cost of terms, which every chunk repeats. By Heaps' law c bytes have about sqrt(c) distinct
//!   terms. So the n / c runs of n bytes have n / sqrt(c) terms, and each is sorted, written, read and merged. Without
//!   this term neither 1 / c nor log c fits the global pass: for generated text it computes 3.4, 2.1, 1.5 and 1.2 s
//!   with chunks of 1, 3.4, 7.6 and 17 MB, and 1.1 s with 128 MB. Sorting numbers has no such term.
//!
//! A pass takes as long as its slowest stage, plus the time to fill and drain the pipeline ([`PassPrediction::of`]).
//! The job takes both passes and the rest: the work between and after them.

use super::Measured;
use super::fit::least_squares;
use crate::pipeline::StageTimes;

/// The growth of the time per byte with the chunk size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    /// None: radix sort.
    Constant,
    /// log c: merge sort, inversion.
    Log,
    /// (log c)^2: bitonic sort.
    LogSquared,
}

/// The kind of work of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// The growth of the computation.
    pub growth: Growth,
    /// Whether the input has terms, which every chunk repeats.
    pub terms: bool,
}

impl Shape {
    /// The inversion of chunks.
    pub const INVERTING: Shape = Shape {
        growth: Growth::Log,
        terms: true,
    };
    /// The merge of inverted chunks.
    pub const MERGING: Shape = Shape {
        growth: Growth::Constant,
        terms: true,
    };
}

/// The constants of a stage, in seconds for every byte of input.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Stage {
    /// Independent of the chunk size.
    pub constant: f64,
    /// Per chunk.
    pub per_chunk: f64,
    /// The factor of 1 / sqrt(c).
    pub repeated: f64,
    /// The factor of g(c).
    pub growth: f64,
}

/// The constants of a pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PassModel {
    /// The kind of work.
    pub growth: Growth,
    /// Reading.
    pub input: Stage,
    /// Computing: the sum over all threads, divided by their number.
    pub compute: Stage,
    /// Writing.
    pub output: Stage,
    /// Not a time but a count: the items of the pipeline.
    pub items: Stage,
}

/// The constants of a job on a machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// The threads that compute.
    pub threads: u64,
    /// The smallest and the largest chunk that were measured.
    pub range: (u64, u64),
    /// The local pass.
    pub local: PassModel,
    /// The global pass.
    pub global: PassModel,
    /// The time outside of the stages.
    pub rest: Stage,
}

/// The predicted seconds of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PassPrediction {
    /// Reading.
    pub input: f64,
    /// Computing.
    pub compute: f64,
    /// Writing.
    pub output: f64,
    /// The whole pass.
    pub total: f64,
}

/// The predicted seconds of a job.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Prediction {
    /// The local pass.
    pub local: PassPrediction,
    /// The global pass.
    pub global: PassPrediction,
    /// The time outside of the stages.
    pub rest: f64,
    /// The whole job.
    pub total: f64,
}

impl Growth {
    fn at(self, chunk_bytes: f64) -> f64 {
        match self {
            Growth::Constant => 0.0,
            Growth::Log => chunk_bytes.log2(),
            Growth::LogSquared => chunk_bytes.log2().powi(2),
        }
    }
}

impl Stage {
    /// Fits seconds (or items), each for a number of bytes in chunks of a given size.
    ///
    /// The coefficients of chunks and of growth are not negative. The constant is free beside log c, because it absorbs
    /// the unit of c; without log c it is not negative.
    fn fit(growth: Growth, terms: bool, measured: &[(f64, f64, f64)]) -> Stage {
        let row = |&(bytes, chunk, _): &(f64, f64, f64)| {
            let repeated = if terms { 1.0 / chunk.sqrt() } else { 0.0 };
            [1.0, 1.0 / chunk, repeated, growth.at(chunk)].map(|value| value * bytes)
        };
        let rows: Vec<[f64; 4]> = measured.iter().map(row).collect();
        let values: Vec<f64> = measured.iter().map(|&(_, _, value)| value).collect();
        let alone = growth == Growth::Constant;
        let [constant, per_chunk, repeated, growth] =
            least_squares(&rows, &values, [alone, true, true, true]);
        Stage {
            constant,
            per_chunk,
            repeated,
            growth,
        }
    }

    fn at(&self, growth: Growth, bytes: f64, chunk: f64) -> f64 {
        let each = self.constant
            + self.per_chunk / chunk
            + self.repeated / chunk.sqrt()
            + self.growth * growth.at(chunk);
        // Outside of the measured range the line may fall below zero.
        bytes * each.max(0.0)
    }
}

impl PassPrediction {
    /// A pass of `items` items on `threads` threads, from the times of its stages.
    ///
    /// The stages overlap while the slowest one works. But that stage idles until the first item reaches it, and the
    /// other stages have work left after its last item. The computing threads do not end together: on average half of
    /// all but one idle for the time of one item. With fewer items than threads some threads never work.
    pub fn of([input, compute, output]: [f64; 3], items: f64, threads: u64) -> Self {
        let (items, threads) = (items.max(1.0), threads.max(1) as f64);
        let (first_read, one_computed, last_written) =
            (input / items, threads * compute / items, output / items);
        let ragged = compute * (1.0 + (threads - 1.0) / (2.0 * items));
        let total = [
            input + one_computed + last_written,
            first_read + ragged.max(one_computed) + last_written,
            first_read + one_computed + output,
        ];
        PassPrediction {
            input,
            compute,
            output,
            total: total.into_iter().fold(0.0, f64::max),
        }
    }

    /// The prediction for a pass from its measured stage times.
    fn of_times(times: &StageTimes, threads: u64) -> Self {
        let stages = [times.input, times.compute, times.output].map(|time| time.as_secs_f64());
        PassPrediction::of(stages, times.items as f64, threads)
    }
}

impl PassModel {
    fn fit(shape: Shape, measured: &[Measured], times: impl Fn(&Measured) -> StageTimes) -> Self {
        let stage = |growth, terms, value: &dyn Fn(StageTimes) -> f64| {
            let values = measured
                .iter()
                .map(|run| (run.bytes as f64, run.chunk_bytes as f64, value(times(run))));
            Stage::fit(growth, terms, &values.collect::<Vec<_>>())
        };
        let terms = shape.terms;
        PassModel {
            growth: shape.growth,
            input: stage(Growth::Constant, terms, &|times| times.input.as_secs_f64()),
            compute: stage(shape.growth, terms, &|times| times.compute.as_secs_f64()),
            output: stage(Growth::Constant, terms, &|times| times.output.as_secs_f64()),
            items: stage(Growth::Constant, false, &|times| times.items as f64),
        }
    }

    fn predict(&self, bytes: f64, chunk: f64, threads: u64) -> PassPrediction {
        let at = |stage: &Stage, growth| stage.at(growth, bytes, chunk);
        let stages = [
            at(&self.input, Growth::Constant),
            at(&self.compute, self.growth),
            at(&self.output, Growth::Constant),
        ];
        PassPrediction::of(stages, at(&self.items, Growth::Constant), threads)
    }
}

impl Model {
    /// Fits the constants to measurements with `threads` threads.
    pub fn fit(measured: &[Measured], threads: u64, local: Shape, global: Shape) -> Self {
        let sizes = || measured.iter().map(|run| run.chunk_bytes);
        let rest = measured.iter().map(|run| {
            let passes = PassPrediction::of_times(&run.local, threads).total
                + PassPrediction::of_times(&run.global, threads).total;
            let rest = (run.seconds - passes).max(0.0);
            (run.bytes as f64, run.chunk_bytes as f64, rest)
        });
        let rest: Vec<_> = rest.collect();
        Model {
            threads,
            range: (sizes().min().unwrap_or(1), sizes().max().unwrap_or(1)),
            local: PassModel::fit(local, measured, |run| run.local),
            global: PassModel::fit(global, measured, |run| run.global),
            rest: Stage::fit(Growth::Constant, local.terms || global.terms, &rest),
        }
    }

    /// The seconds that `bytes` of input take in chunks of `chunk_bytes`.
    pub fn predict(&self, bytes: u64, chunk_bytes: u64) -> Prediction {
        let (bytes, chunk) = (bytes as f64, chunk_bytes.max(1) as f64);
        let local = self.local.predict(bytes, chunk, self.threads);
        let global = self.global.predict(bytes, chunk, self.threads);
        let rest = self.rest.at(Growth::Constant, bytes, chunk);
        Prediction {
            local,
            global,
            rest,
            total: local.total + global.total + rest,
        }
    }

    /// The best chunk size between `least` and `most` for `bytes` of input, to a 32nd of an octave; the smallest of
    /// equals.
    pub fn best(&self, bytes: u64, least: u64, most: u64) -> u64 {
        let least = least.clamp(1, most.max(1));
        let octaves = (most as f64 / least as f64).log2();
        let steps = (32.0 * octaves).ceil().max(0.0) as u32;
        // Rounded, and at most `most`: sizes are far below 2^53.
        let sizes = (0..=steps).map(|step| {
            let size = (least as f64 * (f64::from(step) / 32.0).exp2()).round();
            (size as u64).min(most.max(1))
        });
        let timed = sizes.map(|size| (self.predict(bytes, size).total, size));
        let best = timed.min_by(|a, b| a.0.total_cmp(&b.0));
        best.map_or(least, |(_, size)| size)
    }
}
