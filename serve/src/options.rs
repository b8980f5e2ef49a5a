//! The settings of a server: flags come before the environment, that before a file, that before defaults.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use tokapi::{Error, Result};

use crate::limits::Limits;
use crate::model::SearchRequest;

/// The beginning of the environment variables that are settings: `TOKAPI_SERVE_LISTEN`, `TOKAPI_SERVE_LIMITS_K`.
pub const PREFIX: &str = "TOKAPI_SERVE_";

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

/// The processors that answer searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineName {
    /// A GPU too, if this build and machine have one.
    Auto,
    /// The CPU.
    #[default]
    Cpu,
    /// A GPU too; an error if none can be used.
    Gpu,
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
    /// The processors that answer searches.
    pub engine: EngineName,
    /// The number of the GPU.
    pub device: u32,
    /// The form of log lines.
    pub log: LogFormat,
    /// Whether every request is logged.
    pub access_log: bool,
    /// Searches that take as many milliseconds are logged; 0 logs none.
    pub slow_ms: u64,
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
    /// New and removed indexes; metrics.
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
            write_memory: 0,
            threads: 0,
            connection_threads: 0,
            queue: 4096,
            queue_ms: 50,
            cache_bytes: 64 << 20,
            engine: EngineName::default(),
            device: 0,
            log: LogFormat::default(),
            access_log: false,
            slow_ms: 1000,
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
    /// The settings of a TOML file, if there is one, and of environment variables.
    ///
    /// # Errors
    /// The file cannot be read; a setting is unknown or has no valid value.
    pub fn load(
        file: Option<&Path>,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self> {
        let mut settings = toml::Table::new();
        if let Some(path) = file {
            let text = std::fs::read_to_string(path).map_err(|source| Error::Read {
                path: path.to_path_buf(),
                source,
            })?;
            let place = path.display().to_string();
            // Names the line; afterwards the place of a setting is lost.
            Options::parse(&text, &place)?;
            settings = toml::from_str(&text).map_err(|error| invalid(&place, &error))?;
        }
        for (name, value) in environment {
            let Some(setting) = name.strip_prefix(PREFIX) else {
                continue;
            };
            let setting = setting.to_ascii_lowercase();
            let alone = table_of(&setting, value_of(&value));
            Options::deserialize(alone.clone()).map_err(|error| invalid(&name, &error))?;
            merge(&mut settings, alone);
        }
        let options = Options::deserialize(settings);
        options.map_err(|error| invalid("the settings", &error))
    }

    /// The settings of a TOML text from `place`.
    ///
    /// # Errors
    /// A setting is unknown or has no valid value.
    pub fn parse(text: &str, place: &str) -> Result<Self> {
        toml::from_str(text).map_err(|error| match error.span() {
            Some(span) => {
                let line = text[..span.start.min(text.len())].matches('\n').count();
                let setting = text.lines().nth(line).unwrap_or_default().trim();
                invalid(&format!("{place}, line {}, `{setting}`", line + 1), &error)
            }
            None => invalid(place, &error),
        })
    }

    /// Checks that usual requests are within the limits.
    ///
    /// # Errors
    /// A limit is below the default of a request.
    pub fn check(&self) -> Result<()> {
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

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// An error in one line, with its place.
fn invalid(place: &str, error: &toml::de::Error) -> Error {
    Error::Usage(format!("{place}: {}", error.message().replace('\n', " ")))
}

/// A setting of the environment as a table: `limits_k` is `k` of `limits`.
fn table_of(setting: &str, value: toml::Value) -> toml::Table {
    for table in ["limits", "elastic", "tls"] {
        let inner = setting.strip_prefix(table);
        if let Some(name) = inner.and_then(|rest| rest.strip_prefix('_')) {
            let inner = toml::Table::from_iter([(name.to_owned(), value)]);
            return toml::Table::from_iter([(table.to_owned(), inner.into())]);
        }
    }
    toml::Table::from_iter([(setting.to_owned(), value)])
}

/// The value of an environment variable: of TOML if it is that, otherwise a string.
fn value_of(text: &str) -> toml::Value {
    let parsed: Option<toml::Table> = toml::from_str(&format!("value = {text}")).ok();
    let value = parsed.and_then(|mut table| table.remove("value"));
    value.unwrap_or_else(|| toml::Value::String(text.to_owned()))
}

/// Adds the settings of `over`, which come before those that are there.
fn merge(settings: &mut toml::Table, over: toml::Table) {
    for (name, value) in over {
        match (settings.get_mut(&name), value) {
            (Some(toml::Value::Table(inner)), toml::Value::Table(over)) => merge(inner, over),
            (_, value) => {
                settings.insert(name, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(file: &str, environment: &[(&str, &str)]) -> Result<Options, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("serve.toml");
        std::fs::write(&path, file).unwrap();
        let environment = environment.iter();
        let environment = environment.map(|(name, value)| (name.to_string(), value.to_string()));
        let options = Options::load(Some(&path), environment);
        options.map_err(|error| error.to_string().replace(&path.display().to_string(), "F"))
    }

    #[test]
    fn the_environment_comes_before_the_file() {
        let file = "queue = 5\nlog = 'json'\n[limits]\nk = 7\nbatch = 8\n[indexes]\na = '/a'\n";
        let environment = [
            ("TOKAPI_SERVE_QUEUE", "6"),
            ("TOKAPI_SERVE_LIMITS_K", "9"),
            ("TOKAPI_SERVE_LISTEN", "[::1]:80"),
            ("TOKAPI_SERVE_ACCESS_LOG", "true"),
            ("TOKAPI_SERVE_TLS_KEY", "/etc/tls/key.pem"),
            ("OTHER", "x"),
        ];
        let options = load(file, &environment).unwrap();
        assert_eq!(
            (options.queue, options.limits.k, options.limits.batch),
            (6, 9, 8)
        );
        assert_eq!(options.listen.to_string(), "[::1]:80");
        assert!(options.access_log);
        assert_eq!(
            options.tls.key.as_deref(),
            Some(Path::new("/etc/tls/key.pem"))
        );
        assert_eq!(options.log, LogFormat::Json);
        assert_eq!(options.indexes["a"], Path::new("/a"));
        assert_eq!(load("", &[]).unwrap(), Options::default());
    }

    #[test]
    fn limits_leave_room_for_usual_requests() {
        assert!(Options::default().check().is_ok());
        for limit in [
            "k = 9",
            "snippet_characters = 199",
            "timeout_ms = 0",
            "longest_timeout_ms = 9999",
            "connections = 0",
        ] {
            let options = load(&format!("limits.{limit}"), &[]).unwrap();
            assert!(options.check().is_err(), "{limit}");
        }
    }

    #[test]
    fn unknown_settings_are_errors_with_their_place() {
        let error = load("queue = 5\nqueu = 6\n", &[]).unwrap_err();
        assert!(
            error.starts_with("F, line 2, `queu = 6`: unknown field `queu`"),
            "{error}"
        );
        let error = load("limits.k = 'x'", &[]).unwrap_err();
        assert!(
            error.starts_with("F, line 1, `limits.k = 'x'`: invalid type"),
            "{error}"
        );
        let error = load("", &[("TOKAPI_SERVE_QUEU", "6")]).unwrap_err();
        assert!(
            error.starts_with("TOKAPI_SERVE_QUEU: unknown field"),
            "{error}"
        );
        let error = load("", &[("TOKAPI_SERVE_LIMITS_K", "many")]).unwrap_err();
        assert!(
            error.starts_with("TOKAPI_SERVE_LIMITS_K: invalid type"),
            "{error}"
        );
    }
}
