//! The bound of the queue in time: a search that would wait too long is refused at once.
//!
//! A burst may fill the queue up to the bound. If the queue stays long, the server is overloaded, and a long queue only
//! makes all answers late: then the bound is half of it, until the queue has been short once. (Nichols and Jacobson:
//! Controlling Queue Delay.)

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The bound is halved when the queue was not short for as many times the bound.
const LASTING: u32 = 2;

/// A queue is short if the wait is below this part of the bound.
const SHORT: u32 = 4;

/// Refuses searches that would wait too long.
pub struct Admission {
    /// None if the wait is not bounded.
    longest: Option<Duration>,
    /// Searches that may wait however long they take, so that a server with little to do refuses none.
    few: usize,
    started: Instant,
    /// Nanoseconds from the start to the last moment at which the queue was short.
    short_at: AtomicU64,
}

impl Admission {
    /// Bounds the wait, but for `few` searches; 0 does not bound it.
    pub fn new(longest: Duration, few: usize) -> Self {
        Admission {
            longest: (!longest.is_zero()).then_some(longest),
            few,
            started: Instant::now(),
            short_at: AtomicU64::new(0),
        }
    }

    /// The number of searches that may wait however long they take.
    pub fn few(&self) -> usize {
        self.few
    }

    /// Whether a search may join `queries` others, for which the processors need `wait`.
    pub fn permits(&self, queries: usize, wait: Duration, now: Instant) -> bool {
        let Some(longest) = self.longest else {
            return true;
        };
        let now = now.saturating_duration_since(self.started);
        if queries < self.few || wait < longest / SHORT {
            // Fewer than 2^64 nanoseconds.
            self.short_at
                .store(now.as_nanos() as u64, Ordering::Relaxed);
            return true;
        }
        let short_at = Duration::from_nanos(self.short_at.load(Ordering::Relaxed));
        let is_lasting = now.saturating_sub(short_at) > longest * LASTING;
        wait < if is_lasting { longest / 2 } else { longest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_has_the_whole_bound_and_a_lasting_load_half_of_it() {
        let ms = Duration::from_millis;
        let admission = Admission::new(ms(40), 16);
        let permits = |at, queries, wait| {
            let now = admission.started + ms(at);
            admission.permits(queries, ms(wait), now)
        };
        // However slow they are, a few may wait.
        assert!(permits(0, 15, 1000));
        assert!(permits(1, 100, 39));
        assert!(!permits(2, 100, 40));
        // The queue was not short for more than 80 ms.
        assert!(permits(79, 100, 39));
        assert!(!permits(82, 100, 39));
        assert!(!permits(83, 100, 20));
        assert!(permits(84, 100, 19));
        assert!(!permits(1000, 100, 20));
        // It was short once: the next burst has the whole bound.
        assert!(permits(1001, 100, 9));
        assert!(permits(1002, 100, 39));
        assert!(Admission::new(ms(0), 2).permits(1_000_000, ms(1_000_000), Instant::now()));
    }
}
