//! The lanes of a GPU: they take batches from the queue. They come and go together, as they are of one device.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::load::Mode;
use super::options::Policy;
use super::queue::{Queue, Shared};
use super::report::BatchTime;
use super::request::{Outcome, Request};

/// The weight of the newest measurement in an average.
const NEWEST_SHARE: f64 = 0.2;

/// Maximum number of batches kept for a report.
const MOST_BATCHES: usize = 1 << 16;

/// Answers that a lane tells itself: so few do not delay its next batch by much.
pub(super) const TOLD_BY_LANE: usize = 4;

/// Minimum and maximum number of answers that a thread takes at a time: as many as wake no threads in vain, and as keep
/// the last of them from waiting long.
const FEWEST_ANSWERS: usize = 8;
const MOST_ANSWERS: usize = 64;

impl Shared {
    /// Adds a lane. Returns the number of losses before it.
    pub fn gain_lane(&self) -> u64 {
        let mut queue = self.lock();
        queue.lanes += 1;
        queue.lost = None;
        self.has_lanes.store(true, Ordering::Relaxed);
        if self.policy == Policy::Synchronous {
            queue.load.mode = Mode::Synchronous;
            self.lanes_take_light.store(true, Ordering::Relaxed);
        }
        queue.losses
    }

    /// Waits for queries for a lane that came after `losses` losses, and takes at most a batch of them. None at the
    /// end, and after the next loss.
    pub fn take_batch(&self, losses: u64) -> Option<Vec<Request>> {
        let is_lost = |queue: &Queue| queue.losses != losses;
        let take = |queue: &mut Queue| {
            let full = self.batch_work(queue);
            let (mut requests, mut work) = (Vec::new(), 0.0);
            while !is_lost(queue)
                && (requests.is_empty() || work < full)
                && let Some(request) = queue.pop_gpu()
            {
                work += request.work();
                requests.push(request);
            }
            self.intake.took(requests.len());
            queue.working += usize::from(!requests.is_empty());
            (!requests.is_empty()).then_some(requests)
        };
        let is_end = |queue: &Queue| queue.closed || is_lost(queue);
        self.wait_for(&self.for_gpu, take, is_end)
    }

    /// Records a batch, leaves its answers to threads, and takes back its queries that the CPU must answer.
    pub fn end_batch(
        &self,
        time: BatchTime,
        answered: Vec<(Request, Outcome)>,
        unanswered: Vec<Request>,
    ) {
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
        let at_a_time = answered.len() / self.threads;
        let at_a_time = at_a_time.clamp(FEWEST_ANSWERS, MOST_ANSWERS);
        let mut answered = answered.into_iter();
        let mut threads = unanswered.len();
        loop {
            let some: Vec<_> = answered.by_ref().take(at_a_time).collect();
            if some.is_empty() {
                break;
            }
            queue.answered.push_back(some);
            threads += 1;
        }
        self.intake.gave_back(unanswered.len());
        queue.give_to_cpu(unanswered);
        let is_closed = queue.closed;
        drop(queue);
        match is_closed {
            true => self.for_cpu.woken.notify_all(),
            false => {
                let woken = (0..threads).take_while(|_| self.for_cpu.choose());
                woken.for_each(|_| self.for_cpu.woken.notify_one());
            }
        }
    }

    /// Gives up all lanes that came after `losses` losses, as one of them failed; its queries, and those that wait for
    /// a lane, go to the CPU.
    pub fn lose_lanes(&self, losses: u64, why: &str, requests: Vec<Request>) {
        let mut queue = self.lock();
        queue.working -= 1;
        self.intake.gave_back(requests.len());
        queue.give_to_cpu(requests);
        if queue.losses == losses {
            log::info!("the GPU is lost, the CPU goes on: {why}");
            queue.lost = Some(why.to_owned());
            queue.losses += 1;
            queue.lanes = 0;
            queue.load.mode = Mode::Asynchronous;
            queue.give_all_to_cpu();
            self.has_lanes.store(false, Ordering::Relaxed);
            self.lanes_take_light.store(false, Ordering::Relaxed);
            // Queries that arrived before the loss was known.
            self.bring_in(&mut queue);
        }
        drop(queue);
        self.for_cpu.woken.notify_all();
        self.for_gpu.woken.notify_all();
    }

    /// Waits for `time`. Returns false at the end, and at once if there is no time.
    pub fn wait_to_retry(&self, time: Option<Duration>) -> bool {
        let Some(until) = time.map(|time| Instant::now() + time) else {
            return false;
        };
        let mut queue = self.lock();
        while !queue.closed {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            let woken = self.ended.wait_timeout(queue, left);
            queue = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        false
    }
}
