//! The times and outcomes of requests. All times are kept, so quantiles are exact.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

/// The outcomes of requests.
#[derive(Default)]
pub struct Tally {
    /// Times of answers with a status of 2xx.
    pub answered: Times,
    /// Times of other answers.
    pub others: Times,
    /// Times from the moment that a request was due to the moment that it was sent.
    pub late: Times,
    /// Answers by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Requests without an answer, by reason.
    pub faults: BTreeMap<String, u64>,
    /// Bytes of the answers.
    pub bytes: u64,
}

impl Tally {
    /// Counts an answer.
    pub fn answer(&mut self, status: u16, bytes: usize, took: Duration) {
        match status {
            200..300 => &mut self.answered,
            _ => &mut self.others,
        }
        .push(took);
        *self.statuses.entry(status).or_default() += 1;
        self.bytes += bytes as u64;
    }

    /// Counts a request without an answer.
    pub fn fault(&mut self, why: String) {
        *self.faults.entry(why).or_default() += 1;
    }

    /// Adds those of another thread.
    pub fn add(&mut self, other: Tally) {
        self.answered.0.extend(other.answered.0);
        self.others.0.extend(other.others.0);
        self.late.0.extend(other.late.0);
        for (status, count) in other.statuses {
            *self.statuses.entry(status).or_default() += count;
        }
        for (why, count) in other.faults {
            *self.faults.entry(why).or_default() += count;
        }
        self.bytes += other.bytes;
    }
}

/// Times in nanoseconds.
#[derive(Default, Clone)]
pub struct Times(Vec<u64>);

impl Times {
    pub fn push(&mut self, time: Duration) {
        // Fewer than 2^64 ns, which is five hundred years.
        self.0.push(time.as_nanos() as u64);
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn quantiles(&self) -> Quantiles {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        Quantiles(sorted)
    }
}

/// Sorted times.
pub struct Quantiles(Vec<u64>);

impl Quantiles {
    /// The microseconds that a share of the times are at most; 0 if there are none.
    pub fn at(&self, share: f64) -> f64 {
        // The smallest time that at least this share of all does not exceed.
        let rank = (share * self.0.len() as f64).ceil() as usize;
        let time = self.0.get(rank.saturating_sub(1)).or(self.0.last());
        time.map_or(0.0, |&time| time as f64 / 1e3)
    }

    pub fn json(&self) -> Value {
        if self.0.is_empty() {
            return Value::Null;
        }
        let sum: f64 = self.0.iter().map(|&time| time as f64 / 1e3).sum();
        json!({
            "count": self.0.len(),
            "mean": sum / self.0.len() as f64,
            "p50": self.at(0.5),
            "p90": self.at(0.9),
            "p99": self.at(0.99),
            "p999": self.at(0.999),
            "max": self.at(1.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_definition() {
        let mut times = Times::default();
        assert_eq!(times.quantiles().at(0.5), 0.0);
        for time in (1..=1000).rev() {
            times.push(Duration::from_micros(time));
        }
        let quantiles = times.quantiles();
        for (share, expected) in [
            (0.0, 1.0),
            (0.001, 1.0),
            (0.5, 500.0),
            (0.99, 990.0),
            (1.0, 1000.0),
        ] {
            assert_eq!(quantiles.at(share), expected, "{share}");
        }
    }
}
