//! Threads or lanes that sleep until there are queries.

use std::sync::Condvar;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Sleeping threads or lanes.
#[derive(Default)]
pub(super) struct Waiting {
    pub woken: Condvar,
    /// The number of sleepers, and the number of those not yet chosen to wake. If the second is 0,
    /// no wake-up is needed, which saves a system call. The first is written while the queue is
    /// locked; so is the second, except for wake-ups.
    sleeping: AtomicUsize,
    unwoken: AtomicUsize,
}

impl Waiting {
    fn sleeping(&self) -> usize {
        self.sleeping.load(Ordering::Relaxed)
    }

    /// Counts one more sleeper, or the same one again.
    pub fn lie_down(&self, is_new: bool) {
        let sleeping = self.sleeping() + usize::from(is_new);
        self.sleeping.store(sleeping, Ordering::Relaxed);
        self.unwoken.fetch_add(1, Ordering::Relaxed);
        self.unwoken.fetch_min(sleeping, Ordering::Relaxed);
    }

    /// Removes a sleeper, whoever woke it.
    pub fn get_up(&self) {
        let sleeping = self.sleeping() - 1;
        self.sleeping.store(sleeping, Ordering::Relaxed);
        self.unwoken.fetch_min(sleeping, Ordering::Relaxed);
    }

    /// Chooses a sleeper to wake; false if there is none.
    pub fn choose(&self) -> bool {
        let less = |unwoken: usize| unwoken.checked_sub(1);
        let order = Ordering::Relaxed;
        self.unwoken.fetch_update(order, order, less).is_ok()
    }
}
