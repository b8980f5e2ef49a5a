//! Waiting for the disk, as long as the operation is not cancelled.

use std::fs::File;
use std::io;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::progress::Progress;

/// The time between two tests for cancellation.
const PAUSE: Duration = Duration::from_millis(50);

/// Waits until the bytes of `file` are on disk. The system may need seconds for a large file, and cannot be interrupted.
/// So a thread of its own waits, and is left behind if `progress` is cancelled.
///
/// # Errors
/// The error that `failed` makes of the system's; [`Error::Cancelled`].
pub fn sync(file: &File, progress: &Progress, failed: impl Fn(io::Error) -> Error) -> Result<()> {
    progress.check()?;
    let waited = file.try_clone().map_err(&failed)?;
    let (done, is_done) = sync_channel(1);
    let wait = move || {
        // Nobody receives this after a cancellation.
        let _ = done.send(waited.sync_all());
    };
    if thread::Builder::new().spawn(wait).is_err() {
        return file.sync_all().map_err(failed);
    }
    loop {
        match is_done.recv_timeout(PAUSE) {
            Ok(synced) => return synced.map_err(failed),
            Err(RecvTimeoutError::Timeout) => progress.check()?,
            // The thread sends before it ends, unless it panics.
            Err(RecvTimeoutError::Disconnected) => return file.sync_all().map_err(failed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cancelled_operation_does_not_wait() {
        let file = tempfile::tempfile().unwrap();
        let progress = Progress::new();
        let failed = |error: io::Error| Error::Usage(error.to_string());
        sync(&file, &progress, failed).unwrap();
        progress.cancel();
        assert!(matches!(
            sync(&file, &progress, failed),
            Err(Error::Cancelled)
        ));
    }
}
