//! The work of operators: health, metrics, logs, and what every request gets.

mod access;
mod health;
mod log;
mod metrics;
mod observe;
mod origin;
#[cfg(feature = "otel")]
mod otel;
mod plain;
mod rate;
mod trace;

use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use tokapi::Result;
use tokio::runtime::Handle;

use crate::options::Options;
use crate::service::Service;

pub use access::{Access, Granted, permit};
pub use log::start_log;
pub use metrics::Metrics;
pub use observe::{Observer, observe};
pub use origin::{Origins, same_site};
pub use plain::plain;
pub use trace::Spans;

/// The routes `/live`, `/ready` and `/metrics`.
pub fn routes(metrics: Arc<Metrics>) -> Router<Arc<Service>> {
    Router::new()
        .route("/live", get(health::live))
        .route("/ready", get(health::ready))
        .route("/metrics", get(metrics::metrics))
        .layer(axum::Extension(metrics))
}

/// The spans of requests, if a collector takes them.
///
/// # Errors
/// They cannot be sent.
#[cfg(feature = "otel")]
pub fn spans(options: &Options, runtime: &Handle) -> Result<Option<Arc<dyn Spans>>> {
    let Some(url) = &options.traces else {
        return Ok(None);
    };
    let collector = otel::Collector::new(url, runtime.clone())?;
    Ok(Some(Arc::new(collector)))
}

/// This build sends no spans, and [`Options::check`] refuses a collector.
#[cfg(not(feature = "otel"))]
pub fn spans(_: &Options, _: &Handle) -> Result<Option<Arc<dyn Spans>>> {
    Ok(None)
}
