//! The functions of a job: they are watched, and their panics made errors.

use super::watch::Watch;
use tokapi_storage::guard;

/// Runs a function of a job; a panic becomes its message.
#[inline]
pub(crate) fn guarded<T>(watch: &impl Watch, function: impl FnOnce() -> T) -> Result<T, String> {
    watch.during(|| guard::guarded(function))
}
