//! A server without connections, inside another program.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use bytes::Bytes;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use tokapi::{Error, Result};

use crate::operate::{Access, Metrics, Observer};
use crate::options::Options;
use crate::server::{router, service};
use crate::service::Service;

/// A server without connections: it answers the requests of the program that it is in.
///
/// ```
/// use axum::http::Request;
/// use tokapi_serve::{Embedded, Options};
///
/// let server = Embedded::open(&Options::default())?;
/// let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
/// let request = Request::get("/v1/indexes").body(Vec::new()).unwrap();
/// let answer = runtime.block_on(server.answer(request))?;
/// assert_eq!(&answer.body()[..], br#"{"indexes":[]}"#);
/// # Ok::<(), tokapi::Error>(())
/// ```
pub struct Embedded {
    service: Arc<Service>,
    router: TowerToHyperService<Router>,
}

impl Embedded {
    /// Opens the indexes.
    ///
    /// # Errors
    /// An index cannot be opened; a setting has no valid value.
    pub fn open(options: &Options) -> Result<Self> {
        let service = Arc::new(service(options)?);
        let metrics = Arc::new(Metrics::default());
        let access = Arc::new(Access::new(&options.tokens, &options.limits, &metrics)?);
        let (of_observer, counted) = (Arc::clone(&service), Arc::clone(&metrics));
        let observer = Observer::new(of_observer, counted, options.access_log, None);
        let router = router(&service, &metrics, access, observer, options)?;
        Ok(Embedded {
            service,
            router: TowerToHyperService::new(router),
        })
    }

    /// Answers a request. Needs a runtime of tokio with its timers.
    ///
    /// # Errors
    /// The answer breaks off.
    pub async fn answer(&self, request: Request<Vec<u8>>) -> Result<Response<Bytes>> {
        let answer = self.router.call(request.map(Body::from)).await;
        let (parts, body) = answer.unwrap_or_else(|never| match never {}).into_parts();
        let body = axum::body::to_bytes(body, usize::MAX).await;
        let body = body.map_err(|error| Error::Limit(format!("the answer breaks off: {error}")))?;
        Ok(Response::from_parts(parts, body))
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        // Waiting changes are applied.
        self.service.writers.close();
    }
}
