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
    refused: usize,
    switches: u64,
}

/// The outcomes of a load's queries, counted by many threads.
struct Tally {
    /// Nanoseconds, 0 for queries without an answer.
    times: Vec<AtomicU64>,
    told: AtomicUsize,
    failed: AtomicUsize,
}

const POLICIES: [(Policy, &str); 4] = [
    (Policy::Cpu, "CPU"),
    (Policy::Asynchronous, "asynchronous"),
    (Policy::Synchronous, "synchronous"),
    (Policy::Cooperative, "cooperative"),
];

impl Bench<'_> {
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
        let mut policies = POLICIES.to_vec();
        while offered <= self.args.last_load {
            let mut turns: Vec<Vec<AtLoad>> = policies.iter().map(|_| Vec::new()).collect();
            for _ in 0..self.args.repeat.max(1) {
                for (&(policy, name), turns) in policies.iter().zip(&mut turns) {
                    turns.push(self.at_load(&queries, router, policy, name, offered)?);
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
            "AND and OR in turn, top {}, at random moments; {} threads, {} lanes; from the moment a query is due to its answer; of {} turns that in the middle by p99",
            self.args.k, self.threads, LANES, self.args.repeat
        );
        report.add(
            "load",
            &title,
            &table.text(),
            json.collect::<Vec<_>>().into(),
        );
        Ok(all)
    }

    fn at_load(
        &self,
        queries: &[Arc<Search>],
        router: Option<Router>,
        policy: Policy,
        name: &'static str,
        offered: f64,
    ) -> Result<AtLoad, Error> {
        let options = SchedulerOptions::default()
            .threads(self.threads.saturating_sub(SOURCES + LANES).max(1))
            .lanes(LANES)
            .policy(policy)
            .queue(QUEUE);
        let indexes = GpuIndexes::of(Arc::clone(&self.on_device));
        let accelerator: Arc<dyn Accelerator> = Arc::new(Arc::new(indexes));
        let scheduler = Scheduler::new(Some(accelerator), router, &options)?;
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
        let refused = AtomicUsize::new(0);
        let started = Instant::now();
        std::thread::scope(|scope| {
            for (source, tallies) in tallies.iter().enumerate() {
                let (scheduler, refused) = (&scheduler, &refused);
                scope.spawn(move || {
                    let seed = self.args.seed.wrapping_add(source as u64);
                    let mut arrivals = Arrivals::new(started, offered / SOURCES as f64, seed);
                    for number in 0..of_source {
                        let due = arrivals.next();
                        wait_until(due);
                        let query = &queries[(number * SOURCES + source) % queries.len()];
                        let to = Arc::clone(&tallies[number / TALLIED]);
                        let reply =
                            move |outcome: Outcome| to.tell(number % TALLIED, due, &outcome);
                        if scheduler.submit(Arc::clone(query), None, reply).is_err() {
                            refused.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        let refused = refused.into_inner();
        let told = || -> usize { all().map(|tally| tally.told.load(Ordering::Acquire)).sum() };
        while told() + refused < count {
            std::thread::sleep(Duration::from_micros(100));
        }
        let seconds = started.elapsed().as_secs_f64();
        let report = scheduler.report();
        drop(scheduler);
        let mut times: Vec<f64> = all()
            .flat_map(|tally| &tally.times)
            .map(|time| time.load(Ordering::Relaxed) as f64 / 1e6)
            .filter(|&time| time > 0.0)
            .collect();
        times.sort_by(f64::total_cmp);
        let (answered, told) = (times.len(), told());
        let failed: usize = all()
            .map(|tally| tally.failed.load(Ordering::Relaxed))
            .sum();
        if failed > 0 || told + refused != count || answered != told {
            return Err(Error::Device(format!(
                "of {count} queries {told} were told of and {refused} refused, {failed} failed"
            )));
        }
        let quantile = |share: f64| {
            times
                .get((share * answered as f64) as usize)
                .or(times.last())
        };
        let quantile = |share: f64| quantile(share).copied().unwrap_or(0.0);
        let mean = times.iter().sum::<f64>() / answered.max(1) as f64;
        let by = (report.by_cpu + report.by_gpu).max(1) as f64;
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
            share_gpu: report.by_gpu as f64 / by,
            mean_batch: report.by_gpu as f64 / report.batches.len().max(1) as f64,
            refused,
            switches: report.switches,
        })
    }
}

impl Tally {
    fn new(count: usize) -> Self {
        Tally {
            times: (0..count).map(|_| AtomicU64::new(0)).collect(),
            told: AtomicUsize::new(0),
            failed: AtomicUsize::new(0),
        }
    }

    fn tell(&self, number: usize, due: Instant, outcome: &Outcome) {
        match outcome {
            Outcome::Answered(..) => {
                // A time is far below 2^64 ns.
                let time = due.elapsed().as_nanos().max(1) as u64;
                self.times[number].fetch_add(time, Ordering::Relaxed);
            }
            _ => {
                self.failed.fetch_add(1, Ordering::Relaxed);
            }
        }
        self.told.fetch_add(1, Ordering::Release);
    }
}
