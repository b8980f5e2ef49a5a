//! The same loads through the engine of the server: searches are submitted as its requests submit them, and become
//! answers with ids.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tokapi::{Error, Query};
use tokapi_device::cooperate::{Accelerator, Policy, Router};
use tokapi_device::gpu::GpuIndexes;
use tokapi_serve::limits::Limits;
use tokapi_serve::problem::{Kind, Problem};
use tokapi_serve::search::{Deadline, Engine, EngineOptions, Planned, Shown};
use tokapi_serve::served::Snapshot;
use tokio::runtime::Runtime;

use super::ramp::{AtLoad, Entrance, Told, Work};
use super::{Bench, Report};
use tokapi_cli::table::Table;

/// Lanes of the engine, as of the server.
const LANES: usize = 8;

/// The pure modes first.
const POLICIES: [(Policy, &str); 3] = [
    (Policy::Cpu, "CPU"),
    (Policy::Synchronous, "GPU"),
    (Policy::Cooperative, "both"),
];

/// An engine, and the runtime whose threads submit to it.
struct ByEngine {
    engine: Arc<Engine>,
    queries: Arc<Vec<Planned>>,
    limits: Limits,
    runtime: Runtime,
}

impl Entrance for ByEngine {
    fn submit(&self, query: usize, told: Told) {
        let mut planned = self.queries[query % self.queries.len()].clone();
        let engine = Arc::clone(&self.engine);
        // As a request has it that has just arrived.
        if let Ok(deadline) = Deadline::after(&self.limits, Instant::now(), None) {
            planned.deadline = deadline;
        }
        self.runtime.spawn(async move {
            match engine.run(planned).await {
                Err(problem) if problem.kind() == Kind::Overloaded => told.refuse(),
                Err(problem) if problem.kind() == Kind::Timeout => told.refuse(),
                answer => told.tell(answer.is_ok()),
            }
        });
    }

    fn work(&self) -> Work {
        let load = self.engine.load();
        Work {
            by_cpu: load.by_cpu,
            by_gpu: load.by_gpu,
            batches: load.batches,
            switches: load.switches,
        }
    }
}

impl Bench<'_> {
    /// The loads of an engine, and how the 99th percentile of both processors compares with the better of each.
    pub fn served(
        &self,
        queries: Vec<Query>,
        router: Option<Router>,
        report: &mut Report,
    ) -> Result<Vec<AtLoad>, Error> {
        let limits = Limits::default();
        let snapshot = Arc::new(Snapshot::new("index", Arc::clone(&self.index)));
        let plan = |query| -> Result<Planned, Problem> {
            let deadline = Deadline::after(&limits, Instant::now(), None)?;
            let (snapshot, options) = (Arc::clone(&snapshot), self.search.clone());
            Planned::new(
                &limits,
                snapshot,
                query,
                options,
                Shown::default(),
                deadline,
            )
        };
        let queries: Result<Vec<Planned>, Problem> = queries.into_iter().map(plan).collect();
        let queries = queries.map_err(|problem| Error::Usage(problem.detail.clone()))?;
        let queries = Arc::new(queries);
        let runtime_threads = self.threads.div_ceil(4);
        let open = |policy: Policy| -> Result<Box<dyn Entrance>, Error> {
            let indexes = GpuIndexes::of(Arc::clone(&self.on_device));
            let accelerator: Arc<dyn Accelerator> = Arc::new(Arc::new(indexes));
            let options = EngineOptions {
                scheduler: self.scheduler_options(policy, LANES).threads(self.threads),
                // The modes are compared by all queries, not by those that wait shortly.
                longest_wait: Duration::ZERO,
                cache_bytes: 0,
            };
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(runtime_threads)
                .enable_all()
                .build()
                .map_err(|error| Error::Limit(format!("cannot start threads: {error}")))?;
            Ok(Box::new(ByEngine {
                engine: Arc::new(Engine::new(&options, Some(accelerator), router)?),
                queries: Arc::clone(&queries),
                limits: limits.clone(),
                runtime,
            }))
        };
        let title = format!(
            "through the engine of the server; {} threads, {LANES} lanes, {runtime_threads} threads that submit",
            self.threads
        );
        let all = self.loads("served", &title, &POLICIES, &open, report)?;
        self.compare_modes(&all, report);
        Ok(all)
    }

    fn compare_modes(&self, all: &[AtLoad], report: &mut Report) {
        let mut table = Table::new(&[
            "offered q/s",
            "better pure mode",
            "p99 ms",
            "both, p99 ms",
            "times",
        ]);
        let mut largest: f64 = 0.0;
        for both in all.iter().filter(|at| at.policy == "both") {
            let of_load = all.iter().filter(|at| at.offered == both.offered);
            let pure = of_load.filter(|at| at.policy != "both");
            // One that refuses queries is not better.
            let order = |a: &&AtLoad, b: &&AtLoad| {
                let by_refused = a.refused.cmp(&b.refused);
                by_refused.then(a.times[3].total_cmp(&b.times[3]))
            };
            let Some(better) = pure.min_by(order) else {
                continue;
            };
            let times = both.times[3] / better.times[3];
            largest = largest.max(times);
            table.push(vec![
                format!("{:.0}", both.offered),
                better.policy.into(),
                format!("{:.2}", better.times[3]),
                format!("{:.2}", both.times[3]),
                format!("{times:.2}"),
            ]);
        }
        let title = format!(
            "99% of the queries: both processors, and the better of each; at most {largest:.2} times"
        );
        report.add("modes", &title, &table.text(), json!(largest));
    }
}
