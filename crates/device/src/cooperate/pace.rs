//! The pace of the processors, measured, and the wait of the next query that follows from it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The weight of the newest query in the average: times of queries vary widely.
const NEWEST_SHARE: f64 = 1.0 / 64.0;

/// The average time from one answer to the next while queries wait.
#[derive(Default)]
pub(super) struct Pace {
    /// The bits of seconds; 0 before the first answer. Of answers at the same time one may be lost.
    seconds: AtomicU64,
}

impl Pace {
    /// Records that one of `processors` processors took `time` for `queries` queries.
    pub fn record(&self, queries: usize, time: Duration, processors: usize) {
        if queries == 0 {
            return;
        }
        let newest = time.as_secs_f64() / (queries * processors.max(1)) as f64;
        let before = f64::from_bits(self.seconds.load(Ordering::Relaxed));
        let share = match before > 0.0 {
            true => 1.0 - (1.0 - NEWEST_SHARE).powf(queries as f64),
            false => 1.0,
        };
        let seconds = before + share * (newest - before);
        self.seconds.store(seconds.to_bits(), Ordering::Relaxed);
    }

    /// The time until `queries` queries are answered.
    pub fn wait(&self, queries: usize) -> Duration {
        let seconds = f64::from_bits(self.seconds.load(Ordering::Relaxed));
        Duration::try_from_secs_f64(seconds * queries as f64).unwrap_or(Duration::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_is_that_of_all_processors_together() {
        let pace = Pace::default();
        assert_eq!(pace.wait(100), Duration::ZERO);
        // The first measurement counts in full.
        pace.record(1, Duration::from_millis(4), 2);
        assert_eq!(pace.wait(10), Duration::from_millis(20));
        // A batch counts as its queries one after the other.
        let (batch, single) = (Pace::default(), Pace::default());
        for pace in [&batch, &single] {
            pace.record(1, Duration::from_millis(1), 1);
        }
        batch.record(50, Duration::from_millis(500), 1);
        (0..50).for_each(|_| single.record(1, Duration::from_millis(10), 1));
        let [batch, single] = [batch, single].map(|pace| pace.wait(1).as_nanos());
        assert!(batch.abs_diff(single) <= 1, "{batch} {single}");
        assert!(Duration::from_millis(5).as_nanos() < batch);
    }
}
