//! A limit on requests a second, with room for bursts: the generic cell rate algorithm, which is a bucket of tokens kept
//! as one number.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokapi::{Error, Result};

/// At most `rate` requests a second on average, and `burst` at once.
pub struct Rate {
    /// Nanoseconds that a request takes up.
    each: u64,
    /// Nanoseconds of requests that may be ahead of the clock.
    ahead: u64,
    /// The time, in nanoseconds of the clock, up to which requests have been let pass.
    until: AtomicU64,
}

impl Rate {
    /// The limit of settings, if they have one: `rate` requests a second, and at once `burst` or those of a second.
    ///
    /// # Errors
    /// They leave room for no request.
    pub fn of(rate: Option<f64>, burst: Option<u32>) -> Result<Option<Self>> {
        let Some(rate) = rate else {
            return match burst {
                None => Ok(None),
                Some(_) => Err(Error::Usage(
                    "burst is given without rate: give the requests a second too".into(),
                )),
            };
        };
        if !(rate > 0.0 && rate.is_finite()) {
            return Err(Error::Usage(format!(
                "rate is {rate}: give the requests a second, a number above 0"
            )));
        }
        match burst {
            Some(0) => Err(Error::Usage(
                "burst is 0: give the requests at once, 1 or more".into(),
            )),
            Some(burst) => Ok(Some(Rate::new(rate, burst))),
            // Larger rates have no limit on bursts.
            None => Ok(Some(Rate::new(rate, rate.ceil() as u32))),
        }
    }

    /// A limit of `rate` requests a second and of `burst` at once, both above 0.
    fn new(rate: f64, burst: u32) -> Self {
        // Times beyond 584 years saturate.
        let each = ((1e9 / rate) as u64).max(1);
        Rate {
            each,
            ahead: each.saturating_mul(u64::from(burst) - 1),
            until: AtomicU64::new(0),
        }
    }

    /// Lets a request pass at `now`, a time of a clock that never goes back.
    ///
    /// # Errors
    /// It is one too many: the time after which one would pass.
    pub fn pass(&self, now: Duration) -> Result<(), Duration> {
        // 2^64 nanoseconds are 584 years.
        let now = now.as_nanos() as u64;
        let mut until = self.until.load(Ordering::Relaxed);
        loop {
            let from = until.max(now);
            let too_early = (from - now).saturating_sub(self.ahead);
            if too_early > 0 {
                return Err(Duration::from_nanos(too_early));
            }
            let next = from.saturating_add(self.each);
            match self.until.compare_exchange_weak(
                until,
                next,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Ok(()),
                Err(other) => until = other,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// The requests of `asked` that pass within the first `seconds`, one after the other at equal distances.
    fn passed(rate: &Rate, asked: u32, seconds: u32) -> usize {
        let times = (0..asked).map(|number| SECOND * seconds * number / asked);
        times.filter(|&now| rate.pass(now).is_ok()).count()
    }

    #[test]
    fn a_burst_passes_and_then_the_rate() {
        let rate = Rate::new(10.0, 5);
        let at = |now: Duration| (0..100).filter(|_| rate.pass(now).is_ok()).count();
        assert_eq!(at(SECOND), 5);
        // A tenth of a second for each.
        assert_eq!(rate.pass(SECOND), Err(SECOND / 10));
        assert_eq!(rate.pass(SECOND * 105 / 100), Err(SECOND / 20));
        assert_eq!(at(SECOND * 11 / 10), 1);
        assert_eq!(at(SECOND * 14 / 10), 3);
        // No more than a burst is saved up.
        assert_eq!(at(SECOND * 1000), 5);
    }

    #[test]
    fn the_average_is_the_rate() {
        for (rate, burst, asked, passes) in [
            (10.0, 1, 1000, 100),
            (10.0, 20, 1000, 119),
            (0.5, 1, 1000, 5),
            (250.0, 1, 2000, 2000),
        ] {
            let limit = Rate::new(rate, burst);
            assert_eq!(passed(&limit, asked, 10), passes, "{rate} {burst}");
        }
    }

    #[test]
    fn the_time_to_wait_is_the_time_after_which_it_passes() {
        let rate = Rate::new(3.0, 2);
        let mut now = Duration::ZERO;
        for _ in 0..20 {
            while rate.pass(now).is_ok() {}
            let wait = rate.pass(now).unwrap_err();
            assert!(rate.pass(now + wait - Duration::from_nanos(1)).is_err());
            now += wait;
            assert_eq!(rate.pass(now), Ok(()));
        }
    }

    #[test]
    fn threads_share_the_limit() {
        let rate = Rate::new(1.0, 1000);
        let passed: usize = std::thread::scope(|scope| {
            let count = || (0..500).filter(|_| rate.pass(SECOND).is_ok()).count();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(count)).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .sum()
        });
        assert_eq!(passed, 1000);
    }

    #[test]
    fn settings_leave_room_for_requests() {
        assert!(Rate::of(None, None).unwrap().is_none());
        for (rate, burst, at_once) in [
            (Some(2.5), None, 3),
            (Some(0.1), None, 1),
            (Some(2.5), Some(7), 7),
        ] {
            let limit = Rate::of(rate, burst).unwrap().unwrap();
            let passed = (0..100).filter(|_| limit.pass(SECOND).is_ok()).count();
            assert_eq!(passed, at_once);
        }
        for (rate, burst, part) in [
            (Some(0.0), None, "rate is 0"),
            (Some(-1.0), None, "rate is -1"),
            (Some(f64::NAN), None, "rate is NaN"),
            (Some(f64::INFINITY), None, "rate is inf"),
            (Some(1.0), Some(0), "burst is 0"),
            (None, Some(5), "without rate"),
        ] {
            let error = Rate::of(rate, burst).err().unwrap().to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn extreme_rates_do_not_overflow() {
        let slow = Rate::new(1e-300, u32::MAX);
        assert_eq!(slow.pass(SECOND), Ok(()));
        assert_eq!(slow.pass(SECOND), Ok(()));
        let fast = Rate::new(1e300, 1);
        for _ in 0..1000 {
            let _ = fast.pass(SECOND);
        }
    }
}
