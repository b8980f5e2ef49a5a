//! The load, and the mode that suits it.

use std::time::{Duration, Instant};

/// Where queries go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Each query goes to the processor that answers it sooner.
    Asynchronous,
    /// Queries go to batches of the GPU. The CPU answers those that batches leave, and helps while that is of use.
    Synchronous,
}

/// The load, as far as is known.
pub(super) struct Load {
    pub mode: Mode,
    pub switches: u64,
    /// The queries that came since `counted`, and the rate before, in queries a second.
    arrived: u64,
    counted: Instant,
    rate: f64,
    /// When the mode changed last, and the rate when batches began.
    switched: Instant,
    rate_of_switch: f64,
    /// When many waited, and for how long after that batches go on.
    busy: Instant,
    stay: Duration,
}

/// The share of the newest measurement in an average.
const NEWEST_SHARE: f64 = 0.2;

/// Over how long queries are counted.
const COUNTED: Duration = Duration::from_millis(20);

/// Batches go on for so long after queries waited: at least, and at most.
const STAY: Duration = Duration::from_millis(50);
const LONGEST_STAY: Duration = Duration::from_secs(10);

/// Batches that begin again within this time ended too early.
const AT_ONCE: Duration = Duration::from_secs(1);

/// Batches end below this share of the rate at which they began.
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

    /// Takes note of queries that came.
    pub fn count(&mut self, came: u64, now: Instant) {
        self.arrived += came;
        if now.saturating_duration_since(self.counted) >= COUNTED {
            self.rate += NEWEST_SHARE * (self.rate_since_counted(now) - self.rate);
            self.arrived = 0;
            self.counted = now;
        }
    }

    /// To batches when many wait. Back when that has not been so for a while, and fewer come than when batches
    /// began; or for longer, which grows where it led to batches again at once. Gives whether the mode changed.
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
