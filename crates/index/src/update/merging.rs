//! Merges in the background.

use std::sync::Arc;
use std::thread::JoinHandle;

use super::merge;
use super::state::Shared;
use tokapi_storage::error::{Error, Result};
use tokapi_storage::progress::Progress;

/// The background merges of a writer: at most one at a time.
pub(super) struct Merging {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<Result<()>>>,
    /// The error of the last merge.
    failed: Option<Error>,
    /// Merges that failed one after the other.
    failures: u32,
    /// Changes that start no merge: a merge that failed would fail again, and perhaps fill the disk meanwhile.
    pause: u32,
}

/// After as many failures, the pause is no longer doubled.
const MOST_DOUBLINGS: u32 = 10;

impl Merging {
    pub fn of(shared: &Arc<Shared>) -> Self {
        Merging {
            shared: Arc::clone(shared),
            thread: None,
            failed: None,
            failures: 0,
            pause: 0,
        }
    }

    /// Waits for the end of all merges.
    pub fn wait(&mut self) -> Result<()> {
        self.join();
        self.failed.take().map_or(Ok(()), Err)
    }

    /// The error of the last merge, if it has ended in one that nobody has been told.
    pub fn failed(&mut self) -> Option<Error> {
        if self.thread.as_ref().is_some_and(JoinHandle::is_finished) {
            self.join();
        }
        self.failed.take()
    }

    /// Waits for the thread, and takes its result.
    fn join(&mut self) {
        match self.thread.take().map(JoinHandle::join) {
            None => {}
            Some(Ok(Ok(()))) => (self.failed, self.failures) = (None, 0),
            Some(Ok(Err(error))) => {
                self.pause = 1 << self.failures.min(MOST_DOUBLINGS);
                self.failures += 1;
                self.failed = Some(error);
            }
            Some(Err(panic)) => std::panic::resume_unwind(panic),
        }
    }

    /// Starts a merge if one is due and none is running. [`Merging::wait`] returns its error, because the preceding
    /// change is committed already. After a failure, some changes start none.
    pub fn start(&mut self, progress: &Progress) {
        let is_running = |merging: &JoinHandle<_>| !merging.is_finished();
        if self.thread.as_ref().is_some_and(is_running) {
            return;
        }
        self.join();
        if self.pause > 0 {
            self.pause -= 1;
            return;
        }
        if merge::worth_merging(&self.shared.manifest().parts).is_none() {
            return;
        }
        let (shared, progress) = (Arc::clone(&self.shared), progress.clone());
        let merge = move || {
            // Changes in the foreground may count postings meanwhile.
            while shared.merge(&progress, false, merge::worth_merging)? {}
            Ok(())
        };
        match std::thread::Builder::new().spawn(merge) {
            Ok(thread) => self.thread = Some(thread),
            Err(error) => {
                self.failed = Some(Error::Limit(format!("cannot start a thread: {error}")));
            }
        }
    }
}

impl Drop for Merging {
    fn drop(&mut self) {
        // A caller learns the result from `wait`.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
