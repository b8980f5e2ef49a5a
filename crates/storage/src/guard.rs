//! Panics of the user's code, turned into errors.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether [`guarded`] would catch a panic of this thread. A program's panic hook need not report such a panic.
pub fn catches_panic() -> bool {
    GUARDED.get()
}

/// Calls `function`. A panic becomes an error.
///
/// # Errors
/// The message of the panic.
#[inline]
pub fn guarded<T>(function: impl FnOnce() -> T) -> Result<T, String> {
    let before = GUARDED.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(function));
    GUARDED.set(before);
    outcome.map_err(message)
}

fn message(panic: Box<dyn Any + Send>) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "it panicked without a message".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_its_message() {
        assert_eq!(guarded(catches_panic), Ok(true));
        assert_eq!(guarded(|| panic!("{}", 7)), Err::<(), _>("7".to_owned()));
        assert!(!catches_panic());
    }
}
