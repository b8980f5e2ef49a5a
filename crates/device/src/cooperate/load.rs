//! Measures the load, and chooses the mode.

use std::time::{Duration, Instant};

/// The mode of the scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Each query goes to the processor that answers it faster.
    Asynchronous,
    /// Queries go to GPU batches. The CPU answers the queries that batches leave, and helps as
    /// long as that increases the throughput.
    Synchronous,
}

/// The measured load.
pub(super) struct Load {
    pub mode: Mode,
    pub switches: u64,
    /// The queries that arrived since `counted`, and the previous rate in queries a second.
    arrived: u64,
    counted: Instant,
    rate: f64,
    /// The time of the last change of the mode, and the rate when batches began.
    switched: Instant,
    rate_of_switch: f64,
    /// The time when many queries waited last, and how long batches continue after it.
    busy: Instant,
    stay: Duration,
}

/// The weight of the newest measurement in an average.
const NEWEST_SHARE: f64 = 0.2;

/// The interval over which queries are counted.
const COUNTED: Duration = Duration::from_millis(20);

/// The minimum and maximum time for which batches continue after queries waited.
const STAY: Duration = Duration::from_millis(50);
const LONGEST_STAY: Duration = Duration::from_secs(10);

/// If batches begin again within this time, they ended too early.
const AT_ONCE: Duration = Duration::from_secs(1);

/// Batches end if the rate falls below this fraction of the rate at which they began.
const RATE_TO_LEAVE: f64 = 0.8;

impl Load {
    pub fn new(mode: Mode) -> Self {
        let now = Instant::now();
        Load {
            mode,
            switches: 0,
            arrived: 0,
            counted: now,
            rate: 0.0,
            switched: now,
            rate_of_switch: f64::INFINITY,
            busy: now,
            stay: STAY,
        }
    }

    /// Records the arrival of queries.
    pub fn count(&mut self, came: u64, now: Instant) {
        self.arrived += came;
        if now.saturating_duration_since(self.counted) >= COUNTED {
            self.rate += NEWEST_SHARE * (self.rate_since_counted(now) - self.rate);
            self.arrived = 0;
            self.counted = now;
        }
    }

    /// Switches to batches when many queries wait. Switches back when few have waited for a while
    /// and the rate is lower than when batches began, or after a longer time. That time grows if
    /// batches had to begin again at once. Returns whether the mode changed.
    pub fn choose(&mut self, many_wait: bool, now: Instant) -> bool {
        if many_wait {
            self.busy = now;
        }
        let quiet = now.saturating_duration_since(self.busy);
        let fewer = self.rate < RATE_TO_LEAVE * self.rate_of_switch;
        let mode = match self.mode {
            Mode::Asynchronous if many_wait => Mode::Synchronous,
            Mode::Synchronous if quiet > self.stay || fewer && quiet > STAY => Mode::Asynchronous,
            _ => return false,
        };
        let lasted = now.saturating_duration_since(self.switched);
        self.mode = mode;
        self.switched = now;
        self.switches += 1;
        if mode == Mode::Synchronous {
            self.stay = match lasted < AT_ONCE {
                true => (self.stay * 2).min(LONGEST_STAY),
                false => STAY,
            };
            self.rate_of_switch = self.rate.max(self.rate_since_counted(now));
        }
        true
    }

    fn rate_since_counted(&self, now: Instant) -> f64 {
        let seconds = now.saturating_duration_since(self.counted).as_secs_f64();
        self.arrived as f64 / seconds.max(1e-6)
    }
}
