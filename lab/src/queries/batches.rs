//! The throughput of batches, and of the CPU threads, in queries a second.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use tokapi::Error;
use tokapi::Query;
use tokapi_device::gpu::GpuLane;
use tokapi_kernels::Scheme;

use super::{Bench, Report};
use tokapi_cli::table::Table;

/// The results requested of every query.
#[derive(Clone, Copy, PartialEq)]
enum Task {
    /// All documents that match.
    Documents(Scheme),
    Top,
}

/// Maximum time of a measurement on the CPU.
const CPU_TIME: Duration = Duration::from_secs(4);

/// Number of queries whose answers are compared.
const COMPARED: usize = 1000;

impl Bench<'_> {
    pub fn batches(&self, report: &mut Report) -> Result<(), Error> {
        let top = format!("top {}", self.args.k);
        let tasks = [
            (
                "AND",
                "documents",
                "PARA",
                &self.and,
                Task::Documents(Scheme::Para),
            ),
            (
                "AND",
                "documents",
                "PART",
                &self.and,
                Task::Documents(Scheme::Part),
            ),
            ("AND", &top, "PARA", &self.and, Task::Top),
            ("OR", &top, "PARA", &self.or, Task::Top),
        ];
        let mut table = Table::new(&[
            "queries", "answer", "scheme", "batch", "lanes", "GPU q/s", "CPU q/s", "times",
        ]);
        let mut json = Vec::new();
        for (kind, answer, scheme, queries, task) in tasks {
            self.compare(queries, task)?;
            let cpu = self.on_cpu(queries, task)?;
            for &batch in &self.args.batch {
                for lanes in [1, self.args.lanes] {
                    let gpu = self.on_gpu(queries, task, batch, lanes)?;
                    table.push(vec![
                        kind.into(),
                        answer.into(),
                        scheme.into(),
                        batch.to_string(),
                        lanes.to_string(),
                        format!("{gpu:.0}"),
                        format!("{cpu:.0}"),
                        format!("{:.1}", gpu / cpu),
                    ]);
                    json.push(json!({
                        "queries": kind, "answer": answer, "scheme": scheme, "batch": batch, "lanes": lanes,
                        "gpu_per_second": gpu, "cpu_per_second": cpu,
                    }));
                }
            }
        }
        let title = format!(
            "queries a second, answers copied back; {} threads of the CPU; the answers to {COMPARED} of each are the same",
            self.threads
        );
        report.add("batches", &title, &table.text(), json.into());
        Ok(())
    }

    /// Checks that a batch returns the answers of the index.
    fn compare(&self, queries: &[Query], task: Task) -> Result<(), Error> {
        let few: Vec<&Query> = queries.iter().take(COMPARED).collect();
        let mut lane = GpuLane::new(&self.on_device)?;
        let mut other = None;
        match task {
            Task::Documents(scheme) => {
                let mut found = vec![None; few.len()];
                lane.documents(&self.on_device, &few, scheme, |number, documents| {
                    found[number] = documents.map(<[u32]>::to_vec);
                })?;
                for (query, found) in few.iter().zip(found) {
                    let expected = self.index.documents(query)?;
                    let is_same = |found: Vec<u32>| found.into_iter().map(u64::from).eq(expected);
                    if !found.is_none_or(is_same) {
                        other = Some(query);
                    }
                }
            }
            Task::Top => {
                for (query, found) in
                    few.iter()
                        .zip(lane.search(&self.on_device, &few, &self.search)?)
                {
                    let expected = self.index.search(query, &self.search)?;
                    if !found.is_none_or(|found| found == expected) {
                        other = Some(query);
                    }
                }
            }
        }
        match other {
            None => Ok(()),
            Some(query) => Err(Error::Device(format!(
                "the GPU answers otherwise than the index: {query:?}"
            ))),
        }
    }

    /// Queries a second of all CPU threads.
    fn on_cpu(&self, queries: &[Query], task: Task) -> Result<f64, Error> {
        let next = AtomicUsize::new(0);
        let started = Instant::now();
        let work = || -> Result<usize, Error> {
            let mut done = 0;
            while started.elapsed() < CPU_TIME
                && let Some(query) = queries.get(next.fetch_add(1, Ordering::Relaxed))
            {
                match task {
                    Task::Documents(_) => drop(self.index.documents(query)?),
                    Task::Top => drop(self.index.search(query, &self.search)?),
                }
                done += 1;
            }
            Ok(done)
        };
        let done = on_threads((0..self.threads).map(|_| work).collect())?;
        Ok(done as f64 / started.elapsed().as_secs_f64())
    }

    /// Queries a second of the GPU lanes.
    fn on_gpu(
        &self,
        queries: &[Query],
        task: Task,
        batch: usize,
        lanes: usize,
    ) -> Result<f64, Error> {
        let batches: Vec<Vec<&Query>> = queries
            .chunks(batch.max(1))
            .map(|batch| batch.iter().collect())
            .collect();
        let mut lanes: Vec<GpuLane> = (0..lanes.max(1))
            .map(|_| GpuLane::new(&self.on_device))
            .collect::<Result<_, _>>()?;
        let mut most = 0.0f64;
        // The first turn allocates their memory.
        for turn in 0..=self.args.repeat.max(1) {
            let next = AtomicUsize::new(0);
            let started = Instant::now();
            let work = lanes.iter_mut().map(|lane| {
                let (batches, next) = (&batches, &next);
                move || -> Result<usize, Error> {
                    let mut answered = 0;
                    while let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
                        match task {
                            Task::Documents(scheme) => {
                                lane.documents(&self.on_device, batch, scheme, |_, documents| {
                                    answered += usize::from(documents.is_some());
                                })?
                            }
                            Task::Top => {
                                let answers = lane.search(&self.on_device, batch, &self.search)?;
                                answered += answers.iter().flatten().count();
                            }
                        }
                    }
                    Ok(answered)
                }
            });
            let answered = on_threads(work.collect())?;
            if turn > 0 {
                // Queries without lists on the device do not count.
                most = most.max(answered as f64 / started.elapsed().as_secs_f64());
            }
        }
        Ok(most)
    }
}

/// Runs each function on its own thread, and adds up the results.
fn on_threads(work: Vec<impl FnOnce() -> Result<usize, Error> + Send>) -> Result<usize, Error> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = work.into_iter().map(|work| scope.spawn(work)).collect();
        let mut sum = 0;
        for thread in threads {
            match thread.join() {
                Ok(done) => sum += done?,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok(sum)
    })
}
