//! Batches of queries: throughput of each scheme, and of the CPU.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use tokapi::gpu::{Build, GpuIndex, GpuIndexOptions, GpuLane, Scheme};
use tokapi::query::{Query, SearchOptions};
use tokapi::{Error, Index};

use super::Args;

#[derive(Clone, Copy, Debug)]
enum Task {
    Documents(Scheme),
    AndTop,
    OrTop,
}

pub fn run(
    args: &Args,
    index: &Arc<Index>,
    queries: &[Vec<String>],
    threads: usize,
) -> Result<(), Error> {
    let started = Instant::now();
    let options = GpuIndexOptions {
        device: args.device,
        ..GpuIndexOptions::new(Build::Cuda)
    };
    let on_device = Arc::new(GpuIndex::new(Arc::clone(index), &options, &[])?);
    println!(
        "{:?} in {:.1} s",
        on_device.fit(),
        started.elapsed().as_secs_f64()
    );
    let and: Vec<Query> = queries
        .iter()
        .map(|terms| Query::all(terms.clone()))
        .collect();
    let or: Vec<Query> = queries
        .iter()
        .map(|terms| Query::any(terms.clone()))
        .collect();
    let search = SearchOptions::default();
    for task in [
        Task::Documents(Scheme::Para),
        Task::Documents(Scheme::Part),
        Task::AndTop,
        Task::OrTop,
    ] {
        let queries = if matches!(task, Task::OrTop) {
            &or
        } else {
            &and
        };
        // The CPU, some of the queries.
        let some = &queries[..queries.len().min(20000)];
        let next = AtomicUsize::new(0);
        let started = Instant::now();
        let work = || -> Result<(), Error> {
            while let Some(query) = some.get(next.fetch_add(1, Ordering::Relaxed)) {
                if started.elapsed().as_secs_f64() > 4.0 {
                    break;
                }
                match task {
                    Task::Documents(_) => drop(index.count(query)?),
                    _ => drop(index.search(query, &search)?),
                }
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| work().unwrap());
            }
        });
        let done = next.load(Ordering::Relaxed).min(some.len());
        let cpu = done as f64 / started.elapsed().as_secs_f64();
        // Checks.
        let mut lane = GpuLane::new(Arc::clone(&on_device))?;
        let few: Vec<&Query> = queries.iter().take(300).collect();
        let mut matched = 0;
        match task {
            Task::Documents(scheme) => lane.documents(&few, scheme, |number, documents| {
                let count = documents.unwrap().len() as u64;
                matched += count;
                assert_eq!(count, index.count(few[number]).unwrap());
            })?,
            _ => {
                for (query, hits) in few.iter().zip(lane.search(&few, &search)?) {
                    let hits = hits.unwrap();
                    matched += hits.len() as u64;
                    assert_eq!(hits, index.search(query, &search)?);
                }
            }
        }
        for &batch in &args.batch {
            for lanes in [1, args.lanes] {
                let mut best = f64::INFINITY;
                let mut worst_batch = 0.0f64;
                for _ in 0..args.repeat {
                    let next = AtomicUsize::new(0);
                    let mut all: Vec<GpuLane> = (0..lanes)
                        .map(|_| GpuLane::new(Arc::clone(&on_device)))
                        .collect::<Result<_, _>>()?;
                    let batches: Vec<Vec<&Query>> = queries
                        .chunks(batch)
                        .map(|batch| batch.iter().collect())
                        .collect();
                    // Memory of lanes grows with the first.
                    for lane in &mut all {
                        answer(lane, &batches[0], task, &search)?;
                    }
                    let started = Instant::now();
                    let times = std::sync::Mutex::new(Vec::new());
                    std::thread::scope(|scope| {
                        for lane in &mut all {
                            scope.spawn(|| {
                                while let Some(batch) =
                                    batches.get(next.fetch_add(1, Ordering::Relaxed))
                                {
                                    let started = Instant::now();
                                    answer(lane, batch, task, &search).unwrap();
                                    times.lock().unwrap().push(started.elapsed().as_secs_f64());
                                }
                            });
                        }
                    });
                    best = best.min(started.elapsed().as_secs_f64());
                    let times = times.into_inner().unwrap();
                    worst_batch = times.iter().copied().fold(0.0, f64::max);
                }
                let gpu = queries.len() as f64 / best;
                println!(
                    "{task:?} batch {batch} lanes {lanes}: gpu {gpu:.0} q/s, cpu {cpu:.0} q/s, {:.1} times; slowest batch {:.2} ms; {:.1} matches each",
                    gpu / cpu,
                    worst_batch * 1e3,
                    matched as f64 / few.len() as f64
                );
            }
        }
    }
    Ok(())
}

fn answer(
    lane: &mut GpuLane,
    batch: &[&Query],
    task: Task,
    search: &SearchOptions,
) -> Result<(), Error> {
    match task {
        Task::Documents(scheme) => lane.documents(batch, scheme, |_, documents| {
            std::hint::black_box(documents);
        }),
        _ => lane.search(batch, search).map(drop),
    }
}
