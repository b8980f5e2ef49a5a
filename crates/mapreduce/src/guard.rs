//! The functions of a job: they are watched, and their panics made errors.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::watch::Watch;

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread will become an error that names the input of a job; a program's
/// panic hook need not report it.
pub fn catches_panic() -> bool {
    GUARDED.get()
}

/// Runs a function of a job; a panic becomes its message.
#[inline]
pub(crate) fn guarded<T>(watch: &impl Watch, function: impl FnOnce() -> T) -> Result<T, String> {
    GUARDED.set(true);
    let outcome = watch.during(|| catch_unwind(AssertUnwindSafe(function)));
    GUARDED.set(false);
    outcome.map_err(message)
}

fn message(panic: Box<dyn Any + Send>) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "it panicked without a message".into())
}
