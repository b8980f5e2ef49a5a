//! Progress bars with amount, rate and time left: on a terminal only.

use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use tokapi::{Progress, Stage};

/// A bar that counts runs of a benchmark, on a terminal.
pub fn run_bar(runs: u64) -> ProgressBar {
    let bar = ProgressBar::new(runs);
    if let Ok(style) = ProgressStyle::with_template("{wide_bar} run {pos} of {len}, {eta} left") {
        bar.set_style(style);
    }
    bar
}

/// Runs `work` while a bar follows `progress`, stage by stage.
pub fn show<T>(progress: &Progress, work: impl FnOnce() -> T) -> T {
    show_written(progress, Unit::Items("postings"), work)
}

/// The same for work whose output is counted in bytes.
pub fn show_bytes<T>(progress: &Progress, work: impl FnOnce() -> T) -> T {
    show_written(progress, Unit::Bytes, work)
}

fn show_written<T>(progress: &Progress, written: Unit, work: impl FnOnce() -> T) -> T {
    let bar = ProgressBar::new(0);
    let mut shown = None;
    let draw = || {
        let now = progress.snapshot();
        if shown != Some((now.stage, now.total > 0)) {
            shown = Some((now.stage, now.total > 0));
            bar.reset();
            bar.set_style(style(now.stage, written, now.total > 0));
        }
        bar.set_length(now.total);
        bar.set_position(now.done);
    };
    redraw(&bar, draw, work)
}

fn style(stage: Stage, written: Unit, total_is_known: bool) -> ProgressStyle {
    let (name, unit) = match stage {
        Stage::Reading | Stage::Generating => ("", Unit::Bytes),
        Stage::Merging => ("merging ", Unit::Bytes),
        Stage::Writing => ("writing ", written),
        Stage::Graph => ("reordering: graph ", Unit::Items("postings")),
        Stage::Bisecting => ("reordering: bisection ", Unit::Items("documents")),
        Stage::Ids => ("ids ", Unit::Items("documents")),
        _ => ("checking ", Unit::Bytes),
    };
    let template = match (unit, total_is_known) {
        (Unit::Bytes, true) => format!(
            "{name}{{wide_bar}} {{decimal_bytes}} of {{decimal_total_bytes}}, {{decimal_bytes_per_sec}}, {{eta}} left"
        ),
        (Unit::Bytes, false) => {
            format!("{{spinner}} {name}{{decimal_bytes}}, {{decimal_bytes_per_sec}}")
        }
        (Unit::Items(unit), true) => format!(
            "{name}{{wide_bar}} {{human_pos}} of {{human_len}} {unit}, {{millions}}, {{eta}} left"
        ),
        (Unit::Items(unit), false) => {
            format!("{{spinner}} {name}{{human_pos}} {unit}, {{millions}}")
        }
    };
    let millions = |state: &ProgressState, text: &mut dyn Write| {
        // There is nobody to tell that a bar cannot be drawn.
        let _ = write!(text, "{:.1} M/s", state.per_sec() / 1e6);
    };
    ProgressStyle::with_template(&template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .with_key("millions", millions)
}

/// The unit that a bar counts in.
#[derive(Clone, Copy)]
enum Unit {
    Bytes,
    Items(&'static str),
}

/// Runs `work` while `draw` draws the bar ten times a second.
fn redraw<T>(bar: &ProgressBar, mut draw: impl FnMut() + Send, work: impl FnOnce() -> T) -> T {
    if bar.is_hidden() {
        return work();
    }
    let finished = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let drawing = scope.spawn(|| {
            while !finished.load(Ordering::Acquire) {
                draw();
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
