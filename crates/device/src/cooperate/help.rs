//! Decides whether CPU threads help lanes that are behind.

use std::time::{Duration, Instant};

/// Decides whether CPU threads help lanes that are behind. They do if more queries are answered
/// with help than without. Both are tried repeatedly: threads share cores, caches and memory with
/// the lanes, and may cost more than they contribute.
pub(super) struct Help {
    pub helps: bool,
    /// The start of the current choice.
    since: Instant,
    /// The end of the work begun before it, and the number of queries answered by then.
    settled: Option<(Instant, u64)>,
    tries: u32,
    /// Queries a second without and with help.
    rates: [Option<f64>; 2],
}

/// The length of a trial, and the part of it that is not measured: batches under way at its start
/// belong to the previous choice.
const TRY: Duration = Duration::from_millis(60);
const SETTLE: Duration = Duration::from_millis(20);

/// The slower choice is tried once in this many trials, for the first time after `FIRST_TRY`.
const TRIES_BETWEEN: u32 = 16;
const FIRST_TRY: u32 = 3;

/// Help is used if it multiplies the throughput by at least this factor.
const LEAST_GAIN: f64 = 1.02;

/// The weight of the newest measurement in an average.
const NEWEST_SHARE: f64 = 0.3;

impl Help {
    pub fn new(now: Instant) -> Self {
        Help {
            helps: false,
            since: now,
            settled: None,
            tries: 0,
            rates: [None; 2],
        }
    }

    /// Chooses, from the number of queries `answered` so far. If no lane is behind, there is
    /// nothing to compare. Lanes that have just fallen behind may recover soon, so they get no
    /// help at first.
    pub fn choose(&mut self, answered: u64, is_behind: bool, now: Instant) {
        let lasted = now.saturating_duration_since(self.since);
        match self.settled {
            _ if !is_behind => self.helps = false,
            None if lasted < SETTLE => return,
            None => {
                self.settled = Some((now, answered));
                return;
            }
            Some(_) if lasted < TRY => return,
            Some((from, before)) => {
                let seconds = now.saturating_duration_since(from).as_secs_f64();
                let rate = (answered - before) as f64 / seconds.max(1e-9);
                let known = &mut self.rates[usize::from(self.helps)];
                *known = Some(known.map_or(rate, |known| known + NEWEST_SHARE * (rate - known)));
                self.tries += 1;
                let is_other = self.tries % TRIES_BETWEEN == FIRST_TRY;
                self.helps = self.is_of_use() != is_other;
            }
        }
        self.since = now;
        self.settled = None;
    }

    fn is_of_use(&self) -> bool {
        matches!(self.rates, [Some(without), Some(with)] if with > without * LEAST_GAIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often threads help if these numbers of queries are answered in a trial without and with
    /// help.
    fn helped(without: u64, with: u64) -> u32 {
        let mut now = Instant::now();
        let mut help = Help::new(now);
        let (mut answered, mut times) = (0, 0);
        for _ in 0..3200 {
            help.choose(answered, true, now);
            times += u32::from(help.helps);
            answered += if help.helps { with } else { without };
            now += TRY / 10;
        }
        times / 10
    }

    #[test]
    fn what_answers_more_is_done_mostly() {
        assert!(helped(100, 120) > 290);
        assert!(helped(120, 100) < 30);
        assert!(helped(100, 100) < 30);
    }

    #[test]
    fn who_is_not_behind_needs_no_help() {
        let mut now = Instant::now();
        let mut help = Help::new(now);
        for number in 0..100 {
            help.choose(number, false, now);
            assert!(!help.helps);
            now += TRY;
        }
    }
}
