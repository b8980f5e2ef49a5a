//! Laws of the scheduler: every query that is taken is answered once and as the index answers it, whoever does and
//! whatever breaks; more than may wait are refused.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use crate::random::{Random, Shape, query, text};
use tokapi::Analyzer;
use tokapi::Format;
use tokapi::{Bm25, Hit, Query, SearchOptions};
use tokapi::{BuildOptions, Collection, Corpus, CorpusOptions, Index, Result};
use tokapi_device::cooperate::{
    Accelerator, BatchLane, Complexity, Metric, Outcome, Policy, Processor, Refused, Regression,
    Router, Rule, Scheduler, SchedulerOptions, Search,
};
use tokapi_device::gpu::{GpuIndex, GpuIndexOptions, GpuIndexes};
use tokapi_kernels::Build;

const SHAPE: Shape = Shape {
    documents: 2000,
    terms: 40,
    length: 12,
    seed: 9,
};

fn index() -> (tempfile::TempDir, Arc<Index>) {
    let options = CorpusOptions::default().format(Some(Format::Tsv));
    let corpus = Corpus::from_bytes("docs.tsv", text(&SHAPE), options);
    let analyzer = Analyzer::default();
    let collection =
        Collection::build(corpus, &BuildOptions::default().analyzer(&analyzer)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    Index::build(collection, &path).unwrap();
    let index = Arc::new(Index::open(&path).unwrap());
    (folder, index)
}

/// Queries of much work go to the GPU.
fn router() -> Router {
    let rule = Rule {
        metric: Metric::Los,
        line: Regression {
            coefficient: 1.0,
            intercept: -300.0,
            r_square: 1.0,
            p_value: 0.0,
        },
    };
    Router {
        must: rule,
        any: rule,
    }
}

/// Submits queries from several threads, and checks that each is answered once, as the index does. Gives how many
/// the GPU answered.
fn all_answered(
    scheduler: &Scheduler,
    index: &Arc<Index>,
    count: usize,
    has_others: bool,
) -> usize {
    let mut random = Random(11);
    let mut expected: Vec<Vec<Hit>> = Vec::new();
    let some: Vec<Arc<Search>> = (0..200)
        .map(|number| {
            let query = query(&mut random, SHAPE.terms);
            let options = SearchOptions::default().k(random.below(100));
            let all = index.search(&query, &options).unwrap();
            // Most by the formula of the scheduler, and some of the next page.
            let options = match number % 5 {
                _ if !has_others => options,
                0 => options.bm25(Bm25::default().k1(0.5)),
                1 => options.after(all.last().map(Hit::rank)),
                _ => options,
            };
            expected.push(index.search(&query, &options).unwrap());
            Arc::new(Search {
                index: Arc::clone(index),
                query,
                options,
            })
        })
        .collect();
    let (told, answers) = mpsc::channel();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (told, some) = (told.clone(), &some);
            scope.spawn(move || {
                for number in (0..count).filter(|number| number % 4 == thread) {
                    let search = &some[number % some.len()];
                    loop {
                        let told = told.clone();
                        let reply = move |outcome| told.send((number, outcome)).unwrap();
                        match scheduler.submit(Arc::clone(search), None, reply) {
                            Ok(()) => break,
                            Err(refused) => assert!(matches!(refused, Refused::Full(_))),
                        }
                        std::thread::yield_now();
                    }
                }
            });
        }
    });
    drop(told);
    let mut times = vec![0; count];
    let mut by_gpu = 0;
    for (number, outcome) in answers {
        let Outcome::Answered(hits, processor) = outcome else {
            panic!("{outcome:?}");
        };
        assert_eq!(hits, expected[number % expected.len()]);
        times[number] += 1;
        by_gpu += usize::from(matches!(processor, Processor::Gpu(_)));
    }
    assert!(times.iter().all(|&times| times == 1));
    by_gpu
}

const POLICIES: [Policy; 4] = [
    Policy::Cooperative,
    Policy::Asynchronous,
    Policy::Synchronous,
    Policy::Cpu,
];

#[test]
fn every_query_is_answered_once() {
    let (_folder, index) = index();
    let options = GpuIndexOptions::new(Build::Host);
    let on_device = Arc::new(GpuIndex::new(Arc::clone(&index), &options, &[]).unwrap());
    for policy in POLICIES {
        let options = SchedulerOptions::default()
            .threads(2)
            .policy(policy)
            .queue(500);
        let accelerator: Arc<dyn Accelerator> =
            Arc::new(Arc::new(GpuIndexes::of(Arc::clone(&on_device))));
        let scheduler = Scheduler::new(Some(accelerator), Some(router()), &options).unwrap();
        let by_gpu = all_answered(&scheduler, &index, 4000, false);
        let report = scheduler.report();
        assert_eq!(report.by_gpu as usize, by_gpu);
        assert_eq!(report.by_cpu as usize, 4000 - by_gpu);
        let in_batches: usize = report.batches.iter().map(|batch| batch.queries).sum();
        assert!(in_batches >= by_gpu);
        assert_eq!(report.lost, None);
        match policy {
            Policy::Cpu => assert_eq!(by_gpu, 0),
            Policy::Synchronous => assert_eq!(by_gpu, 4000),
            _ => assert!(by_gpu > 0),
        }
    }
}

#[test]
fn the_cpu_takes_over_from_a_lost_device() {
    let (_folder, index) = index();
    let options = GpuIndexOptions {
        fail_after: Some(3),
        ..GpuIndexOptions::new(Build::Host)
    };
    let on_device = Arc::new(GpuIndex::new(Arc::clone(&index), &options, &[]).unwrap());
    for policy in &POLICIES[..3] {
        let options = SchedulerOptions::default()
            .threads(2)
            .policy(*policy)
            .response(Duration::from_micros(200));
        let accelerator: Arc<dyn Accelerator> =
            Arc::new(Arc::new(GpuIndexes::of(Arc::clone(&on_device))));
        let scheduler = Scheduler::new(Some(accelerator), Some(router()), &options).unwrap();
        all_answered(&scheduler, &index, 4000, true);
        assert!(
            scheduler.report().lost.unwrap().contains("lost"),
            "{policy:?}"
        );
        assert!(!scheduler.is_synchronous() || *policy == Policy::Synchronous);
    }
}

/// Answers nothing before it is let.
struct Gate {
    open: Mutex<bool>,
    opened: Condvar,
    waiting: AtomicUsize,
}

struct Gated {
    gate: Arc<Gate>,
}

struct GatedLane {
    gate: Arc<Gate>,
}

impl Accelerator for Gated {
    fn answers(&self, _: &SearchOptions) -> bool {
        true
    }

    fn complexity(&self, _: &Search) -> Option<Complexity> {
        Some(Complexity::of(&mut [1000], &mut []))
    }

    fn lane(&self) -> Result<Box<dyn BatchLane>> {
        Ok(Box::new(GatedLane {
            gate: Arc::clone(&self.gate),
        }))
    }
}

impl BatchLane for GatedLane {
    fn answer(&mut self, searches: &[&Search]) -> Result<Vec<Option<Vec<Hit>>>> {
        self.gate.waiting.fetch_add(1, Ordering::SeqCst);
        let mut open = self.gate.open.lock().unwrap();
        while !*open {
            open = self.gate.opened.wait(open).unwrap();
        }
        let answer = |search: &&Search| search.index.search(&search.query, &search.options);
        searches
            .iter()
            .map(|search| answer(search).map(Some))
            .collect()
    }
}

/// A scheduler whose only lane has a batch of one query, and waits.
fn gated(index: &Arc<Index>, queue: usize) -> (Scheduler, Arc<Gate>, Receiver<Outcome>) {
    let gate = Arc::new(Gate {
        open: Mutex::new(false),
        opened: Condvar::new(),
        waiting: AtomicUsize::new(0),
    });
    let accelerator = Gated {
        gate: Arc::clone(&gate),
    };
    let options = SchedulerOptions::default()
        .threads(1)
        .lanes(1)
        .policy(Policy::Synchronous)
        .queue(queue);
    let scheduler = Scheduler::new(Some(Arc::new(accelerator)), None, &options).unwrap();
    let answers = submit(&scheduler, index, None).unwrap();
    while gate.waiting.load(Ordering::SeqCst) == 0 {
        std::thread::yield_now();
    }
    (scheduler, gate, answers)
}

fn submit(
    scheduler: &Scheduler,
    index: &Arc<Index>,
    deadline: Option<Instant>,
) -> std::result::Result<Receiver<Outcome>, Refused> {
    let (told, answers) = mpsc::channel();
    let reply = move |outcome| told.send(outcome).unwrap();
    let search = Search {
        index: Arc::clone(index),
        query: Query::any(["t1"]),
        options: SearchOptions::default(),
    };
    scheduler.submit(Arc::new(search), deadline, reply)?;
    Ok(answers)
}

fn open(gate: &Gate) {
    *gate.open.lock().unwrap() = true;
    gate.opened.notify_all();
}

#[test]
fn more_than_may_wait_are_refused() {
    let (_folder, index) = index();
    let (scheduler, gate, first) = gated(&index, 3);
    let waiting: Vec<_> = (0..3)
        .map(|_| submit(&scheduler, &index, None).unwrap())
        .collect();
    assert_eq!(
        submit(&scheduler, &index, None).unwrap_err(),
        Refused::Full(3)
    );
    open(&gate);
    for answer in waiting.iter().chain([&first]) {
        assert!(matches!(answer.recv().unwrap(), Outcome::Answered(..)));
    }
    assert!(submit(&scheduler, &index, None).is_ok());
}

#[test]
fn what_is_late_is_told_and_not_done() {
    let (_folder, index) = index();
    let (scheduler, gate, first) = gated(&index, 10);
    let late = submit(
        &scheduler,
        &index,
        Some(Instant::now() + Duration::from_millis(1)),
    )
    .unwrap();
    let in_time = submit(
        &scheduler,
        &index,
        Some(Instant::now() + Duration::from_secs(600)),
    )
    .unwrap();
    std::thread::sleep(Duration::from_millis(5));
    open(&gate);
    assert!(matches!(first.recv().unwrap(), Outcome::Answered(..)));
    assert!(matches!(late.recv().unwrap(), Outcome::Late));
    assert!(matches!(in_time.recv().unwrap(), Outcome::Answered(..)));
    drop(scheduler);
}

#[test]
fn what_waits_is_answered_before_the_end() {
    let (_folder, index) = index();
    let (scheduler, gate, first) = gated(&index, 10);
    let second = submit(&scheduler, &index, None).unwrap();
    let ending = std::thread::spawn(move || drop(scheduler));
    open(&gate);
    ending.join().unwrap();
    for answer in [first, second] {
        assert!(matches!(answer.recv().unwrap(), Outcome::Answered(..)));
    }
}

#[test]
fn batches_begin_when_queries_wait_and_end_when_few_come() {
    let (_folder, index) = index();
    let gate = Arc::new(Gate {
        open: Mutex::new(true),
        opened: Condvar::new(),
        waiting: AtomicUsize::new(0),
    });
    let accelerator = Gated { gate };
    let options = SchedulerOptions::default().threads(1).lanes(1);
    let scheduler = Scheduler::new(Some(Arc::new(accelerator)), None, &options).unwrap();
    let slow = |scheduler: &Scheduler| {
        for _ in 0..5 {
            submit(scheduler, &index, None).unwrap().recv().unwrap();
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    slow(&scheduler);
    assert!(!scheduler.is_synchronous());
    let mut answers = Vec::new();
    let started = Instant::now();
    while !scheduler.is_synchronous() {
        answers.extend((0..100).map(|_| submit(&scheduler, &index, None).unwrap()));
        assert!(started.elapsed() < Duration::from_secs(60));
    }
    answers
        .iter()
        .for_each(|answer| drop(answer.recv().unwrap()));
    let started = Instant::now();
    while scheduler.is_synchronous() {
        slow(&scheduler);
        assert!(started.elapsed() < Duration::from_secs(60));
    }
    assert!(scheduler.report().switches >= 2);
}

#[test]
fn batches_have_a_query_however_short_they_are_to_be() {
    let (_folder, index) = index();
    let options = GpuIndexOptions::new(Build::Host);
    let on_device = Arc::new(GpuIndex::new(Arc::clone(&index), &options, &[]).unwrap());
    for k in [10, 100_000] {
        let options = SchedulerOptions::default()
            .threads(1)
            .policy(Policy::Synchronous)
            .response(Duration::ZERO);
        let accelerator: Arc<dyn Accelerator> =
            Arc::new(Arc::new(GpuIndexes::of(Arc::clone(&on_device))));
        let scheduler = Scheduler::new(Some(accelerator), None, &options).unwrap();
        let search = Arc::new(Search {
            index: Arc::clone(&index),
            query: Query::any(["t1"]),
            options: SearchOptions::default().k(k),
        });
        let (told, answers) = mpsc::channel();
        for _ in 0..20 {
            let told = told.clone();
            let reply = move |outcome| told.send(outcome).unwrap();
            scheduler.submit(Arc::clone(&search), None, reply).unwrap();
        }
        drop(told);
        for outcome in answers {
            assert!(matches!(outcome, Outcome::Answered(..)));
        }
        // What no lane could answer does not go there.
        assert_eq!(scheduler.report().by_gpu, if k == 10 { 20 } else { 0 });
    }
}
