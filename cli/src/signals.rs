//! What a signal that ends the program leaves: no workers, no temporary files, and an exit status that tells which
//! signal it was.

use nix::sys::signal::{SigHandler, SigSet, SigmaskHow, Signal, pthread_sigmask, signal};

/// Those that ask a program to end.
const ENDING: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];

/// Ends the program in good order from now on when it is asked to. To be called before there are other threads: they
/// leave the signals to the one that waits for them.
pub fn end_in_order() {
    let mut waited_for = SigSet::empty();
    ENDING
        .into_iter()
        .filter(|&signal| !is_ignored(signal))
        .for_each(|signal| waited_for.add(signal));
    // Where that cannot be done, a signal leaves a hidden temporary file, as a kill does; the next run removes it.
    if pthread_sigmask(SigmaskHow::SIG_BLOCK, Some(&waited_for), None).is_err() {
        return;
    }
    let wait = move || {
        if let Ok(signal) = waited_for.wait() {
            tokapi::mapreduce::end_workers();
            tokapi::output::remove_unfinished();
            // As shells have it.
            std::process::exit(128 + signal as i32);
        }
    };
    if std::thread::Builder::new().spawn(wait).is_err() {
        let _ = pthread_sigmask(SigmaskHow::SIG_UNBLOCK, Some(&waited_for), None);
    }
}

/// Whether whoever started the program, as `nohup` does, wants a signal to be ignored.
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
