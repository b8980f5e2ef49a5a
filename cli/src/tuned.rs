//! The constants of the cost model that `tokapi tune` has measured on this machine.

use std::sync::Arc;

use tokapi::BuildOptions;
use tokapi_storage::tune::{Model, Store};

/// The constants for a collection that is built by `options`.
pub fn load(options: &BuildOptions) -> Option<Arc<Model>> {
    let engine = weighing(options);
    let model = Store::of_user()?.load(&engine, options.threads as u64);
    if model.is_none() {
        log::info!(
            "{engine}: no chunk sizes were measured on this machine; `tokapi tune` does that"
        );
    }
    model.map(Arc::new)
}

/// The constants for sorting by `engine`.
pub fn load_sort(engine: &str) -> Option<Arc<Model>> {
    // An engine sorts a chunk on all of its threads.
    Store::of_user()?.load(&sorting(engine), 1).map(Arc::new)
}

/// The name under which the constants of weighing are kept.
pub fn weighing(options: &BuildOptions) -> String {
    format!("weigh {}", options.engine.name())
}

/// The name under which the constants of sorting by `engine` are kept.
pub fn sorting(engine: &str) -> String {
    format!("sort {engine}")
}
