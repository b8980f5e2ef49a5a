//! The response times of queries that arrive at random, at rising rates.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use tokapi::Error;
use tokapi::Query;
use tokapi_device::cooperate::{
    Accelerator, Outcome, Policy, Router, Scheduler, SchedulerOptions, Search,
};
use tokapi_device::gpu::GpuIndexes;

use super::{Bench, Report};
use crate::arrivals::{Arrivals, wait_until};
use tokapi_cli::table::Table;

/// Maximum number of waiting queries.
const QUEUE: usize = 1 << 17;

/// A policy that answers less than this fraction of the offered queries is not tested at higher
/// rates.
const BEYOND: f64 = 3.0;

/// Number of threads that submit queries.
const SOURCES: usize = 4;

/// Lanes of the scheduler.
const LANES: usize = 4;

/// Number of queries of a source that share a tally, so that few threads write to one at the same
/// time.
const TALLIED: usize = 4096;

/// The results of a policy at a load.
pub struct AtLoad {
    pub policy: &'static str,
    pub offered: f64,
    pub answered: f64,
    /// Milliseconds: the mean, and the quantiles 50%, 95%, 99% and 99.9%.
    pub times: [f64; 5],
    share_gpu: f64,
    mean_batch: f64,
    pub refused: usize,
    switches: u64,
}

/// The outcomes of a load's queries, counted by many threads.
struct Tally {
    /// Nanoseconds, 0 for queries without an answer.
    times: Vec<AtomicU64>,
    told: AtomicUsize,
    failed: AtomicUsize,
    refused: AtomicUsize,
}

const POLICIES: [(Policy, &str); 4] = [
    (Policy::Cpu, "CPU"),
    (Policy::Asynchronous, "asynchronous"),
    (Policy::Synchronous, "synchronous"),
    (Policy::Cooperative, "cooperative"),
];

/// The place where queries enter.
pub trait Entrance: Sync {
    /// Submits the query of a number. Its outcome is told exactly once.
    fn submit(&self, query: usize, told: Told);

    /// The work so far.
    fn work(&self) -> Work;
}

/// The work behind an entrance.
pub struct Work {
    pub by_cpu: u64,
    pub by_gpu: u64,
    pub batches: u64,
    pub switches: u64,
}

/// Where the outcome of a query is told.
#[derive(Clone)]
pub struct Told {
    tally: Arc<Tally>,
    number: usize,
    due: Instant,
}

/// Makes an entrance by a policy.
pub type Open<'a> = &'a dyn Fn(Policy) -> Result<Box<dyn Entrance>, Error>;

/// A scheduler, and the queries that are submitted to it.
struct ByScheduler {
    scheduler: Scheduler,
    queries: Arc<Vec<Arc<Search>>>,
}

impl Entrance for ByScheduler {
    fn submit(&self, query: usize, told: Told) {
        let query = Arc::clone(&self.queries[query % self.queries.len()]);
        let refused = told.clone();
        let reply = move |outcome: Outcome| told.tell(matches!(outcome, Outcome::Answered(..)));
        if self.scheduler.submit(query, None, reply).is_err() {
            refused.refuse();
        }
    }

    fn work(&self) -> Work {
        let report = self.scheduler.report();
        Work {
            by_cpu: report.by_cpu,
            by_gpu: report.by_gpu,
            batches: report.batches.len() as u64,
            switches: report.switches,
        }
    }
}

impl Bench<'_> {
    /// The loads of a scheduler.
    pub fn ramp(
        &self,
        queries: Vec<Query>,
        router: Option<Router>,
        report: &mut Report,
    ) -> Result<Vec<AtLoad>, Error> {
        let search = |query| Search {
            index: Arc::clone(&self.index),
            query,
            options: self.search.clone(),
        };
        let queries: Vec<Arc<Search>> = queries.into_iter().map(search).map(Arc::new).collect();
        let queries = Arc::new(queries);
        let open = |policy: Policy| -> Result<Box<dyn Entrance>, Error> {
            let indexes = GpuIndexes::of(Arc::clone(&self.on_device));
            let accelerator: Arc<dyn Accelerator> = Arc::new(Arc::new(indexes));
            let options = self.scheduler_options(policy, LANES);
            Ok(Box::new(ByScheduler {
                scheduler: Scheduler::new(Some(accelerator), router, &options)?,
                queries: Arc::clone(&queries),
            }))
        };
        let title = format!("{} threads, {LANES} lanes", self.threads);
        self.loads("load", &title, &POLICIES, &open, report)
    }

    /// The options of a scheduler beside the sources of queries.
    pub fn scheduler_options(&self, policy: Policy, lanes: usize) -> SchedulerOptions {
        SchedulerOptions::default()
            .threads(self.threads.saturating_sub(SOURCES + lanes).max(1))
            .lanes(lanes)
            .policy(policy)
            .queue(QUEUE)
    }

    /// Rising loads at an entrance, by each of some policies.
    pub fn loads(
        &self,
        name: &str,
        title: &str,
        policies: &[(Policy, &'static str)],
        open: Open<'_>,
        report: &mut Report,
    ) -> Result<Vec<AtLoad>, Error> {
        let mut table = Table::new(&[
            "offered q/s",
            "policy",
            "answered q/s",
            "mean ms",
            "p50",
            "p95",
            "p99",
            "p99.9",
            "on GPU",
            "batch",
            "refused",
            "switches",
        ]);
        let mut all: Vec<AtLoad> = Vec::new();
        let mut offered = self.args.first_load;
        let mut policies = policies.to_vec();
        while offered <= self.args.last_load {
            let mut turns: Vec<Vec<AtLoad>> = policies.iter().map(|_| Vec::new()).collect();
            for _ in 0..self.args.repeat.max(1) {
                for (&(policy, name), turns) in policies.iter().zip(&mut turns) {
                    turns.push(self.at_load(&*open(policy)?, name, offered)?);
                }
            }
            for mut turns in turns {
                turns.sort_by(|a, b| a.times[3].total_cmp(&b.times[3]));
                let at = turns.swap_remove(turns.len() / 2);
                if at.answered < offered / BEYOND {
                    policies.retain(|&(_, name)| name != at.policy);
                }
                let mut row = vec![
                    format!("{offered:.0}"),
                    at.policy.into(),
                    format!("{:.0}", at.answered),
                ];
                row.extend(at.times.iter().map(|time| format!("{time:.2}")));
                row.extend([
                    format!("{:.0}%", at.share_gpu * 100.0),
                    format!("{:.0}", at.mean_batch),
                    at.refused.to_string(),
                    at.switches.to_string(),
                ]);
                table.push(row);
                all.push(at);
            }
            offered *= 2.0;
        }
        let json = all.iter().map(|at| {
            json!({
                "policy": at.policy, "offered": at.offered, "answered": at.answered, "mean_ms": at.times[0],
                "p50_ms": at.times[1], "p95_ms": at.times[2], "p99_ms": at.times[3], "p999_ms": at.times[4],
                "share_gpu": at.share_gpu, "mean_batch": at.mean_batch, "refused": at.refused,
                "switches": at.switches,
            })
        });
        let title = format!(
            "AND and OR in turn, top {}, at random moments; {title}; from the moment a query is due to its answer; of {} turns that in the middle by p99",
            self.args.k, self.args.repeat
        );
        report.add(name, &title, &table.text(), json.collect::<Vec<_>>().into());
        Ok(all)
    }

    fn at_load(
        &self,
        entrance: &dyn Entrance,
        name: &'static str,
        offered: f64,
    ) -> Result<AtLoad, Error> {
        let of_source = (offered * self.args.seconds / SOURCES as f64) as usize;
        let count = of_source * SOURCES;
        let tallies: Vec<Vec<Arc<Tally>>> = (0..SOURCES)
            .map(|_| {
                let sizes = (0..of_source).step_by(TALLIED);
                let sizes = sizes.map(|from| TALLIED.min(of_source - from));
                sizes.map(|size| Arc::new(Tally::new(size))).collect()
            })
            .collect();
        let all = || tallies.iter().flatten();
        let started = Instant::now();
        std::thread::scope(|scope| {
            for (source, tallies) in tallies.iter().enumerate() {
                scope.spawn(move || {
                    let seed = self.args.seed.wrapping_add(source as u64);
                    let mut arrivals = Arrivals::new(started, offered / SOURCES as f64, seed);
                    for number in 0..of_source {
                        let due = arrivals.next();
                        wait_until(due);
                        let told = Told {
                            tally: Arc::clone(&tallies[number / TALLIED]),
                            number: number % TALLIED,
                            due,
                        };
                        entrance.submit(number * SOURCES + source, told);
                    }
                });
            }
        });
        let sum = |of: fn(&Tally) -> &AtomicUsize| -> usize {
            all().map(|tally| of(tally).load(Ordering::Acquire)).sum()
        };
        while sum(|tally| &tally.told) < count {
            std::thread::sleep(Duration::from_micros(100));
        }
        let seconds = started.elapsed().as_secs_f64();
        let work = entrance.work();
        let mut times: Vec<f64> = all()
            .flat_map(|tally| &tally.times)
            .map(|time| time.load(Ordering::Relaxed) as f64 / 1e6)
            .filter(|&time| time > 0.0)
            .collect();
        times.sort_by(f64::total_cmp);
        let answered = times.len();
        let (failed, refused) = (sum(|tally| &tally.failed), sum(|tally| &tally.refused));
        if failed > 0 || answered + refused != count {
            return Err(Error::Device(format!(
                "of {count} queries {answered} were answered and {refused} refused, {failed} failed"
            )));
        }
        let quantile = |share: f64| {
            times
                .get((share * answered as f64) as usize)
                .or(times.last())
        };
        let quantile = |share: f64| quantile(share).copied().unwrap_or(0.0);
        let mean = times.iter().sum::<f64>() / answered.max(1) as f64;
        let by = (work.by_cpu + work.by_gpu).max(1) as f64;
        Ok(AtLoad {
            policy: name,
            offered,
            answered: answered as f64 / seconds,
            times: [
                mean,
                quantile(0.5),
                quantile(0.95),
                quantile(0.99),
                quantile(0.999),
            ],
            share_gpu: work.by_gpu as f64 / by,
            mean_batch: work.by_gpu as f64 / work.batches.max(1) as f64,
            refused,
            switches: work.switches,
        })
    }
}

impl Tally {
    fn new(count: usize) -> Self {
        Tally {
            times: (0..count).map(|_| AtomicU64::new(0)).collect(),
            told: AtomicUsize::new(0),
            failed: AtomicUsize::new(0),
            refused: AtomicUsize::new(0),
        }
    }
}

impl Told {
    /// The query was answered, or failed.
    pub fn tell(self, is_answered: bool) {
        match is_answered {
            true => {
                // A time is far below 2^64 ns.
                let time = self.due.elapsed().as_nanos().max(1) as u64;
                self.tally.times[self.number].fetch_add(time, Ordering::Relaxed);
            }
            false => {
                self.tally.failed.fetch_add(1, Ordering::Relaxed);
            }
        }
        self.tally.told.fetch_add(1, Ordering::Release);
    }

    /// The queue was full.
    pub fn refuse(self) {
        self.tally.refused.fetch_add(1, Ordering::Relaxed);
        self.tally.told.fetch_add(1, Ordering::Release);
    }
}
