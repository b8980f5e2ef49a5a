//! Whether threads of the CPU help lanes that are behind.

use std::time::{Duration, Instant};

/// Where lanes are behind, threads help them if more is answered with them than without, which is tried again
/// and again: they share cores, caches and memory with those who prepare batches, and may cost more than they do.
pub(super) struct Help {
    pub helps: bool,
    /// Since when, and how many had been answered then.
    since: Instant,
    answered: u64,
    tries: u32,
    /// Queries a second without help and with it.
    rates: [Option<f64>; 2],
}

/// How long each is tried.
const TRY: Duration = Duration::from_millis(30);

/// Both are tried so often in turn; after that the other one every so many times.
const IN_TURN: u32 = 6;
const OTHER: u32 = 16;

/// So much more must be answered with help than without.
const MORE: f64 = 1.02;

/// How much of a new measurement goes into an average.
const NEW: f64 = 0.3;

impl Help {
    pub fn new(now: Instant) -> Self {
        Help {
            helps: true,
            since: now,
            answered: 0,
            tries: 0,
            rates: [None; 2],
        }
    }

    /// Chooses, from how many have been `answered` so far. Lanes that are not behind leave nothing to compare.
    pub fn choose(&mut self, answered: u64, is_behind: bool, now: Instant) {
        let lasted = now.saturating_duration_since(self.since);
        if is_behind && lasted < TRY {
            return;
        }
        if is_behind {
            let rate = (answered - self.answered) as f64 / lasted.as_secs_f64();
            let known = &mut self.rates[usize::from(self.helps)];
            *known = Some(known.map_or(rate, |known| known + NEW * (rate - known)));
            self.tries += 1;
        }
        self.since = now;
        self.answered = answered;
        self.helps = match self.rates {
            _ if !is_behind => true,
            [Some(without), Some(with)] if self.tries >= IN_TURN => {
                (with > without * MORE) != self.tries.is_multiple_of(OTHER)
            }
            _ => !self.helps,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often threads help where so many are answered in a try without and with them.
    fn helped(without: u64, with: u64) -> u32 {
        let mut now = Instant::now();
        let mut help = Help::new(now);
        let (mut answered, mut times) = (0, 0);
        for _ in 0..320 {
            help.choose(answered, true, now);
            times += u32::from(help.helps);
            answered += if help.helps { with } else { without };
            now += TRY;
        }
        times
    }

    #[test]
    fn what_answers_more_is_done_mostly() {
        assert!(helped(100, 120) > 290);
        assert!(helped(120, 100) < 30);
        assert!(helped(100, 100) < 30);
    }

    #[test]
    fn who_is_not_behind_is_helped() {
        let mut now = Instant::now();
        let mut help = Help::new(now);
        for number in 0..100 {
            help.choose(number, false, now);
            assert!(help.helps);
            now += TRY;
        }
    }
}
