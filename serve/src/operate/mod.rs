//! The work of operators: health, metrics, logs, and what every request gets.

mod access;
mod health;
mod log;
mod metrics;
mod observe;
mod origin;
mod plain;
mod rate;

use std::sync::Arc;

use axum::Router;
use axum::routing::get;

use crate::service::Service;

pub use access::{Access, Granted, permit};
pub use log::start_log;
pub use metrics::Metrics;
pub use observe::{Observer, observe};
pub use origin::{Origins, same_site};
pub use plain::plain;

/// The routes `/live`, `/ready` and `/metrics`.
pub fn routes(metrics: Arc<Metrics>) -> Router<Arc<Service>> {
    Router::new()
        .route("/live", get(health::live))
        .route("/ready", get(health::ready))
        .route("/metrics", get(metrics::metrics))
        .layer(axum::Extension(metrics))
}
