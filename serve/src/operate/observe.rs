//! What every request gets: an id, headers of security, a metric, a span, a line in the log.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use axum::body::Body;
use axum::extract::{MatchedPath, State};
use axum::http::{HeaderName, HeaderValue, Request, StatusCode, Version, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::metrics::{Metrics, Route};
use super::trace::{Parent, Spans, TraceId};
use crate::problem::Problem;
use crate::service::{RequestId, Service};

/// Observes all requests.
pub struct Observer {
    /// The parts of the server.
    pub service: Arc<Service>,
    /// The metrics.
    pub metrics: Arc<Metrics>,
    /// Whether every request is logged.
    pub access_log: bool,
    /// The spans, if a collector takes them.
    pub spans: Option<Arc<dyn Spans>>,
    /// The beginning of the ids of this process.
    process: u64,
    next: AtomicU64,
}

const ID: HeaderName = HeaderName::from_static("x-request-id");

/// The most bytes of an id that a client gives.
const ID_BYTES: usize = 128;

impl Observer {
    /// Observes the requests of a service.
    pub fn new(
        service: Arc<Service>,
        metrics: Arc<Metrics>,
        access_log: bool,
        spans: Option<Arc<dyn Spans>>,
    ) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |since| since.as_nanos() as u64);
        Observer {
            service,
            metrics,
            access_log,
            spans,
            process: now ^ u64::from(std::process::id()).rotate_left(48),
            next: AtomicU64::new(0),
        }
    }

    /// The id that the client gives, if it can stand in a log; otherwise a new one.
    fn id(&self, request: &Request<Body>) -> Arc<str> {
        let is_plain = |id: &&str| {
            let mut bytes = id.bytes();
            !id.is_empty() && id.len() <= ID_BYTES && bytes.all(|byte| byte.is_ascii_graphic())
        };
        let given = request.headers().get(ID).and_then(|id| id.to_str().ok());
        match given.filter(is_plain) {
            Some(id) => id.into(),
            None => {
                let number = self.next.fetch_add(1, Ordering::Relaxed);
                format!("{:016x}-{number:x}", self.process).into()
            }
        }
    }
}

/// Observes a request.
pub async fn observe(
    State(observer): State<Arc<Observer>>,
    mut request: Request<Body>,
    next: Next,
) -> Response {
    let started = Instant::now();
    let id = observer.id(&request);
    let path = request.extensions().get::<MatchedPath>().cloned();
    let route = Route(path);
    let (method, version) = (request.method().clone(), request.version());
    let parent = Parent::of(request.headers());
    let spans = observer.spans.as_ref();
    let span = spans.map(|spans| spans.begin(parent, &method, route.name()));
    let trace = span.as_ref().map(|span| span.trace());
    let trace = trace.or(parent.map(|parent| TraceId(parent.trace)));
    let trace = trace.map(|trace| trace.to_string().into());
    request.extensions_mut().insert(RequestId {
        id: Arc::clone(&id),
        trace: trace.clone(),
    });
    let mut response = unwound(next.run(request)).await;
    let problem = response.extensions().get::<Problem>();
    // Over gRPC, every answer has the status 200.
    let status = problem.map_or(response.status(), Problem::status);
    let cause = problem.and_then(Problem::cause).map(str::to_owned);
    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::from_str(&id) {
        headers.insert(ID, id);
    }
    let is = HeaderValue::from_static;
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, is("nosniff"));
    headers.insert(header::REFERRER_POLICY, is("no-referrer"));
    if observer.service.is_draining() && version < Version::HTTP_2 {
        headers.insert(header::CONNECTION, is("close"));
    }
    let took = started.elapsed();
    observer.metrics.count(&route, status, took);
    // Fewer than 2^64 microseconds.
    let took_us = took.as_micros() as u64;
    let (route, status_code) = (route.name(), status.as_u16());
    let trace = trace.as_deref();
    if let Some(span) = span {
        span.end(status_code, Arc::clone(&id));
    }
    if let Some(cause) = cause {
        tracing::error!(request = &*id, trace, %method, route, status = status_code, took_us, %cause, "failed");
    } else if observer.access_log || status == StatusCode::INTERNAL_SERVER_ERROR {
        tracing::info!(request = &*id, trace, %method, route, status = status_code, took_us, "request");
    }
    response
}

/// The answer of a request; that of a failure if it panics. The state that requests share is behind locks that survive
/// a panic.
async fn unwound(answer: impl Future<Output = Response>) -> Response {
    let mut answer = pin!(answer);
    poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| answer.as_mut().poll(context)));
        polled.unwrap_or_else(|_| {
            let problem = Problem::internal("the request made its thread panic");
            Poll::Ready(problem.into_response())
        })
    })
    .await
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::middleware::from_fn_with_state;
    use axum::routing::get;
    use hyper::service::Service as _;
    use hyper_util::service::TowerToHyperService;

    use super::*;
    use crate::limits::Limits;
    use crate::search::{Engine, EngineOptions};
    use crate::served::Catalog;
    use crate::write::{WriterOptions, Writers, WritersOptions};

    #[test]
    fn a_panic_is_a_problem() {
        let engine = Engine::new(&EngineOptions::default(), None, None).unwrap();
        let writers = Writers::new(WritersOptions {
            enabled: false,
            data: None,
            snapshots: None,
            writer: WriterOptions::new(1),
        });
        let catalog = Catalog::default();
        let service = Service::new(catalog, engine, None, Limits::default(), None, writers);
        let metrics = Arc::<Metrics>::default();
        let observer = Observer::new(Arc::new(service), metrics, false, None);
        let fails = || async { panic!("on purpose") as &'static str };
        let routes: Router = Router::new().route("/fails", get(fails));
        let routes = routes.layer(from_fn_with_state(Arc::new(observer), observe));
        let routes = TowerToHyperService::new(routes);
        let request = Request::builder().uri("/fails").body(Body::empty());
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let answer = routes.call(request.unwrap());
        let response = runtime.unwrap().block_on(answer).unwrap();
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        let kind = &response.headers()[header::CONTENT_TYPE];
        assert_eq!(kind, "application/problem+json");
        assert!(response.headers().contains_key(ID));
    }
}
