//! The settings of a server: flags come before the environment, that before a file, that before defaults.

mod load;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use axum::http::Uri;
use serde::Deserialize;
use tokapi::{Error, Result};

pub use crate::gpu::{EngineName, GpuSettings};
use crate::limits::Limits;
use crate::model::SearchRequest;
use crate::served::USUAL_ROOM;

/// The form of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// For programs: one JSON object a line.
    Json,
}

/// All settings of a server.
///
/// ```
/// use tokapi_serve::Options;
///
/// let options: Options = Options::parse("listen = '127.0.0.1:0'\nlimits.k = 100", "serve.toml")?;
/// assert_eq!((options.listen.port(), options.limits.k), (0, 100));
/// assert!(Options::parse("limit.k = 100", "serve.toml").is_err());
/// # Ok::<(), tokapi::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Options {
    /// The folders of indexes, by the names under which they are served.
    pub indexes: BTreeMap<String, PathBuf>,
    /// The address and port to listen on; port 0 takes any free one.
    pub listen: SocketAddr,
    /// Whether clients may change indexes.
    pub write: bool,
    /// The folder of indexes that clients create. Those that it has are served too.
    pub data: Option<PathBuf>,
    /// The folder of snapshots that clients take; without it, they take none.
    pub snapshots: Option<PathBuf>,
    /// Bytes of memory for changes and merges; 0 means what is available.
    pub write_memory: u64,
    /// Threads that search; 0 means one a core.
    pub threads: usize,
    /// Threads that read and write connections; 0 means one for every four cores.
    pub connection_threads: usize,
    /// Searches that wait at most; more are refused.
    pub queue: usize,
    /// Searches that would wait for more milliseconds are refused; 0 refuses none for that.
    pub queue_ms: u64,
    /// The most bytes of cached answers; 0 caches none.
    pub cache_bytes: u64,
    /// The most bytes of the values of fields in memory, for facets.
    pub columns_bytes: u64,
    /// The processors that answer searches.
    pub engine: EngineName,
    /// The number of the GPU.
    pub device: u32,
    /// The use of the GPU.
    pub gpu: GpuSettings,
    /// The form of log lines.
    pub log: LogFormat,
    /// Whether every request is logged.
    pub access_log: bool,
    /// Searches that take as many milliseconds are logged; 0 logs none.
    pub slow_ms: u64,
    /// The URL of an OpenTelemetry collector that takes the spans of requests, by OTLP over HTTP. The environment has it
    /// in `OTEL_EXPORTER_OTLP_ENDPOINT`, as for other programs.
    pub traces: Option<String>,
    /// At the end, milliseconds from "not ready" to the end of new connections.
    pub drain_delay_ms: u64,
    /// At the end, the most milliseconds for requests under way.
    pub drain_ms: u64,
    /// Names of this server besides those of this machine, for a proxy that passes the name on. They count only if it
    /// listens on a loopback address; otherwise it may have any name.
    pub hosts: Vec<String>,
    /// The certificate; without one, connections are not encrypted.
    pub tls: TlsSettings,
    /// The tokens of clients; without any, everybody may do everything.
    pub tokens: Vec<TokenSettings>,
    /// The subset of Elasticsearch.
    pub elastic: ElasticSettings,
    /// The limits of requests.
    pub limits: Limits,
}

/// The effects that a token permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Scope {
    /// Searches, and everything else that only reads.
    Search,
    /// Changes of documents.
    Write,
    /// New and removed indexes; snapshots; metrics.
    Admin,
}

impl Scope {
    /// Its name in settings.
    pub fn name(self) -> &'static str {
        match self {
            Scope::Search => "search",
            Scope::Write => "write",
            Scope::Admin => "admin",
        }
    }
}

/// A token of clients.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenSettings {
    /// A name for the operator.
    pub name: String,
    /// The SHA-256 of the token, in hexadecimal digits: the token itself stands nowhere.
    pub sha256: String,
    /// The effects that it permits.
    pub scopes: Vec<Scope>,
    /// Requests a second, on average; without it, any number.
    #[serde(default)]
    pub rate: Option<f64>,
    /// Requests at once; without it, those of a second.
    #[serde(default)]
    pub burst: Option<u32>,
}

/// The certificate of the server, in files that may change while it runs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct TlsSettings {
    /// The file with the certificate and those of its issuers, as PEM.
    pub certificate: Option<PathBuf>,
    /// The file with the private key, as PEM.
    pub key: Option<PathBuf>,
    /// Milliseconds between two looks at the files.
    pub reload_ms: u64,
}

impl Default for TlsSettings {
    fn default() -> Self {
        TlsSettings {
            certificate: None,
            key: None,
            reload_ms: 10_000,
        }
    }
}

/// Settings for clients of Elasticsearch.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ElasticSettings {
    /// Whether answers have the header `X-Elastic-Product`, without which Elasticsearch's own clients stop.
    pub product: bool,
    /// The version of Elasticsearch that clients are told.
    pub version: String,
    /// The name of the text of an index that no client created.
    pub text: String,
}

impl Default for ElasticSettings {
    fn default() -> Self {
        ElasticSettings {
            product: false,
            version: "8.19.0".to_owned(),
            text: "contents".to_owned(),
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            indexes: BTreeMap::new(),
            listen: SocketAddr::from(([127, 0, 0, 1], 7878)),
            write: false,
            data: None,
            snapshots: None,
            write_memory: 0,
            threads: 0,
            connection_threads: 0,
            queue: 4096,
            queue_ms: 50,
            cache_bytes: 64 << 20,
            columns_bytes: USUAL_ROOM,
            engine: EngineName::default(),
            device: 0,
            gpu: GpuSettings::default(),
            log: LogFormat::default(),
            access_log: false,
            slow_ms: 1000,
            traces: None,
            drain_delay_ms: 1000,
            drain_ms: 30_000,
            hosts: Vec::new(),
            tls: TlsSettings::default(),
            tokens: Vec::new(),
            elastic: ElasticSettings::default(),
            limits: Limits::default(),
        }
    }
}

impl Options {
    /// Checks that usual requests are within the limits, and that spans can be sent.
    ///
    /// # Errors
    /// A limit is below the default of a request; the URL of the collector is none of HTTP, or this build sends no spans.
    pub fn check(&self) -> Result<()> {
        if let Some(url) = &self.traces {
            check_collector(url)?;
        }
        let usual = SearchRequest::default();
        let limits = &self.limits;
        let checks = [
            ("k", limits.k, usual.k),
            (
                "snippet_characters",
                limits.snippet_characters,
                usual.snippet_characters,
            ),
            ("connections", limits.connections, 1),
        ];
        for (name, limit, least) in checks {
            if limit < least {
                return Err(Error::Usage(format!(
                    "limits.{name} is {limit}, and usual requests need {least}: raise it"
                )));
            }
        }
        match (1..=limits.longest_timeout_ms).contains(&limits.timeout_ms) {
            true => Ok(()),
            false => Err(Error::Usage(format!(
                "limits.timeout_ms is {}: give 1 to {}, the value of limits.longest_timeout_ms",
                limits.timeout_ms, limits.longest_timeout_ms
            ))),
        }
    }

    /// The threads that search.
    pub fn search_threads(&self) -> usize {
        match self.threads {
            0 => cores(),
            threads => threads,
        }
    }

    /// The threads that read and write connections.
    pub(crate) fn runtime_threads(&self) -> usize {
        match self.connection_threads {
            0 => cores().div_ceil(4),
            threads => threads,
        }
    }
}

fn check_collector(url: &str) -> Result<()> {
    let is_http = url.parse::<Uri>().is_ok_and(|uri| {
        uri.scheme_str() == Some("http") && uri.host().is_some_and(|host| !host.is_empty())
    });
    if !cfg!(feature = "otel") {
        return Err(Error::Usage(
            "traces: this build sends no spans: build it with --features otel, or remove the setting".into(),
        ));
    }
    match is_http {
        true => Ok(()),
        false => Err(Error::Usage(format!(
            "traces: `{url}` is no URL of http: give that of a collector on this machine, as http://127.0.0.1:4318/v1/traces"
        ))),
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
