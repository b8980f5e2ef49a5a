//! How far a reordering is.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// How far a reordering is, for whoever waits for it.
#[derive(Debug, Default)]
pub struct ReorderProgress {
    /// One more than the number of the phase; 0 before the first.
    phase: AtomicUsize,
    done: AtomicU64,
    total: AtomicU64,
}

/// What is done, one after the other.
#[derive(Debug, Clone, Copy)]
pub(super) enum Phase {
    Ids,
    Graph,
    Bisection,
    Writing,
}

const NAMES: [&str; 4] = ["sorting ids", "graph", "bisection", "writing"];

impl ReorderProgress {
    /// The phase, what is done of it and what there is to do; none before the first.
    pub fn now(&self) -> Option<(&'static str, u64, u64)> {
        let phase = self.phase.load(Ordering::Acquire).checked_sub(1)?;
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Some((NAMES.get(phase)?, count(&self.done), count(&self.total)))
    }

    /// Begins a phase of so many steps.
    pub(super) fn begin(&self, phase: Phase, total: u64) {
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
        self.phase.store(phase as usize + 1, Ordering::Release);
    }

    /// The steps of the phase that are done.
    pub(super) fn done(&self) -> &AtomicU64 {
        &self.done
    }
}
