//! `tokapi tune`: the best chunk size for an input, an engine and its disks.
//!
//! The beginning of the input goes through both passes, with scratch files, to Parquet, in chunks of several sizes. The
//! library fits its cost model to the times of the stages, and keeps the constants for `--chunk-size auto`.

mod queries;
mod report;
mod sort;
mod svg;

use std::path::{Path, PathBuf};
use std::time::Instant;

use tokapi::ScratchOptions;
use tokapi::Storage;
use tokapi::{Bm25, Error};
use tokapi::{Output, Target};
use tokapi_storage::tune::{Load, Measured, Model, Plan, Shape, Store, fastest};
use tokapi_storage::whole::{Staged, StagedFolder};

use crate::input::{self, Sample};
use crate::number;
use crate::progress::run_bar;
use crate::size;
use crate::storage;
use crate::summary::{note, print};
use crate::tuned;
use report::{Report, Sweep};

/// Measure this machine: the best chunk size for an input, or the queries that a GPU answers sooner
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokapi tune docs.jsonl -o weights.parquet
  tokapi tune docs/ --scratch /disk1 --scratch /disk2 --sample 1GB
  tokapi tune docs.jsonl --sweep --svg tune.svg
  tokapi tune index --queries queries.tsv
  tokapi tune sort keys.u32 -o sorted.u32 --engine gpu --algorithm bitonic --sweep")]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Args {
    /// The output of the real job; the measurements write and remove files beside it
    #[arg(short, long, value_name = "FILE", default_value = "tune.parquet")]
    output: PathBuf,

    /// A file of queries: find out which of them a GPU answers sooner than the CPU; INPUT is an index
    ///
    /// Each line has an id, a tab and a text, or is a JSON object with _id and text. `tokapi search --engine auto` uses the
    /// result.
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,

    #[command(flatten)]
    input: input::Args,

    #[command(flatten)]
    room: storage::Room,

    #[command(flatten)]
    how: How,

    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    Sort(sort::Args),
}

/// The options of measurements and of their report.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub struct How {
    /// The size of the sample, from the beginning of the input
    ///
    /// The largest chunk is the sample divided by the number of threads.
    #[arg(
        long,
        value_name = "SIZE",
        value_parser = size::parse,
        default_value = "256MB",
        help_heading = "Measurements"
    )]
    sample: u64,

    /// The number of runs of each size; the fastest counts
    #[arg(
        long,
        value_name = "COUNT",
        default_value_t = 3,
        value_parser = number::within(1..=u32::MAX),
        help_heading = "Measurements"
    )]
    repeat: u32,

    /// Measure more sizes, to check the predictions
    #[arg(long, help_heading = "Measurements")]
    sweep: bool,

    /// A file for a drawing of measured and predicted times [default: with --sweep, tune.svg]
    #[arg(long, value_name = "FILE", help_heading = "Measurements")]
    svg: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The largest chunk size divided by the smallest.
const RANGE: u64 = 128;
/// The largest chunk size.
const MOST_BYTES: u64 = 256 << 20;
/// How many times as often as other sizes the predicted and the measured optimum are run: they differ by a few percent.
const CHECKS: u32 = 2;

pub fn run(args: Args, threads: usize) -> Result<(), Error> {
    if let Some(svg) = &args.how.svg {
        Staged::check(svg)?;
    }
    if let Some(What::Sort(sort)) = args.what {
        return sort::run(&sort, threads);
    }
    if let Some(queries) = &args.queries {
        return queries::run(args.input.reading.index()?, queries, &args.how, threads);
    }
    let sample = args.input.sample(threads, args.how.svg().as_slice())?;
    let bench = Bench::new(&args, &sample)?;
    // Warms up, and gives the size of the text.
    let bytes = bench
        .run(tokapi_text::corpus::DEFAULT_CHUNK_BYTES as u64)?
        .bytes;
    let memory_most = args.room.memory()?.chunk_bytes(threads);
    Tuned {
        engine: tuned::weighing(&sample.options),
        content: "text",
        parallel_chunks: threads as u64,
        threads: threads as u64,
        local: Shape::INVERTING,
        global: Shape::MERGING,
        bytes: sample.bytes.max(bytes),
        sample_bytes: bytes,
        most: (bytes / threads as u64).min(memory_most).min(MOST_BYTES),
    }
    .measure(&args.how, |chunk_bytes| bench.run(chunk_bytes))
}

impl How {
    /// The drawing that is written.
    fn svg(&self) -> Option<PathBuf> {
        let usual = || self.sweep.then(|| PathBuf::from("tune.svg"));
        self.svg.clone().or_else(usual)
    }
}

/// A job whose chunk size is sought.
struct Tuned {
    /// The name under which the constants are kept.
    engine: String,
    /// The content of the input, in a word.
    content: &'static str,
    /// The chunks that are worked on at the same time, and the threads of all of them.
    parallel_chunks: u64,
    threads: u64,
    local: Shape,
    global: Shape,
    /// The size of the whole input, and of what is measured.
    bytes: u64,
    sample_bytes: u64,
    /// The largest chunk.
    most: u64,
}

impl Tuned {
    /// Measures, fits, keeps and reports.
    fn measure(
        self,
        how: &How,
        bench: impl Fn(u64) -> Result<Measured, Error>,
    ) -> Result<(), Error> {
        if self.sample_bytes == 0 {
            return Err(Error::Usage(
                "the input is empty: give one with something to measure".into(),
            ));
        }
        let most = self.most.max(1);
        let plan = Plan {
            least: (most / RANGE).max(1),
            most,
            sweep: how.sweep,
            repeats: how.repeat,
        };
        let sizes = plan.sizes();
        let checks = if how.sweep { 2 * CHECKS } else { 0 };
        let bar = run_bar(u64::from(how.repeat) * (sizes.len() as u64 + u64::from(checks)));
        let mut run = |chunk_bytes| {
            let measured = bench(chunk_bytes);
            bar.inc(1);
            measured
        };
        let measured = plan.measure(&mut run)?;
        let of_fit = measured.iter().zip(&sizes).filter(|(_, size)| size.fitted);
        let of_fit: Vec<Measured> = of_fit.map(|(run, _)| *run).collect();
        let model = Model::fit(&of_fit, self.parallel_chunks, self.local, self.global);
        let sweep = match how.sweep {
            true => Some(check(&model, &measured, CHECKS * how.repeat, &mut run)?),
            false => None,
        };
        bar.finish_and_clear();
        let store = Store::of_user();
        if let Some(store) = &store {
            store.save(&self.engine, &model)?;
        }
        let report = Report {
            engine: self.engine,
            content: self.content,
            threads: self.threads,
            bytes: self.bytes,
            model,
            measured,
            sizes,
            sweep,
            stored: store.map(|store| store.path().to_path_buf()),
        };
        let svg = how.svg();
        if let Some(path) = &svg {
            svg::write(&report, path)?;
        }
        match how.json {
            true => print((report.json(svg.as_deref()).to_string() + "\n").as_bytes()),
            false => {
                print(report.text().as_bytes())?;
                if let Some(path) = svg {
                    note(&format!("wrote {}\n", path.display()));
                }
                Ok(())
            }
        }
    }
}

/// Measures the predicted optimum and the best of the sizes in turns, so that other load on the machine slows both.
fn check(
    model: &Model,
    measured: &[Measured],
    repeats: u32,
    run: impl FnMut(u64) -> Result<Measured, Error>,
) -> Result<Sweep, Error> {
    let seconds = |a: &&Measured, b: &&Measured| a.seconds.total_cmp(&b.seconds);
    // There is always one.
    let best = *measured.iter().min_by(seconds).unwrap_or(&measured[0]);
    let optimum = model.best(best.bytes, model.range.0, model.range.1);
    let again = fastest(&[optimum, best.chunk_bytes], repeats, run)?;
    Ok(Sweep {
        optimum: again[0],
        beside: again[1],
        best: match again[1].seconds < best.seconds {
            true => again[1],
            false => best,
        },
    })
}

/// A job that can be run again and again.
struct Bench<'a> {
    sample: &'a Sample<'a>,
    bytes: u64,
    storage: Storage,
    output: Output,
    /// They are removed when this is dropped.
    _folders: Vec<StagedFolder>,
}

impl<'a> Bench<'a> {
    fn new(args: &Args, sample: &'a Sample<'a>) -> Result<Self, Error> {
        Staged::check(&args.output)?;
        let beside = StagedFolder::create(&args.output.with_file_name(".tune"))?;
        let scratch = args.room.scratch.iter();
        let scratch: Vec<StagedFolder> = scratch
            .map(|folder| StagedFolder::create(&folder.join(".tune")))
            .collect::<Result<_, _>>()?;
        let path = beside.temporary().join("weights.parquet");
        let folders = scratch
            .iter()
            .map(|folder| folder.temporary().to_path_buf());
        Ok(Bench {
            sample,
            bytes: args.how.sample,
            storage: Storage::new(args.room.memory()?.holding(0))
                .scratch(ScratchOptions::default().folders(folders))
                .output(path.clone()),
            output: Output::new(path, Target::Parquet),
            _folders: scratch.into_iter().chain([beside]).collect(),
        })
    }

    /// Runs both passes over the sample.
    fn run(&self, chunk_bytes: u64) -> Result<Measured, Error> {
        self.sample.files.iter().for_each(|file| forget(file));
        let (started, load) = (Instant::now(), Load::now());
        let stored = self.sample.read(self.bytes, chunk_bytes, &self.storage)?;
        let bytes = stored.bytes();
        let written = self.output.write(stored, &Bm25::default())?;
        let seconds = started.elapsed().as_secs_f64();
        let measured = Measured {
            chunk_bytes,
            bytes,
            local: written.local,
            global: written.global,
            seconds,
            others: Load::now().others_since(&load),
        };
        log::info!(
            "chunks of {}: {seconds:.3} s",
            report::size(measured.chunk_bytes)
        );
        std::fs::remove_file(&self.output.path).map_err(Error::writing(&self.output.path))?;
        Ok(measured)
    }
}

/// Lets the system forget the cached pages of a file, if it can: an input larger than memory comes from the disk.
fn forget(path: &Path) {
    #[cfg(target_os = "linux")]
    if let Ok(file) = std::fs::File::open(path) {
        use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
        // Only advice: pages that stay make reading faster, nothing else.
        let _ = posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = path;
}
