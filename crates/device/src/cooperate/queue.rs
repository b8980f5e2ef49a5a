//! The queue of waiting queries. Threads and lanes choose queries from it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::help::Help;
use super::intake::{Intake, Refused};
use super::load::{Load, Mode};
use super::options::{Policy, SchedulerOptions};
use super::pace::Pace;
use super::report::BatchTime;
use super::request::Request;

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
    /// The value at the last check.
    batches: VecDeque<BatchTime>,
    pub lost: Option<String>,
    /// Number of lanes, and number of lanes with a batch.
    lanes: usize,
    working: usize,
    closed: bool,
    /// The measured work a second of a lane.
    speed: f64,
}

/// The queue, and the threads and lanes that wait for queries.
pub(super) struct Shared {
    intake: Intake,
    queue: Mutex<Queue>,
    for_cpu: Waiting,
    for_gpu: Waiting,
    /// Whether lanes exist, whether lanes take light queries, and whether threads do. Written
    /// while the queue is locked.
    has_lanes: AtomicBool,
    lanes_take_light: AtomicBool,
    threads_take_light: AtomicBool,
    policy: Policy,
    threads: usize,
    pace: Pace,
    /// Target time of a batch in seconds.
    batch_seconds: f64,
    pub by_cpu: AtomicU64,
    pub by_gpu: AtomicU64,
}

/// Sleeping threads or lanes.
#[derive(Default)]
struct Waiting {
    woken: Condvar,
    /// The number of sleepers, and the number of those not yet chosen to wake. If the second is 0,
    /// no wake-up is needed, which saves a system call. The first is written while the queue is
    /// locked; so is the second, except for wake-ups.
    sleeping: AtomicUsize,
    unwoken: AtomicUsize,
}

impl Waiting {
    fn sleeping(&self) -> usize {
        self.sleeping.load(Ordering::Relaxed)
    }

    /// Counts one more sleeper, or the same one again.
    fn lie_down(&self, is_new: bool) {
        let sleeping = self.sleeping() + usize::from(is_new);
        self.sleeping.store(sleeping, Ordering::Relaxed);
        self.unwoken.fetch_add(1, Ordering::Relaxed);
        self.unwoken.fetch_min(sleeping, Ordering::Relaxed);
    }

    /// Removes a sleeper, whoever woke it.
    fn get_up(&self) {
        let sleeping = self.sleeping() - 1;
        self.sleeping.store(sleeping, Ordering::Relaxed);
        self.unwoken.fetch_min(sleeping, Ordering::Relaxed);
    }

    /// Chooses a sleeper to wake; false if there is none.
    fn choose(&self) -> bool {
        let less = |unwoken: usize| unwoken.checked_sub(1);
        let order = Ordering::Relaxed;
        self.unwoken.fetch_update(order, order, less).is_ok()
    }
}

/// The assumed speed of a lane before the first measurement, in elements looked up a second: far
/// below that of any GPU.
const FIRST_SPEED: f64 = 1e10;

/// The weight of the newest measurement in an average.
const NEWEST_SHARE: f64 = 0.2;

/// Maximum number of batches kept for a report.
const MOST_BATCHES: usize = 1 << 16;

/// Light queries that a CPU thread takes at a time.
const LIGHT_AT_A_TIME: usize = 4;

impl Shared {
    pub fn new(options: &SchedulerOptions, lanes: usize) -> Self {
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
                lost: None,
                lanes,
                working: 0,
                closed: false,
                speed: FIRST_SPEED,
            }),
            for_cpu: Waiting::default(),
            for_gpu: Waiting::default(),
            has_lanes: AtomicBool::new(lanes > 0),
            lanes_take_light: AtomicBool::new(mode == Mode::Synchronous),
            threads_take_light: AtomicBool::new(true),
            policy: options.policy,
            threads: options.threads.max(1),
            pace: Pace::default(),
            batch_seconds: options.response.as_secs_f64() / 2.0,
            by_cpu: AtomicU64::new(0),
            by_gpu: AtomicU64::new(0),
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
    fn bring_in(&self, queue: &mut Queue) {
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
        let for_threads = !queue.cpu.is_empty() || self.are_threads_to_help(queue);
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
    fn batch_work(&self, queue: &Queue) -> f64 {
        queue.speed * self.batch_seconds
    }

    /// Waits until `take` returns queries; none at the end.
    fn wait_for(
        &self,
        who: &Waiting,
        mut take: impl FnMut(&mut Queue) -> Vec<Request>,
        is_end: impl Fn(&Queue) -> bool,
    ) -> Option<Vec<Request>> {
        let mut queue = self.lock();
        let mut is_lying = false;
        loop {
            self.bring_in(&mut queue);
            let requests = take(&mut queue);
            let is_end = requests.is_empty() && is_end(&queue);
            if !requests.is_empty() || is_end {
                if is_lying {
                    who.get_up();
                }
                self.wake_others(&queue);
                self.intake.took(requests.len());
                return (!is_end).then_some(requests);
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

    /// Queries for a CPU thread: one that waits for the CPU. Otherwise, if lanes are behind and
    /// help is useful, a few of the queries that the CPU answers faster, or one of the others.
    /// None at the end.
    pub fn take_few(&self) -> Option<Vec<Request>> {
        let take = |queue: &mut Queue| {
            if let Some(request) = queue.cpu.pop_front() {
                return vec![request];
            }
            match self.are_threads_to_help(queue) {
                true if !queue.light.is_empty() => queue.take_light(),
                true => Vec::from_iter(queue.pop_gpu()),
                false => Vec::new(),
            }
        };
        // Busy lanes may return some queries.
        let is_end = |queue: &Queue| queue.closed && queue.waiting() == 0 && queue.working == 0;
        self.wait_for(&self.for_cpu, take, is_end)
    }

    /// Waits for queries for a lane, and takes at most a batch of them. None at the end.
    pub fn take_batch(&self) -> Option<Vec<Request>> {
        let take = |queue: &mut Queue| {
            let full = self.batch_work(queue);
            let (mut requests, mut work) = (Vec::new(), 0.0);
            while (requests.is_empty() || work < full)
                && let Some(request) = queue.pop_gpu()
            {
                work += request.work();
                requests.push(request);
            }
            queue.working += usize::from(!requests.is_empty());
            requests
        };
        self.wait_for(&self.for_gpu, take, |queue| queue.closed)
    }

    /// Records a batch, and takes back its queries that the CPU must answer.
    pub fn end_batch(&self, time: BatchTime, unanswered: Vec<Request>) {
        let mut queue = self.lock();
        queue.working -= 1;
        let seconds = Duration::from_secs_f64(time.seconds);
        self.pace.record(time.queries, seconds, queue.lanes);
        // A small batch measures the time of a launch, not the speed of the lane.
        if time.work > 0.25 * self.batch_work(&queue) {
            queue.speed += NEWEST_SHARE * (time.work / time.seconds.max(1e-9) - queue.speed);
        }
        if queue.batches.len() == MOST_BATCHES {
            queue.batches.pop_front();
        }
        queue.batches.push_back(time);
        let are_needed = !unanswered.is_empty() || queue.closed;
        self.intake.gave_back(unanswered.len());
        queue.give_to_cpu(unanswered);
        drop(queue);
        if are_needed {
            self.for_cpu.woken.notify_all();
        }
    }

    /// Moves the queries of a lost lane to the CPU.
    pub fn lose_lane(&self, why: &str, requests: Vec<Request>) {
        let mut queue = self.lock();
        queue.working -= 1;
        queue.lanes -= 1;
        // The reason is part of the report.
        log::info!("a lane of the GPU is lost, others go on, or the CPU alone: {why}");
        queue.lost = Some(why.to_owned());
        self.intake.gave_back(requests.len());
        queue.give_to_cpu(requests);
        if queue.lanes == 0 {
            queue.load.mode = Mode::Asynchronous;
            queue.gpu_work = 0.0;
            for rest in [
                std::mem::take(&mut queue.heavy),
                std::mem::take(&mut queue.light),
            ] {
                queue.give_to_cpu(rest);
            }
            self.has_lanes.store(false, Ordering::Relaxed);
            self.lanes_take_light.store(false, Ordering::Relaxed);
            // Queries that arrived before the loss was known.
            self.bring_in(&mut queue);
        }
        drop(queue);
        self.for_cpu.woken.notify_all();
    }

    /// Refuses all further queries. Waiting queries are still answered.
    pub fn close(&self) {
        self.intake.close();
        self.lock().closed = true;
        self.for_cpu.woken.notify_all();
        self.for_gpu.woken.notify_all();
    }
}

impl Queue {
    /// The batches since the last call, as far as they are kept.
    pub fn take_batches(&mut self) -> Vec<BatchTime> {
        std::mem::take(&mut self.batches).into()
    }

    fn waiting(&self) -> usize {
        self.cpu.len() + self.heavy.len() + self.light.len()
    }

    fn push_gpu(&mut self, request: Request) {
        self.gpu_work += request.work();
        match request.faster_on_gpu {
            true => self.heavy.push_back(request),
            false => self.light.push_back(request),
        }
    }

    /// The query that arrived first.
    fn pop_gpu(&mut self) -> Option<Request> {
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
    fn give_to_cpu(&mut self, requests: impl IntoIterator<Item = Request>) {
        self.cpu
            .extend(requests.into_iter().map(|request| request.for_cpu()));
    }
}
