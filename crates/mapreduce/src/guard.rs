//! Calls the functions of a job: reports each call to the watch, and turns panics into errors.

use super::watch::Watch;
use tokapi_storage::guard;

/// Calls a function of a job. A panic becomes its message.
#[inline]
pub(crate) fn guarded<T>(watch: &impl Watch, function: impl FnOnce() -> T) -> Result<T, String> {
    watch.during(|| guard::guarded(function))
}
