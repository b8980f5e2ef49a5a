//! The queue of waiting queries. Threads and lanes choose queries from it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::help::Help;
use super::intake::{Intake, Refused};
use super::load::{Load, Mode};
use super::options::{Policy, SchedulerOptions};
use super::pace::Pace;
use super::report::BatchTime;
use super::request::{Outcome, Request};
use super::waiting::Waiting;

/// The waiting queries, and the load.
pub(super) struct Queue {
    /// Queries for CPU threads.
    cpu: VecDeque<Request>,
    /// Queries for GPU lanes. `heavy` has the queries that the GPU answers faster, `light` those
    /// that an idle thread would answer faster. `gpu_work` is the work of both.
    heavy: VecDeque<Request>,
    light: VecDeque<Request>,
    gpu_work: f64,
    /// Number of queries that arrived.
    came: u64,
    pub load: Load,
    help: Help,
    /// Batches that no report has had yet.
    pub batches: VecDeque<BatchTime>,
    /// Answers of lanes whose callers threads tell, a few at a time.
    pub answered: VecDeque<Vec<(Request, Outcome)>>,
    /// Number of lanes, number of lanes with a batch, and number of losses so far: all lanes are lost together.
    pub lanes: usize,
    pub working: usize,
    pub losses: u64,
    pub lost: Option<String>,
    pub closed: bool,
    /// The measured work a second of a lane.
    pub speed: f64,
}

/// The queue, and the threads and lanes that wait for queries.
pub(super) struct Shared {
    pub intake: Intake,
    queue: Mutex<Queue>,
    pub for_cpu: Waiting,
    pub for_gpu: Waiting,
    /// Told at the end, for threads without a lane.
    pub ended: Condvar,
    /// Whether lanes exist, whether lanes take light queries, and whether threads do. Written
    /// while the queue is locked.
    pub has_lanes: AtomicBool,
    pub lanes_take_light: AtomicBool,
    threads_take_light: AtomicBool,
    pub policy: Policy,
    pub threads: usize,
    pub pace: Pace,
    /// Target time of a batch in seconds.
    batch_seconds: f64,
    pub by_cpu: AtomicU64,
    pub by_gpu: AtomicU64,
    /// Queries that the processor answered that a router foresaw to be faster, and those that the other did.
    pub as_foreseen: AtomicU64,
    pub otherwise: AtomicU64,
}

/// The work of a thread.
pub(super) enum ForThread {
    Queries(Vec<Request>),
    /// Answers of a lane.
    Answers(Vec<(Request, Outcome)>),
}

/// The assumed speed of a lane before the first measurement, in elements looked up a second: far
/// below that of any GPU.
const FIRST_SPEED: f64 = 1e10;

/// Light queries that a CPU thread takes at a time.
const LIGHT_AT_A_TIME: usize = 4;

impl Shared {
    pub fn new(options: &SchedulerOptions) -> Self {
        let mode = match options.policy {
            Policy::Synchronous => Mode::Synchronous,
            _ => Mode::Asynchronous,
        };
        Shared {
            intake: Intake::new(options.queue),
            queue: Mutex::new(Queue {
                cpu: VecDeque::new(),
                heavy: VecDeque::new(),
                light: VecDeque::new(),
                gpu_work: 0.0,
                came: 0,
                load: Load::new(mode),
                help: Help::new(Instant::now()),
                batches: VecDeque::new(),
                answered: VecDeque::new(),
                lanes: 0,
                working: 0,
                losses: 0,
                lost: None,
                closed: false,
                speed: FIRST_SPEED,
            }),
            for_cpu: Waiting::default(),
            for_gpu: Waiting::default(),
            ended: Condvar::new(),
            has_lanes: AtomicBool::new(false),
            lanes_take_light: AtomicBool::new(mode == Mode::Synchronous),
            threads_take_light: AtomicBool::new(true),
            policy: options.policy,
            threads: options.threads.max(1),
            pace: Pace::default(),
            batch_seconds: options.response.as_secs_f64() / 2.0,
            by_cpu: AtomicU64::new(0),
            by_gpu: AtomicU64::new(0),
            as_foreseen: AtomicU64::new(0),
            otherwise: AtomicU64::new(0),
        }
    }

    pub fn lock(&self) -> MutexGuard<'_, Queue> {
        // No thread panics while it holds the lock.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a query, and wakes a waiting thread or lane that may take it. A waiting thread counts
    /// itself before it looks at the intake again: so either this call sees the thread, or the
    /// thread sees the query.
    pub fn push(&self, request: Request) -> Result<(), Refused> {
        let (can_go_to_gpu, faster_on_gpu) = (request.can_go_to_gpu(), request.faster_on_gpu);
        self.intake.push(request)?;
        let is = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
        let can_go_to_gpu = can_go_to_gpu && is(&self.has_lanes);
        let to_thread = !can_go_to_gpu || !faster_on_gpu && is(&self.threads_take_light);
        let to_lane = can_go_to_gpu && (faster_on_gpu || is(&self.lanes_take_light));
        let woken = match () {
            () if to_thread && self.for_cpu.choose() => &self.for_cpu.woken,
            () if to_lane && self.for_gpu.choose() => &self.for_gpu.woken,
            () => return Ok(()),
        };
        // A thread that has looked but does not sleep yet holds the lock.
        drop(self.lock());
        woken.notify_one();
        Ok(())
    }

    /// The number of waiting queries, and the time until they are answered.
    pub fn backlog(&self) -> (usize, Duration) {
        let queries = self.intake.waiting();
        (queries, self.pace.wait(queries))
    }

    /// Records the time that a CPU thread took for a query and its reply.
    pub fn end_query(&self, time: Duration) {
        self.pace.record(1, time, self.threads);
    }

    /// Takes the queries from the intake, and chooses the mode.
    pub fn bring_in(&self, queue: &mut Queue) {
        let now = Instant::now();
        let answered = self.by_cpu.load(Ordering::Relaxed) + self.by_gpu.load(Ordering::Relaxed);
        let is_behind = self.is_behind(queue);
        queue.help.choose(answered, is_behind, now);
        let is_synchronous = queue.load.mode == Mode::Synchronous;
        // During batches the CPU threads rest, which speeds up the threads that prepare batches.
        // They work only if lanes are behind and help increases the throughput.
        let threads_take_light = !is_synchronous || self.are_threads_to_help(queue);
        self.threads_take_light
            .store(threads_take_light, Ordering::Relaxed);
        let before = queue.came;
        self.intake.drain(|mut request| {
            request.number = queue.came;
            queue.came += 1;
            let to_gpu = request.faster_on_gpu || is_synchronous;
            match request.can_go_to_gpu() && queue.lanes > 0 && to_gpu {
                true => queue.push_gpu(request),
                false => queue.cpu.push_back(request),
            }
        });
        if self.policy != Policy::Cooperative || queue.lanes == 0 {
            return;
        }
        queue.load.count(queue.came - before, now);
        if !queue.load.choose(queue.waiting() > self.threads, now) {
            return;
        }
        let lanes_take_light = queue.load.mode == Mode::Synchronous;
        self.lanes_take_light
            .store(lanes_take_light, Ordering::Relaxed);
        if lanes_take_light {
            // Queries that wait for threads can join batches now.
            for request in std::mem::take(&mut queue.cpu) {
                match request.can_go_to_gpu() {
                    true => queue.push_gpu(request),
                    false => queue.cpu.push_back(request),
                }
            }
        }
    }

    /// Wakes another thread or lane if queries remain.
    fn wake_others(&self, queue: &Queue) {
        let waits = !(queue.cpu.is_empty() && queue.answered.is_empty());
        let for_threads = waits || self.are_threads_to_help(queue);
        if for_threads && self.for_cpu.choose() {
            self.for_cpu.woken.notify_one();
        }
        let for_lanes = !(queue.heavy.is_empty() && queue.light.is_empty());
        if for_lanes && self.for_gpu.choose() {
            self.for_gpu.woken.notify_one();
        }
    }

    /// Whether more work waits for the GPU than fits in the next batches of all lanes.
    fn is_behind(&self, queue: &Queue) -> bool {
        self.policy == Policy::Cooperative
            && queue.load.mode == Mode::Synchronous
            && queue.gpu_work > self.batch_work(queue) * queue.lanes as f64
    }

    fn are_threads_to_help(&self, queue: &Queue) -> bool {
        self.is_behind(queue) && queue.help.helps
    }

    /// The target work of a batch.
    pub fn batch_work(&self, queue: &Queue) -> f64 {
        queue.speed * self.batch_seconds
    }

    /// Waits until `take` returns work; none at the end.
    pub fn wait_for<T>(
        &self,
        who: &Waiting,
        mut take: impl FnMut(&mut Queue) -> Option<T>,
        is_end: impl Fn(&Queue) -> bool,
    ) -> Option<T> {
        let mut queue = self.lock();
        let mut is_lying = false;
        loop {
            self.bring_in(&mut queue);
            let taken = take(&mut queue);
            if taken.is_some() || is_end(&queue) {
                if is_lying {
                    who.get_up();
                }
                self.wake_others(&queue);
                return taken;
            }
            if is_lying {
                // The new queries may be for other threads or lanes.
                self.wake_others(&queue);
                let woken = who.woken.wait(queue);
                queue = woken.unwrap_or_else(PoisonError::into_inner);
            }
            // The loop then looks once more.
            who.lie_down(!is_lying);
            is_lying = true;
        }
    }

    /// Work for a CPU thread: answers of lanes, or a query that waits for the CPU. Otherwise, if lanes are behind and
    /// help is useful, a few of the queries that the CPU answers faster, or one of the others. None at the end.
    pub fn take_for_thread(&self) -> Option<ForThread> {
        let take = |queue: &mut Queue| {
            if let Some(answers) = queue.answered.pop_front() {
                return Some(ForThread::Answers(answers));
            }
            let few = match queue.cpu.pop_front() {
                Some(request) => vec![request],
                None => match self.are_threads_to_help(queue) {
                    true if !queue.light.is_empty() => queue.take_light(),
                    true => Vec::from_iter(queue.pop_gpu()),
                    false => Vec::new(),
                },
            };
            self.intake.took(few.len());
            (!few.is_empty()).then_some(ForThread::Queries(few))
        };
        // Busy lanes may return some queries.
        let is_end = |queue: &Queue| queue.closed && queue.waiting() == 0 && queue.working == 0;
        self.wait_for(&self.for_cpu, take, is_end)
    }

    /// Refuses all further queries. Waiting queries are still answered.
    pub fn close(&self) {
        self.intake.close();
        self.lock().closed = true;
        self.for_cpu.woken.notify_all();
        self.for_gpu.woken.notify_all();
        self.ended.notify_all();
    }
}

impl Queue {
    /// The batches since the last call, as far as they are kept.
    pub fn take_batches(&mut self) -> Vec<BatchTime> {
        std::mem::take(&mut self.batches).into()
    }

    fn waiting(&self) -> usize {
        self.wait_for_cpu() + self.wait_for_gpu()
    }

    /// The number of queries that wait for a thread.
    pub fn wait_for_cpu(&self) -> usize {
        self.cpu.len()
    }

    /// The number of queries that wait for a lane.
    pub fn wait_for_gpu(&self) -> usize {
        self.heavy.len() + self.light.len()
    }

    /// Leaves no query to lanes.
    pub fn give_all_to_cpu(&mut self) {
        self.gpu_work = 0.0;
        for rest in [
            std::mem::take(&mut self.heavy),
            std::mem::take(&mut self.light),
        ] {
            self.give_to_cpu(rest);
        }
    }

    fn push_gpu(&mut self, request: Request) {
        self.gpu_work += request.work();
        match request.faster_on_gpu {
            true => self.heavy.push_back(request),
            false => self.light.push_back(request),
        }
    }

    /// The query that arrived first.
    pub fn pop_gpu(&mut self) -> Option<Request> {
        let is_light_first = match (self.light.front(), self.heavy.front()) {
            (Some(light), Some(heavy)) => light.number < heavy.number,
            (light, _) => light.is_some(),
        };
        let request = match is_light_first {
            true => self.light.pop_front(),
            false => self.heavy.pop_front(),
        }?;
        self.gpu_work -= request.work();
        Some(request)
    }

    /// A few queries that CPU threads answer faster.
    fn take_light(&mut self) -> Vec<Request> {
        let few: Vec<Request> = self
            .light
            .drain(..self.light.len().min(LIGHT_AT_A_TIME))
            .collect();
        self.gpu_work -= few.iter().map(Request::work).sum::<f64>();
        few
    }

    /// Only the CPU can answer these queries.
    pub fn give_to_cpu(&mut self, requests: impl IntoIterator<Item = Request>) {
        self.cpu
            .extend(requests.into_iter().map(|request| request.for_cpu()));
    }
}
