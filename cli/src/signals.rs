//! The end of the program by a signal: without leaving workers or temporary files, and with an exit status that names
//! the signal.

use std::sync::{Mutex, PoisonError};

use nix::sys::signal::{SigHandler, SigSet, SigmaskHow, Signal, pthread_sigmask, signal};

/// The signals that ask a program to end.
const ENDING: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];

/// From now on, ends the program in good order when a signal asks for it. Must be called before other threads start,
/// so that they leave the signals to the thread that waits for them.
pub fn end_in_order() {
    let mut waited_for = SigSet::empty();
    ENDING
        .into_iter()
        .filter(|&signal| !is_ignored(signal))
        .for_each(|signal| waited_for.add(signal));
    // Without this, a signal leaves a hidden temporary file, as a kill does; the next run removes it.
    if pthread_sigmask(SigmaskHow::SIG_BLOCK, Some(&waited_for), None).is_err() {
        return;
    }
    let wait = move || {
        while let Ok(signal) = waited_for.wait() {
            let at_hangup = AT_HANGUP.lock().unwrap_or_else(PoisonError::into_inner);
            if let (Signal::SIGHUP, Some(at_hangup)) = (signal, &*at_hangup) {
                at_hangup();
                continue;
            }
            drop(at_hangup);
            let instead = INSTEAD
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            if let Some(instead) = instead {
                instead();
                continue;
            }
            tokapi_mapreduce::end_workers();
            tokapi_storage::whole::remove_unfinished();
            // The convention of shells.
            std::process::exit(128 + signal as i32);
        }
    };
    if std::thread::Builder::new().spawn(wait).is_err() {
        let _ = pthread_sigmask(SigmaskHow::SIG_UNBLOCK, Some(&waited_for), None);
    }
}

/// The work of the next signal, in place of the end of the program.
static INSTEAD: Mutex<Option<Box<dyn FnOnce() + Send>>> = Mutex::new(None);

/// From now on, the first signal calls `stop`, and only the second ends the program.
pub fn instead(stop: impl FnOnce() + Send + 'static) {
    *INSTEAD.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(stop));
}

/// The work of every SIGHUP, in place of the end of the program.
static AT_HANGUP: Mutex<Option<Box<dyn Fn() + Send>>> = Mutex::new(None);

/// From now on, SIGHUP calls `again`, and does not end the program.
pub fn at_hangup(again: impl Fn() + Send + 'static) {
    *AT_HANGUP.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(again));
}

/// Whether the program was started with this signal ignored, as `nohup` does.
fn is_ignored(which: Signal) -> bool {
    // SAFETY: neither of these is a handler, so that none runs.
    unsafe {
        match signal(which, SigHandler::SigIgn) {
            Ok(SigHandler::SigIgn) => true,
            Ok(before) => {
                let _ = signal(which, before);
                false
            }
            Err(_) => false,
        }
    }
}
