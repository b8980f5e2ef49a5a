//! The benchmark `mapreduce`: jobs on threads, compared with programs made for one job.
//!
//! The text is a generated collection in memory. The clock stops when all results are in memory,
//! in order. Contestants take turns, and the fastest turn of each counts.

mod counters;

use std::sync::Arc;
use std::time::Instant;

use serde_json::json;
use tokapi::OnError;
use tokapi::Weights;
use tokapi::mapreduce::{Documents, Partitions, Report, Threads};
use tokapi::{Analyzer, Cut};
use tokapi::{Bm25, BuildOptions, Collection, Error};
use tokapi_mapreduce::jobs::{WeighOnePass, Weighed, WordCount};

use super::collection::Generated;
use counters::Counts;
use tokapi_cli::size;
use tokapi_cli::summary::{grouped, print};
use tokapi_cli::table::Table;

/// Run MapReduce jobs beside the dedicated engine and other word counters
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The size of a collection; may be given several times
    #[arg(long, value_name = "SIZE", value_parser = size::parse, default_values = ["100MB", "500MB"])]
    size: Vec<u64>,

    /// How often each is run
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Numbers of partitions with which combiners are compared.
const PARTITIONS: u32 = 16;

/// A contestant, and its fastest turn.
struct Turn {
    name: &'static str,
    seconds: f64,
}

pub fn run(args: &Args, threads: usize) -> Result<(), Error> {
    let (mut text, mut results) = (String::new(), Vec::new());
    for &bytes in &args.size {
        let generated = Generated::new(bytes, threads)?;
        let weighing = weighing(&generated, args.repeat, threads)?;
        let counting = counting(&generated, args.repeat, threads)?;
        let combining = combining(&generated, threads)?;
        text += &format!(
            "\n{} bytes, {threads} threads\n",
            grouped(generated.text.len() as u64)
        );
        text += &as_table("BM25, weights in memory", &weighing, bytes);
        text += &as_table("word count", &counting, bytes);
        let mut table = Table::new(&["wordcount", "pairs", "bytes as pairs", "bytes", "skew"]);
        for (name, report) in ["with combiner", "without"].into_iter().zip(&combining) {
            table.push(vec![
                name.to_owned(),
                grouped(report.shuffled_pairs),
                grouped(report.pair_bytes),
                grouped(report.shuffled_bytes),
                format!("{:.2}", report.skew()),
            ]);
        }
        text += &table.text();
        let seconds = |turns: &[Turn]| -> serde_json::Value {
            let named = turns
                .iter()
                .map(|turn| (turn.name.to_owned(), json!(turn.seconds)));
            named.collect::<serde_json::Map<_, _>>().into()
        };
        results.push(json!({
            "bytes": generated.text.len(),
            "threads": threads,
            "bm25_seconds": seconds(&weighing),
            "wordcount_seconds": seconds(&counting),
            "with_combiner": combining[0],
            "without_combiner": combining[1],
        }));
    }
    if args.json {
        text = json!({ "results": results }).to_string() + "\n";
    }
    print(text.as_bytes())
}

fn as_table(title: &str, turns: &[Turn], bytes: u64) -> String {
    let mut table = Table::new(&[title, "ms", "MB/s", "times mapreduce"]);
    for turn in turns {
        table.push(vec![
            turn.name.to_owned(),
            format!("{:.0}", turn.seconds * 1e3),
            format!("{:.0}", bytes as f64 / 1e6 / turn.seconds),
            format!("{:.2}", turn.seconds / turns[0].seconds),
        ]);
    }
    table.text()
}

/// Keeps the fastest turn of every contestant.
fn keep(turns: &mut Vec<Turn>, name: &'static str, seconds: f64) {
    match turns.iter_mut().find(|turn| turn.name == name) {
        Some(turn) => turn.seconds = turn.seconds.min(seconds),
        None => turns.push(Turn { name, seconds }),
    }
}

fn runner(threads: usize) -> Threads {
    Threads {
        threads,
        memory_bytes: 16 << 30,
        partitions: Partitions::Ranges(u32::try_from(8 * threads).unwrap_or(u32::MAX)),
        ..Threads::default()
    }
}

fn documents(generated: &Generated, threads: usize) -> Documents {
    Documents::new(
        generated.corpus(),
        Arc::new(Analyzer::from(Cut::Plain)),
        threads,
    )
}

/// The weights of a range of terms.
#[derive(Default)]
pub struct Part {
    terms: Vec<u8>,
    /// The end of each term's text, and the number of postings up to its last.
    ends: Vec<(usize, usize)>,
    documents: Vec<u32>,
    tfs: Vec<u32>,
    weights: Vec<f32>,
}

impl Part {
    fn push(&mut self, weighed: Weighed<'_>) {
        // A frequent term comes in pieces.
        let start = self
            .ends
            .len()
            .checked_sub(2)
            .map_or(0, |last| self.ends[last].0);
        if !self.ends.is_empty() && self.terms[start..] == *weighed.term.as_bytes() {
            self.ends.pop();
        } else {
            self.terms.extend_from_slice(weighed.term.as_bytes());
        }
        self.documents.extend_from_slice(weighed.documents);
        self.tfs.extend_from_slice(weighed.tfs);
        self.weights.extend_from_slice(weighed.weights);
        self.ends.push((self.terms.len(), self.weights.len()));
    }
}

/// BM25 by the job of one pass, from text in memory to weights in memory: seconds, counters, weights.
pub fn weigh_by_job(
    generated: &Generated,
    threads: usize,
) -> Result<(f64, Report, Vec<Part>), Error> {
    let input = documents(generated, threads);
    let started = Instant::now();
    let mut parts = Vec::new();
    let mut job = WeighOnePass::new(Bm25::default(), OnError::Stop);
    let push = |part: &mut Part, weighed: Weighed<'_>| {
        part.push(weighed);
        Ok(())
    };
    let take = |part| {
        parts.push(part);
        Ok(())
    };
    let report = runner(threads).run(&mut job, input, Part::default, push, take)?;
    Ok((started.elapsed().as_secs_f64(), report, parts))
}

fn weighing(generated: &Generated, repeat: u32, threads: usize) -> Result<Vec<Turn>, Error> {
    let mut turns = Vec::new();
    let options = BuildOptions::default().threads(threads);
    for turn in 0..repeat {
        let (seconds, _, parts) = weigh_by_job(generated, threads)?;
        keep(&mut turns, "mapreduce", seconds);
        let corpus = generated.corpus();
        let started = Instant::now();
        let collection = Collection::build(corpus, &options.clone().analyzer(Cut::Plain))?;
        let weights = collection.weigh(&Bm25::default())?;
        keep(&mut turns, "weigh", started.elapsed().as_secs_f64());
        if turn == 0 {
            compare(&parts, &weights)?;
        }
    }
    Ok(turns)
}

fn compare(parts: &[Part], weights: &Weights) -> Result<(), Error> {
    let bits = parts.iter().flat_map(|part| &part.weights);
    let bits = bits.map(|weight| weight.to_bits());
    let expected = weights.iter().map(|posting| posting.weight.to_bits());
    let terms: usize = parts.iter().map(|part| part.ends.len()).sum();
    match bits.eq(expected) && terms == weights.lexicon.terms.len() {
        true => Ok(()),
        false => Err(Error::Verification(
            "the job's weights are not those of the dedicated engine".into(),
        )),
    }
}

fn counting(generated: &Generated, repeat: u32, threads: usize) -> Result<Vec<Turn>, Error> {
    type Counter = fn(&[u8], usize) -> Counts;
    let others: [(&str, Counter); 3] = [
        ("std maps, shared, behind locks", counters::shared_maps),
        ("std maps, one a thread, then locks", counters::own_maps),
        ("special-purpose", counters::special),
    ];
    let mut turns = Vec::new();
    for _ in 0..repeat {
        let input = documents(generated, threads);
        let started = Instant::now();
        let own = |(term, count): (&str, u64)| (term.as_bytes().to_vec(), count);
        let (counts, _) = runner(threads).collect(&mut WordCount, input, own)?;
        keep(&mut turns, "mapreduce", started.elapsed().as_secs_f64());
        for (name, counter) in others {
            let started = Instant::now();
            let others = counter(&generated.text, threads);
            keep(&mut turns, name, started.elapsed().as_secs_f64());
            if others != counts {
                return Err(Error::Verification(format!("{name} counts otherwise")));
            }
        }
    }
    Ok(turns)
}

/// The time that the combiner saves, with partitions by hash.
fn combining(generated: &Generated, threads: usize) -> Result<[Report; 2], Error> {
    let run = |combine| {
        let runner = Threads {
            combine,
            partitions: Partitions::Hashed(PARTITIONS),
            ..runner(threads)
        };
        let input = documents(generated, threads);
        let (_, report) = runner.collect(&mut WordCount, input, |_| ())?;
        Ok::<_, Error>(report)
    };
    Ok([run(true)?, run(false)?])
}
