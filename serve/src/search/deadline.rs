//! The time when an answer is of no use any more.

use std::time::{Duration, Instant};

use crate::limits::Limits;
use crate::problem::{Kind, Problem};

/// The time when an answer is of no use any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline {
    /// The time.
    pub at: Instant,
    timeout: Duration,
}

impl Deadline {
    /// The deadline of a request that arrived at `now` and may take `timeout_ms`.
    ///
    /// # Errors
    /// The timeout is beyond the limit.
    pub fn after(limits: &Limits, now: Instant, timeout_ms: Option<u64>) -> Result<Self, Problem> {
        let milliseconds = timeout_ms.unwrap_or(limits.timeout_ms);
        if milliseconds == 0 || milliseconds > limits.longest_timeout_ms {
            return Err(Problem::new(
                Kind::LimitExceeded,
                format!(
                    "timeout_ms is {milliseconds}: give 1 to {}, the limit of this server",
                    limits.longest_timeout_ms
                ),
            ));
        }
        let timeout = Duration::from_millis(milliseconds);
        Ok(Deadline {
            at: now + timeout,
            timeout,
        })
    }

    /// This deadline, or `end` if that is earlier.
    pub fn until(self, end: Option<Instant>) -> Self {
        match end {
            Some(end) if end < self.at => Deadline {
                at: end,
                timeout: self.timeout.saturating_sub(self.at - end),
            },
            _ => self,
        }
    }

    /// Ends work that nobody waits for any more: the client has been told that it is too late.
    ///
    /// # Errors
    /// The deadline has passed.
    pub fn check(&self) -> tokapi::Result<()> {
        match Instant::now() < self.at {
            true => Ok(()),
            false => Err(tokapi::Error::Cancelled),
        }
    }

    /// The problem of a request whose deadline has passed.
    pub fn passed(&self) -> Problem {
        Problem::new(
            Kind::Timeout,
            format!(
                "the answer was not ready after {} ms: ask for less, raise timeout_ms, or retry later",
                self.timeout.as_millis()
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earlier_end_counts() {
        let (limits, now) = (Limits::default(), Instant::now());
        let deadline = Deadline::after(&limits, now, Some(500)).unwrap();
        let after = |ms| Some(now + Duration::from_millis(ms));
        assert_eq!(deadline.until(None), deadline);
        assert_eq!(deadline.until(after(501)), deadline);
        let earlier = deadline.until(after(100));
        assert_eq!(Some(earlier.at), after(100));
        assert!(earlier.passed().detail.contains("after 100 ms"));
    }
}
