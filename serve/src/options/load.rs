//! Settings are read from a TOML file and from the environment.

use std::path::Path;

use serde::Deserialize;
use tokapi::{Error, Result};

use super::Options;

/// The beginning of the environment variables that are settings: `TOKAPI_SERVE_LISTEN`, `TOKAPI_SERVE_LIMITS_K`.
const PREFIX: &str = "TOKAPI_SERVE_";

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
        let mut collector = Collector::default();
        for (name, value) in environment {
            let Some(setting) = name.strip_prefix(PREFIX) else {
                collector.see(&name, value);
                continue;
            };
            let setting = setting.to_ascii_lowercase();
            let alone = table_of(&setting, value_of(&value));
            Options::deserialize(alone.clone()).map_err(|error| invalid(&name, &error))?;
            merge(&mut settings, alone);
        }
        let options = Options::deserialize(settings);
        let mut options = options.map_err(|error| invalid("the settings", &error))?;
        if cfg!(feature = "otel") && options.traces.is_none() {
            options.traces = collector.url();
        }
        Ok(options)
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
}

/// The collector that the environment names for all programs.
#[derive(Default)]
struct Collector {
    of_all: Option<String>,
    of_traces: Option<String>,
    is_off: bool,
}

impl Collector {
    fn see(&mut self, name: &str, value: String) {
        match name {
            "OTEL_EXPORTER_OTLP_ENDPOINT" => self.of_all = Some(value),
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT" => self.of_traces = Some(value),
            "OTEL_SDK_DISABLED" => self.is_off = value.eq_ignore_ascii_case("true"),
            _ => {}
        }
    }

    fn url(self) -> Option<String> {
        let of_all = self.of_all.filter(|url| !url.is_empty());
        let of_all = of_all.map(|url| format!("{}/v1/traces", url.trim_end_matches('/')));
        let of_traces = self.of_traces.filter(|url| !url.is_empty());
        of_traces.or(of_all).filter(|_| !self.is_off)
    }
}

/// An error in one line, with its place.
fn invalid(place: &str, error: &toml::de::Error) -> Error {
    Error::Usage(format!("{place}: {}", error.message().replace('\n', " ")))
}

/// A setting of the environment as a table: `limits_k` is `k` of `limits`.
fn table_of(setting: &str, value: toml::Value) -> toml::Table {
    for table in ["limits", "elastic", "gpu", "tls"] {
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
    use crate::options::LogFormat;

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
    fn a_collector_is_that_of_other_programs() {
        let url = |environment: &[(&str, &str)]| {
            let mut collector = Collector::default();
            for (name, value) in environment {
                collector.see(name, (*value).to_owned());
            }
            collector.url()
        };
        let of_all = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a:4318/");
        let of_traces = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://b/x");
        assert_eq!(url(&[]), None);
        assert_eq!(url(&[of_all]).unwrap(), "http://a:4318/v1/traces");
        assert_eq!(url(&[of_traces, of_all]).unwrap(), "http://b/x");
        assert_eq!(url(&[of_all, ("OTEL_SDK_DISABLED", "true")]), None);
        assert_eq!(url(&[(of_all.0, "")]), None);
        let options = load("", &[of_all]).unwrap();
        assert_eq!(options.traces.is_some(), cfg!(feature = "otel"));
        let options = load("traces = 'http://c'", &[of_all]).unwrap();
        assert_eq!(options.traces.unwrap(), "http://c");
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
