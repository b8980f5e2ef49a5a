//! `tokapi mapreduce`: runs a job over a collection.

mod jobs;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use serde_json::{Value, json};
use tokapi::Error;
use tokapi::mapreduce::{Partitions, ProcessOptions, Processes, Report, Threads, WorkerCommand};
use tokapi_mapreduce::jobs::{Duplicates, StandardJob};

use crate::formula;
use crate::input::Reading;
use crate::number;
use crate::progress::show;
use crate::storage::Room;
use crate::summary::{grouped, note, peak_memory_bytes, print, skipped_text};

/// Run a MapReduce job over a collection
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Jobs and their outputs, tab-separated, in the order of keys:
  bm25            term, document, tf, weight: as `tokapi weigh -o weights.tsv`, in one pass
  bm25-local      a folder of term lists and a df table, chunk by chunk
  bm25-global     term, document, tf, weight; the input is that folder
  wordcount       term, count
  average-length  documents, terms, average
  cooccurrence    t2, t1, Pr[t1 | t2]: the share of documents with t2 that have t1
  inverted-index  term, document, tf
  sort            the lines of the input without the empty ones, in the order of their bytes
  duplicates      document, an earlier document, `identical` or `near`, similarity
  pagerank        node, rank; each line of the input is an edge: two names

Near-duplicates:
  A shingle is a run of three words. The similarity of two documents is the share of their
  distinct shingles that both have. If one word of 80 differs and no shingle repeats, the
  similarity is 0.93 (75 of 81). It is estimated from 64 hashes (MinHash); two of three estimates
  are within 0.05 of a similarity of 0.8, and within 0.03 of 0.93. Documents are near if the
  estimate is --similarity or more. Only documents that share 4 neighbouring hashes are compared:
  99.98% of all pairs of similarity 0.8, 89% of 0.6, 64% of 0.5. Of identical documents, only the
  first is compared.

Examples:
  tokapi mapreduce wordcount docs.jsonl -o counts.tsv
  tokapi mapreduce wordcount docs.jsonl -o counts.tsv --no-combiner --json
  tokapi mapreduce bm25 docs/ -o weights.tsv.zst --memory 2GB --scratch /disk2
  tokapi mapreduce bm25-local docs/ -o lists && tokapi mapreduce bm25-global lists -o weights.tsv
  tokapi mapreduce duplicates docs/ -o copies.tsv --similarity 0.6
  tokapi mapreduce pagerank edges.txt -o ranks.tsv --on-error skip
  tokapi mapreduce inverted-index docs/ -o postings.tsv --runner processes --workers 8
  tokapi mapreduce bm25 docs/ -o weights.tsv --runner gpu")]
pub struct Args {
    /// The job
    #[arg(value_enum)]
    job: JobName,

    /// The file to write, or for bm25-local the folder; - is standard output
    ///
    /// .gz or .zst at the end of the name compresses. The file appears under its name when it is whole.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// The runner of the tasks
    #[arg(long, value_enum, default_value = "threads")]
    runner: RunnerName,

    #[command(flatten)]
    reading: Reading,

    /// The number of worker processes [default: the number of threads]
    #[arg(long, value_name = "COUNT", value_parser = number::within(1..=u16::MAX), help_heading = "Runner")]
    workers: Option<u16>,

    /// The longest time for one record or value [default: 300]
    ///
    /// After that time the worker is ended, and another one runs the task.
    #[arg(long, value_name = "SECONDS", value_parser = number::within(1..=u32::MAX), help_heading = "Runner")]
    task_deadline: Option<u32>,

    /// The number of the GPU, as `tokapi devices` lists them [default: 0]
    #[arg(long, value_name = "NUMBER", value_parser = number::within(0..=u32::MAX), help_heading = "Runner")]
    device: Option<u32>,

    /// The most memory to use on the GPU [default: all that is free]
    #[arg(long, value_name = "SIZE", value_parser = crate::size::parse, help_heading = "Runner")]
    device_memory: Option<u64>,

    /// The algorithm by which a GPU sorts pairs [default: radix]
    #[arg(long, alias = "sort", value_enum, help_heading = "Runner")]
    algorithm: Option<AlgorithmName>,

    /// The number of ranges of keys that are reduced in parallel [default: 8 for each thread or worker]
    #[arg(long, value_name = "COUNT", value_parser = number::within(1..=u32::MAX), help_heading = "Runner")]
    partitions: Option<u32>,

    /// Run the job without its combiner: for comparison
    #[arg(long, help_heading = "Runner")]
    no_combiner: bool,

    /// The former name of --on-error skip, for records that the job cannot map.
    #[arg(long, hide = true)]
    skip_bad: bool,

    /// The least similarity of near-duplicates, from 0 to 1; see below [default: 0.8]
    #[arg(long, value_name = "SHARE", value_parser = number::real::<f64>, help_heading = "Duplicates")]
    similarity: Option<f64>,

    #[command(flatten)]
    formula: formula::Args,

    #[command(flatten)]
    room: Room,

    /// Print the summary as one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum JobName {
    /// BM25 weights, in one pass
    Bm25,
    /// The local pass of BM25: term lists and df table
    Bm25Local,
    /// The global pass of BM25, from the output of the local pass
    Bm25Global,
    /// The number of occurrences of each term
    Wordcount,
    /// The average length of documents
    AverageLength,
    /// The probability of a term in documents with another term
    Cooccurrence,
    /// The documents of each term
    InvertedIndex,
    /// The lines in order
    Sort,
    /// Identical and near-identical documents
    Duplicates,
    /// Ranks of the nodes of a graph
    Pagerank,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum RunnerName {
    /// Threads of this process
    Threads,
    /// Worker processes; the task of one that dies or hangs is run again
    Processes,
    /// A GPU maps, and threads reduce
    Gpu,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum AlgorithmName {
    /// Radix sort
    Radix,
    /// Merge sort
    Merge,
    /// Bitonic sort, as in Mars
    Bitonic,
}

pub fn run(args: &Args, threads: usize) -> Result<(), Error> {
    let started = Instant::now();
    let weighs = matches!(args.job, JobName::Bm25 | JobName::Bm25Global);
    if args.formula.is_given() && !weighs {
        return Err(Error::Usage(
            "only bm25 and bm25-global weigh terms: drop the formula and its parameters".into(),
        ));
    }
    if args.similarity.is_some() && args.job != JobName::Duplicates {
        return Err(Error::Usage(
            "--similarity is for the job duplicates: drop it".into(),
        ));
    }
    args.formula.bm25().check()?;
    let how = args.threads(threads)?;
    let progress = how.progress.clone();
    let report = show(&progress, || args.report(how)).map_err(|error| args.suggest(error))?;
    let seconds = started.elapsed().as_secs_f64();
    let to_stdout = args.output == Path::new("-");
    match (args.json, to_stdout) {
        (true, false) => print((args.as_json(&report, seconds) + "\n").as_bytes()),
        (true, true) => {
            note(&(args.as_json(&report, seconds) + "\n"));
            Ok(())
        }
        (false, _) => {
            note(&args.as_text(&report, seconds));
            Ok(())
        }
    }
}

impl Args {
    /// Runs the job with the options `how`.
    fn report(&self, how: Threads) -> Result<Report, Error> {
        let job = self.standard();
        match self.runner {
            RunnerName::Threads => job.on_threads(&how, self.input(&how)?, &self.output),
            RunnerName::Processes => {
                let input = self.input(&how)?;
                job.on_processes(&self.processes(how)?, input, &self.output)
            }
            RunnerName::Gpu => self.on_gpu(job, how),
        }
    }

    /// The runner `threads`; its options serve the other runners too.
    fn threads(&self, threads: usize) -> Result<Threads, Error> {
        let for_processes = self.workers.is_some() || self.task_deadline.is_some();
        let for_gpu =
            self.device.is_some() || self.device_memory.is_some() || self.algorithm.is_some();
        let wrong = match self.runner {
            RunnerName::Threads | RunnerName::Gpu if for_processes => {
                "--workers and --task-deadline need --runner processes"
            }
            RunnerName::Threads | RunnerName::Processes if for_gpu => {
                "--device, --device-memory and --algorithm need --runner gpu"
            }
            _ => "",
        };
        if !wrong.is_empty() {
            return Err(Error::Usage(wrong.into()));
        }
        let threads = match self.runner {
            RunnerName::Processes => self.workers.map_or(threads, usize::from),
            RunnerName::Threads | RunnerName::Gpu => threads,
        };
        if let Some(folder) = self.room.scratch.iter().find(|folder| !folder.is_dir()) {
            return Err(Error::Usage(format!(
                "{}: this folder for scratch files does not exist: create it, or name another with --scratch",
                folder.display()
            )));
        }
        let beside = match self.output.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
            _ => PathBuf::from("."),
        };
        let usual = u32::try_from(8 * threads).unwrap_or(u32::MAX);
        Ok(Threads {
            threads,
            // The other half is for blocks that are read, parsed and written.
            memory_bytes: self.room.memory()?.bytes() / 2,
            scratch: self.room.scratch.first().cloned().unwrap_or(beside),
            partitions: Partitions::Ranges(self.partitions.unwrap_or(usual)),
            combine: !self.no_combiner,
            skip_bad: self.skip_bad || self.reading.skips(),
            ..Threads::default()
        })
    }

    /// The runner `processes`, with as much memory and as many workers as `how` has threads.
    fn processes(&self, how: Threads) -> Result<Processes, Error> {
        let program = std::env::current_exe().map_err(|error| {
            Error::Usage(format!(
                "this program cannot be found to start workers: {error}"
            ))
        })?;
        let command = WorkerCommand {
            program,
            arguments: vec![WORKER.into()],
        };
        let options = ProcessOptions {
            workers: how.threads,
            deadline: Duration::from_secs(self.task_deadline.unwrap_or(300).into()),
            memory_bytes: how.memory_bytes,
            scratch: how.scratch,
            partitions: how.partitions,
            combine: how.combine,
            skip_bad: how.skip_bad,
            progress: how.progress,
        };
        Ok(Processes::new(command, options))
    }
}

#[cfg(not(feature = "cuda"))]
impl Args {
    fn on_gpu(&self, _: StandardJob, _: Threads) -> Result<Report, Error> {
        Err(crate::engine::without_cuda())
    }
}

#[cfg(feature = "cuda")]
impl Args {
    /// Runs the job with a GPU that maps, and threads by the options `how`.
    fn on_gpu(&self, job: StandardJob, how: Threads) -> Result<Report, Error> {
        use tokapi_kernels::{Algorithm, Build};

        Build::Cuda.count()?;
        let input = self.input(&how)?;
        let runner = tokapi_mapreduce::GpuRunner {
            device: self.device.unwrap_or(0),
            memory_bytes: self.device_memory,
            sort: match self.algorithm {
                None | Some(AlgorithmName::Radix) => Algorithm::Radix,
                Some(AlgorithmName::Merge) => Algorithm::Merge,
                Some(AlgorithmName::Bitonic) => Algorithm::Bitonic,
            },
            ..tokapi_mapreduce::GpuRunner::new(Build::Cuda, how)
        };
        job.on_gpu(&runner, input, &self.output)
    }
}

/// The arguments that make this program a worker.
const WORKER: &str = "mapreduce-worker";

/// Run tasks of MapReduce jobs, read from standard input
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub struct WorkerArgs {}

pub fn work(_: &WorkerArgs) -> Result<(), Error> {
    tokapi::mapreduce::work(tokapi_mapreduce::jobs::registry())
}

impl Args {
    /// Adds the options that help to an error of the input.
    fn suggest(&self, error: Error) -> Error {
        match error {
            Error::Map { input, what } => Error::Map {
                input,
                what: what + " (or leave it out: --on-error skip)",
            },
            error => self.reading.suggest(error),
        }
    }

    fn least_similarity(&self) -> f64 {
        self.similarity.unwrap_or(Duplicates::default().similarity)
    }

    /// The least similarity of near-duplicates, if the job finds them.
    fn similarity(&self) -> Option<f64> {
        (self.job == JobName::Duplicates).then(|| self.least_similarity())
    }

    fn as_json(&self, report: &Report, seconds: f64) -> String {
        let mut object = json!(report);
        if let Value::Object(fields) = &mut object {
            fields.insert("seconds".into(), json!(seconds));
            fields.insert("peak_memory_bytes".into(), json!(peak_memory_bytes()));
            fields.insert("skipped_reasons".into(), json!(report.skipped.reasons));
            if let Some(similarity) = self.similarity() {
                fields.insert("similarity".into(), json!(similarity));
            }
        }
        object.to_string()
    }

    fn as_text(&self, report: &Report, seconds: f64) -> String {
        let mut text = String::new();
        let counts = [
            ("splits", report.splits),
            ("pairs emitted", report.emitted_pairs),
            ("pairs shuffled", report.shuffled_pairs),
            ("bytes shuffled", report.shuffled_bytes),
            ("bytes spilled", report.spilled_bytes),
            ("keys", report.keys),
            ("outputs", report.outputs),
            ("partitions", report.partition_pairs.len() as u64),
        ];
        for (name, count) in counts {
            text += &format!("{name:<15} {:>15}\n", grouped(count));
        }
        for (name, count) in [
            ("tasks run again", report.reruns),
            ("stragglers", report.stragglers),
        ] {
            if count > 0 {
                text += &format!("{name:<15} {:>15}\n", grouped(count));
            }
        }
        if let Some(similarity) = self.similarity() {
            text += &format!("{:<15} {similarity:>15.2}\n", "similarity from");
        }
        text += &format!("{:<15} {:>15.2}\n", "reduce skew", report.skew());
        text += &format!("{:<15} {seconds:>15.3}\n", "seconds");
        if let Some(bytes) = peak_memory_bytes() {
            text += &format!("{:<15} {:>12.0} MB\n", "peak memory", bytes as f64 / 1e6);
        }
        text + &skipped_text(&report.skipped)
    }
}
