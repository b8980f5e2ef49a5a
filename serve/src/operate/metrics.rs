//! Metrics in the text format of Prometheus and OpenMetrics.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{MatchedPath, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::gpu::Gpu;
use crate::problem::Problem;
use crate::served::Snapshot;
use crate::service::Service;

/// The pattern of a route; requests without a route share one.
#[derive(Debug, Clone)]
pub struct Route(pub Option<MatchedPath>);

impl Route {
    /// The pattern.
    pub fn name(&self) -> &str {
        self.0.as_ref().map_or("none", MatchedPath::as_str)
    }
}

impl PartialEq for Route {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Route {}

impl std::hash::Hash for Route {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl EncodeLabelValue for Route {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> std::fmt::Result {
        encoder.write_str(self.name())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfRequest {
    route: Route,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfRoute {
    route: Route,
}

/// Requests with a token, by its name in the settings; all requests have an empty name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfToken {
    token: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfIndex {
    index: String,
}

type Times = Family<OfRoute, Histogram, fn() -> Histogram>;

/// The metrics of requests.
pub struct Metrics {
    registry: Registry,
    requests: Family<OfRequest, Counter>,
    times: Times,
    over_rate: Family<OfToken, Counter>,
    /// Connections that are open.
    pub connections: Gauge,
    /// Connections whose TLS handshake failed or took too long.
    pub failed_handshakes: Counter,
}

/// The upper bounds of times in seconds: from 50 us, each twice the one before, up to 13 s.
fn histogram() -> Histogram {
    Histogram::new((0..19).map(|power| 50e-6 * f64::from(1u32 << power)))
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("tokapi");
        let requests = Family::default();
        let times = Times::new_with_constructor(histogram);
        let connections = Gauge::default();
        registry.register(
            "http_requests",
            "Requests by route and status",
            requests.clone(),
        );
        registry.register_with_unit(
            "http_request",
            "Time from a request to its answer",
            Unit::Seconds,
            times.clone(),
        );
        registry.register(
            "http_connections",
            "Connections that are open",
            connections.clone(),
        );
        let over_rate = Family::default();
        registry.register(
            "http_requests_over_rate",
            "Requests refused: beyond the rate of a token, or of the server",
            over_rate.clone(),
        );
        let failed_handshakes = Counter::default();
        registry.register(
            "tls_handshakes_failed",
            "Connections whose TLS handshake failed or took too long",
            failed_handshakes.clone(),
        );
        Metrics {
            registry,
            requests,
            times,
            over_rate,
            connections,
            failed_handshakes,
        }
    }
}

impl Metrics {
    /// Counts a request.
    pub fn count(&self, route: &Route, status: StatusCode, took: Duration) {
        let of_request = OfRequest {
            route: route.clone(),
            status: status.as_u16(),
        };
        self.requests.get_or_create(&of_request).inc();
        let of_route = OfRoute {
            route: of_request.route,
        };
        self.times
            .get_or_create(&of_route)
            .observe(took.as_secs_f64());
    }

    /// The counter of requests beyond the rate of a token; without a name, beyond that of the server.
    pub fn over_rate(&self, token: Option<&str>) -> Counter {
        let of_token = OfToken {
            token: token.unwrap_or_default().to_owned(),
        };
        self.over_rate.get_or_create(&of_token).clone()
    }
}

/// The metrics as text.
pub async fn metrics(
    State(service): State<Arc<Service>>,
    axum::Extension(metrics): axum::Extension<Arc<Metrics>>,
) -> Result<Response, Problem> {
    let mut text = String::new();
    let of_engine = of_engine(&service);
    encode_registry(&mut text, &metrics.registry)
        .and_then(|()| encode_registry(&mut text, &of_engine))
        .and_then(|()| encode_eof(&mut text))
        .map_err(Problem::internal)?;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    let kind = (header::CONTENT_TYPE, HeaderValue::from_static(kind));
    Ok(([kind], text).into_response())
}

/// The metrics of searches and indexes at this moment.
fn of_engine(service: &Service) -> Registry {
    let mut registry = Registry::with_prefix("tokapi");
    let load = service.engine.load();
    let counters = [
        (
            "searches_refused",
            "Searches refused: too many waited, or too long",
            load.refused,
        ),
        ("searches_late", "Searches whose deadline passed", load.late),
        (
            "searches_by_cpu",
            "Work done by threads of the CPU",
            load.by_cpu,
        ),
        ("searches_by_gpu", "Searches answered by a GPU", load.by_gpu),
        ("batches", "Batches of a GPU", load.batches),
        (
            "batched_searches",
            "Searches in batches of a GPU",
            load.batched,
        ),
        (
            "searches_as_foreseen",
            "Searches answered by the processor that the router foresaw to be faster",
            load.as_foreseen,
        ),
        (
            "searches_otherwise",
            "Searches that the other processor answered, because of the load",
            load.otherwise,
        ),
        ("gpu_losses", "Losses of the GPU", load.losses),
        (
            "mode_switches",
            "Changes between single searches and batches",
            load.switches,
        ),
        ("cache_hits", "Answers found in the cache", load.cache.hits),
        (
            "cache_misses",
            "Answers not found in the cache",
            load.cache.misses,
        ),
    ];
    for (name, help, value) in counters {
        registry.register(name, help, ConstCounter::new(value));
    }
    registry.register_with_unit(
        "batches",
        "Time of the batches of a GPU",
        Unit::Seconds,
        ConstCounter::new(load.batch_seconds),
    );
    // Fewer than 2^63 each.
    let gauges = [
        (
            "searches_waiting",
            "Searches that wait or are being answered",
            load.waiting as i64,
        ),
        (
            "searches_waiting_for_cpu",
            "Searches that wait for a thread of the CPU",
            load.wait_for_cpu as i64,
        ),
        (
            "searches_waiting_for_gpu",
            "Searches that wait for a batch of the GPU",
            load.wait_for_gpu as i64,
        ),
        (
            "gpu_lanes",
            "Lanes of the GPU that answer batches",
            load.lanes as i64,
        ),
        (
            "mode_synchronous",
            "1 while searches are batched for a GPU",
            load.is_synchronous.into(),
        ),
        (
            "gpu_lost",
            "1 while the GPU does not answer any more",
            load.lost.is_some().into(),
        ),
        (
            "cache_answers",
            "Answers in the cache",
            load.cache.answers as i64,
        ),
        (
            "ready",
            "1 unless the server is shutting down",
            (!service.is_draining()).into(),
        ),
    ];
    for (name, help, value) in gauges {
        registry.register(name, help, ConstGauge::new(value));
    }
    let sizes = [
        ("cache", "Size of the cache", load.cache.bytes),
        (
            "columns",
            "Size of the values of fields in memory",
            service.catalog.columns().bytes(),
        ),
    ];
    for (name, help, bytes) in sizes {
        registry.register_with_unit(name, help, Unit::Bytes, ConstGauge::new(bytes as i64));
    }
    let (epochs, documents) = (Family::default(), Family::default());
    let snapshots = service.catalog.snapshots();
    for snapshot in &snapshots {
        set(&epochs, snapshot, snapshot.epoch());
        set(&documents, snapshot, snapshot.info().statistics.documents);
    }
    registry.register("index_epoch", "The state of an index", epochs);
    registry.register("index_documents", "The documents of an index", documents);
    if let Some(gpu) = &service.gpu {
        of_gpu(gpu, &snapshots, &mut registry);
    }
    registry
}

/// Sets the value of an index.
fn set(family: &Family<OfIndex, Gauge>, snapshot: &Snapshot, value: u64) {
    let of_index = OfIndex {
        index: snapshot.name().to_owned(),
    };
    // Fewer than 2^63.
    family.get_or_create(&of_index).set(value as i64);
}

/// The indexes on a GPU.
fn of_gpu(gpu: &Gpu, snapshots: &[Arc<Snapshot>], registry: &mut Registry) {
    let brought = gpu.brought();
    let (loads, renewals) = (
        ConstCounter::new(brought.loads),
        ConstCounter::new(brought.renewals),
    );
    let seconds = ConstCounter::new(brought.seconds);
    registry.register(
        "gpu_loads",
        "Indexes whose lists were all brought to the GPU",
        loads,
    );
    registry.register(
        "gpu_renewals",
        "Indexes of which only new parts were brought to the GPU",
        renewals,
    );
    registry.register_with_unit("gpu_bringing", "Time of both", Unit::Seconds, seconds);
    let (epochs, postings, bytes) = (Family::default(), Family::default(), Family::default());
    for on_gpu in gpu.indexes() {
        let is_it = |snapshot: &&Arc<Snapshot>| snapshot.index().path() == on_gpu.path;
        if let Some(snapshot) = snapshots.iter().find(is_it) {
            set(&epochs, snapshot, on_gpu.epoch);
            set(&postings, snapshot, on_gpu.postings);
            set(&bytes, snapshot, on_gpu.bytes);
        }
    }
    let help = "The state of an index on the GPU, which answers if it is the newest";
    registry.register("gpu_index_epoch", help, epochs);
    registry.register(
        "gpu_index_postings",
        "The postings of an index on the GPU",
        postings,
    );
    let help = "The device memory of an index";
    registry.register_with_unit("gpu_index", help, Unit::Bytes, bytes);
}
