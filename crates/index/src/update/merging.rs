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
}

impl Merging {
    pub fn of(shared: &Arc<Shared>) -> Self {
        Merging {
            shared: Arc::clone(shared),
            thread: None,
            failed: None,
        }
    }

    /// Waits for the end of all merges.
    pub fn wait(&mut self) -> Result<()> {
        let merged = self.thread.take().map(JoinHandle::join);
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        match merged {
            None => Ok(()),
            Some(Ok(result)) => result,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
        }
    }

    /// Starts a merge if one is due and none is running. [`Merging::wait`] returns its error, because the preceding
    /// change is committed already.
    pub fn start(&mut self, progress: &Progress) {
        let is_running = |merging: &JoinHandle<_>| !merging.is_finished();
        if self.thread.as_ref().is_some_and(is_running) {
            return;
        }
        self.failed = self.wait().err();
        if self.failed.is_some() || merge::worth_merging(&self.shared.manifest().parts).is_none() {
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
