//! The parts of a server that all routes use.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde::Serialize;
use tokio::sync::watch;

use crate::gpu::Gpu;
use crate::limits::Limits;
use crate::problem::Problem;
use crate::search::Engine;
use crate::served::Catalog;
use crate::write::Writers;

/// The parts of a server that all routes use.
pub struct Service {
    /// The indexes.
    pub catalog: Catalog,
    /// The searches.
    pub engine: Engine,
    /// The GPU, if there is one.
    pub gpu: Option<Gpu>,
    /// The limits of requests.
    pub limits: Limits,
    /// Searches that take as long are logged.
    pub slow: Option<Duration>,
    /// The changes.
    pub writers: Writers,
    /// Whether the server ends soon.
    ending: watch::Sender<bool>,
}

/// The id of a request: an extension of it.
#[derive(Debug, Clone, Default)]
pub struct RequestId {
    /// The id.
    pub id: Arc<str>,
    /// The trace that it belongs to, in hexadecimal digits.
    pub trace: Option<Arc<str>>,
}

/// A service that the tasks of all requests share.
pub type Shared = Arc<Service>;

impl Service {
    /// A service that is ready.
    pub fn new(
        catalog: Catalog,
        engine: Engine,
        gpu: Option<Gpu>,
        limits: Limits,
        slow: Option<Duration>,
        writers: Writers,
    ) -> Self {
        Service {
            catalog,
            engine,
            gpu,
            limits,
            slow,
            writers,
            ending: watch::Sender::new(false),
        }
    }

    /// Whether the server ends soon.
    pub fn is_draining(&self) -> bool {
        *self.ending.borrow()
    }

    /// Waits until the server ends soon.
    pub async fn ends(&self) {
        // An error means that the server has ended.
        let _ = self.ending.subscribe().wait_for(|&ending| ending).await;
    }

    /// From now on the server is not ready, and clients close their connections.
    pub fn drain(&self) {
        self.ending.send_replace(true);
    }

    /// Logs a search if it was slow.
    pub fn log_if_slow(
        &self,
        index: &str,
        query: &str,
        k: usize,
        started: Instant,
        request: &RequestId,
    ) {
        let took = started.elapsed();
        if self.slow.is_some_and(|slow| took >= slow) {
            // Fewer than 2^64 microseconds.
            let took_us = took.as_micros() as u64;
            let RequestId { id, trace } = request;
            let (request, trace) = (&**id, trace.as_deref());
            tracing::warn!(request, trace, index, query, k, took_us, "slow search");
        }
    }
}

/// A value as JSON.
///
/// # Errors
/// It cannot be written, which is a bug.
pub fn to_json(value: &impl Serialize) -> Result<Bytes, Problem> {
    match serde_json::to_vec(value) {
        Ok(json) => Ok(json.into()),
        Err(error) => Err(Problem::internal(error)),
    }
}
