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
