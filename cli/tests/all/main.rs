//! The program as users run it: one test program for all verbs, so that it is linked once.

mod bad_files;
mod bad_input;
mod bad_output;
mod budget;
mod command_line;
mod contents;
mod dictionary;
mod engines;
mod export;
mod folder;
mod impacts;
mod index;
mod interrupted;
mod killed;
mod left_over;
mod mapreduce;
mod overwrite;
mod processes;
mod queries;
mod reorder;
mod serve;
mod serve_full;
mod serve_killed;
mod serve_soak;
#[cfg(unix)]
mod server;
mod tune;
mod update;
mod words;

/// Ends programs by signals as usual. A shell that starts the tests in the background has them ignore signals, and
/// the programs that they start inherit this.
fn heed_signals() {
    use nix::sys::signal::{SigHandler, Signal, signal};
    for ending in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        // SAFETY: the default action runs no handler.
        unsafe { signal(ending, SigHandler::SigDfl) }.unwrap();
    }
}
