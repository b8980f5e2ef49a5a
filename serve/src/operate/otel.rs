//! Spans for an OpenTelemetry collector, sent by OTLP over HTTP.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::http::{Method, Request, Response};
use bytes::Bytes;
use opentelemetry::trace::{
    Span as _, SpanContext, SpanKind, Status, TraceContextExt, TraceFlags, TraceState, Tracer,
    TracerProvider,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_http::hyper::HyperClient;
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use tokapi::{Error, Result};
use tokio::runtime::Handle;

use super::trace::{Parent, Span, Spans, TraceId};

/// The longest time for a batch of spans.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Sends the spans of requests to a collector, in batches.
pub struct Collector {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
}

/// The client of the exporter, whose own threads have no runtime.
#[derive(Debug)]
struct OnRuntime {
    client: HyperClient,
    runtime: Handle,
}

#[async_trait]
impl HttpClient for OnRuntime {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let client = self.client.clone();
        let sent = self
            .runtime
            .spawn(async move { client.send_bytes(request).await });
        sent.await?
    }
}

impl Collector {
    /// A collector that takes spans at `url`. The sampler, headers and names of resources come from the environment
    /// (`OTEL_TRACES_SAMPLER` and so on).
    ///
    /// # Errors
    /// The environment has a wrong value.
    pub fn new(url: &str, runtime: Handle) -> Result<Self> {
        let client = HyperClient::with_default_connector(TIMEOUT, None);
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(OnRuntime { client, runtime })
            .with_endpoint(url)
            .with_timeout(TIMEOUT)
            .build()
            .map_err(|error| Error::Usage(format!("traces: {url}: {error}")))?;
        let mut resource = Resource::builder();
        if std::env::var_os("OTEL_SERVICE_NAME").is_none() {
            resource = resource.with_service_name("tokapi");
        }
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource.build())
            .build();
        Ok(Collector {
            tracer: provider.tracer("tokapi"),
            provider,
        })
    }
}

impl Spans for Collector {
    fn begin(&self, parent: Option<Parent>, method: &Method, route: &str) -> Box<dyn Span> {
        let context = parent.map_or_else(Context::new, |parent| {
            Context::new().with_remote_span_context(SpanContext::new(
                parent.trace.into(),
                parent.span.into(),
                TraceFlags::new(parent.flags),
                true,
                TraceState::NONE,
            ))
        });
        let attributes = [
            KeyValue::new("http.request.method", method.to_string()),
            KeyValue::new("http.route", route.to_owned()),
        ];
        let span = self
            .tracer
            .span_builder(format!("{method} {route}"))
            .with_kind(SpanKind::Server)
            .with_attributes(attributes)
            .start_with_context(&self.tracer, &context);
        Box::new(span)
    }

    fn close(&self) {
        if let Err(error) = self.provider.shutdown() {
            tracing::warn!(%error, "the last spans were not sent");
        }
    }
}

impl Span for opentelemetry_sdk::trace::Span {
    fn trace(&self) -> TraceId {
        TraceId(u128::from_be_bytes(
            self.span_context().trace_id().to_bytes(),
        ))
    }

    fn end(mut self: Box<Self>, status: u16, request: Arc<str>) {
        self.set_attributes([
            KeyValue::new("http.response.status_code", i64::from(status)),
            KeyValue::new("tokapi.request", request),
        ]);
        if status >= 500 {
            self.set_status(Status::error(""));
        }
        opentelemetry::trace::Span::end(&mut *self);
    }
}
