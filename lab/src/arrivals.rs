//! Random numbers, and random moments at a fixed rate.

use std::time::{Duration, Instant};

/// Random numbers (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// Above 0, and at most 1.
    pub fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }
}

/// A Poisson process: the times between its moments are independent and distributed exponentially.
pub struct Arrivals {
    random: Random,
    started: Instant,
    rate: f64,
    /// Seconds since the start.
    at: f64,
}

impl Arrivals {
    /// Moments at `rate` a second, on average.
    pub fn new(started: Instant, rate: f64, seed: u64) -> Self {
        Arrivals {
            random: Random(seed),
            started,
            rate,
            at: 0.0,
        }
    }

    /// The next moment.
    pub fn next(&mut self) -> Instant {
        self.at -= self.random.unit().ln() / self.rate;
        self.started + Duration::from_secs_f64(self.at)
    }
}

/// A sleep ends too late by less than this.
pub const SPIN: Duration = Duration::from_micros(200);

/// Sleeps, and spins at the end, because a sleep ends too late.
pub fn wait_until(due: Instant) {
    let left = due.saturating_duration_since(Instant::now());
    if left > SPIN {
        std::thread::sleep(left - SPIN);
    }
    while Instant::now() < due {
        std::hint::spin_loop();
    }
}
