//! A bar with bytes, rate and time left, on a terminal; nothing in a pipe.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A bar that counts runs of a benchmark, on a terminal.
pub fn run_bar(runs: u64) -> ProgressBar {
    let bar = ProgressBar::new(runs);
    if let Ok(style) = ProgressStyle::with_template("{wide_bar} run {pos} of {len}, {eta} left") {
        bar.set_style(style);
    }
    bar
}

/// Runs `work` while a bar follows `done` towards `total` bytes, where that is known.
pub fn with_bar<T>(total: Option<u64>, done: &AtomicU64, work: impl FnOnce() -> T) -> T {
    with_bars(total, [done], work)
}

/// The same where as many bytes pass each of several counters.
pub fn with_bars<T, const N: usize>(
    total: Option<u64>,
    done: [&AtomicU64; N],
    work: impl FnOnce() -> T,
) -> T {
    let total = total.map(|total| N as u64 * total);
    let (bar, style) = match total {
        Some(bytes) => (
            ProgressBar::new(bytes),
            "{wide_bar} {decimal_bytes} of {decimal_total_bytes}, {decimal_bytes_per_sec}, {eta} left",
        ),
        None => (
            ProgressBar::no_length(),
            "{spinner} {decimal_bytes}, {decimal_bytes_per_sec}",
        ),
    };
    if bar.is_hidden() {
        return work();
    }
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style);
    }
    let finished = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let drawing = scope.spawn(|| {
            while !finished.load(Ordering::Acquire) {
                bar.set_position(done.iter().map(|done| done.load(Ordering::Relaxed)).sum());
                std::thread::park_timeout(Duration::from_millis(100));
            }
            bar.finish_and_clear();
        });
        let _finish = Finish(&finished, drawing.thread().clone());
        work()
    })
}

/// Ends the drawing when dropped, also by a panic: the scope would wait for it for ever.
struct Finish<'a>(&'a AtomicBool, std::thread::Thread);

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
        self.1.unpark();
    }
}
