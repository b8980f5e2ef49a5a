//! Panics of a job's functions, made errors.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

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
pub(crate) fn guarded<T>(function: impl FnOnce() -> T) -> Result<T, String> {
    GUARDED.set(true);
    let outcome = catch_unwind(AssertUnwindSafe(function));
    GUARDED.set(false);
    outcome.map_err(message)
}

fn message(panic: Box<dyn Any + Send>) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "it panicked without a message".into())
}
