//! The processor time of processes.

use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

/// The processor time of this process so far.
pub fn of_this_process() -> Option<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_SELF).ok()?;
    let seconds = |time: TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    let seconds = seconds(usage.user_time()) + seconds(usage.system_time());
    Some(Duration::from_secs_f64(seconds))
}

/// The processor time so far of the threads that another process has, as Linux counts it.
pub fn of(process: u32) -> Option<Duration> {
    let mut all = Duration::ZERO;
    for thread in std::fs::read_dir(format!("/proc/{process}/task")).ok()? {
        let path = thread.ok()?.path().join("schedstat");
        // A thread may have ended.
        let Ok(text) = std::fs::read_to_string(path) else {
            continue;
        };
        let nanoseconds = text.split_whitespace().next()?.parse().ok()?;
        all += Duration::from_nanos(nanoseconds);
    }
    Some(all)
}
