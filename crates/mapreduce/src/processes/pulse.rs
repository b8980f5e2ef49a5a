//! The heartbeat of a worker: a thread reports that its task makes progress, unless a function of
//! the job has been called and hangs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::super::watch::Watch;

/// The interval of heartbeats.
const BEAT: Duration = Duration::from_millis(200);

/// The activity of a worker's task, as the heartbeat thread sees it.
#[derive(Default)]
pub(super) struct Pulse {
    at_task: AtomicBool,
    /// Counts steps of the job's functions; odd during a call.
    steps: AtomicU64,
}

impl Pulse {
    /// A heartbeat sent by `say`, until that fails.
    pub(super) fn start<E>(say: impl Fn() -> Result<(), E> + Send + 'static) -> Arc<Self> {
        let pulse = Arc::new(Pulse::default());
        let heard = Arc::clone(&pulse);
        std::thread::spawn(move || {
            let mut before = 0;
            loop {
                std::thread::sleep(BEAT);
                let steps = heard.steps.load(Ordering::Relaxed);
                let goes_on = steps.is_multiple_of(2) || steps != before;
                before = steps;
                let at_task = heard.at_task.load(Ordering::Relaxed);
                if at_task && goes_on && say().is_err() {
                    return;
                }
            }
        });
        pulse
    }

    /// Runs a task.
    pub(super) fn at_task<T>(&self, task: impl FnOnce() -> T) -> T {
        self.at_task.store(true, Ordering::Relaxed);
        let done = task();
        self.at_task.store(false, Ordering::Relaxed);
        done
    }

    /// Only one thread writes the counter, so no step is lost between load and store.
    #[inline]
    fn count(&self, steps: u64) {
        let before = self.steps.load(Ordering::Relaxed);
        self.steps.store(before + steps, Ordering::Relaxed);
    }
}

impl Watch for Pulse {
    #[inline]
    fn during<T>(&self, function: impl FnOnce() -> T) -> T {
        self.count(1);
        let done = function();
        self.count(1);
        done
    }

    #[inline]
    fn step(&self) {
        self.count(2);
    }
}
