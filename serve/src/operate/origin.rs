//! Requests of browsers that another site has sent: they are refused. A page elsewhere must neither change the indexes of
//! a server on the user's machine, nor read them under a name of its own (DNS rebinding).

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::uri::Authority;
use axum::http::{Request, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::problem::{Kind, Problem};

/// The names under which a server may be asked.
pub struct Origins {
    /// Whether it listens for this machine only: then it has only the names of this machine.
    pub is_local: bool,
    /// Whether connections are encrypted: then so is its own page. Otherwise a proxy may have encrypted them.
    pub is_tls: bool,
    /// Further names.
    pub hosts: Vec<String>,
}

impl Origins {
    fn check(&self, request: &Request<Body>) -> Result<(), Problem> {
        let header = |name| {
            request
                .headers()
                .get(name)
                .and_then(|value| value.to_str().ok())
        };
        let host = request.uri().authority().map(Authority::as_str);
        let host = host.or(header(header::HOST)).unwrap_or_default();
        let is_known = is_of_this_machine(host) || self.hosts.iter().any(|h| h == name(host));
        // Every browser names the host.
        if self.is_local && !host.is_empty() && !is_known {
            return Err(Problem::new(
                Kind::Forbidden,
                format!(
                    "this server listens on a loopback address, and `{}` is not one of its names: use localhost, or add \
                     the name to the setting `hosts`",
                    host.escape_debug()
                ),
            ));
        }
        // `null` is the origin of files and of some redirections.
        let is_own = |origin: &str| {
            let (scheme, name) = origin.split_once("://").unwrap_or(("", origin));
            name == host && (scheme == "https" || !self.is_tls)
        };
        let is_foreign = header(header::HeaderName::from_static("sec-fetch-site"))
            .map(|site| !["same-origin", "none"].contains(&site))
            // Navigation by a link is harmless: it only reads, and the other site does not see the answer.
            .map(|is_foreign| {
                is_foreign
                    && header(header::HeaderName::from_static("sec-fetch-mode")) != Some("navigate")
            });
        match is_foreign.unwrap_or(false) || !header(header::ORIGIN).is_none_or(is_own) {
            false => Ok(()),
            true => Err(Problem::new(
                Kind::Forbidden,
                "the request comes from a page of another site: this server answers only its own page, and programs",
            )),
        }
    }
}

/// The name of a host, without its port.
fn name(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

fn is_of_this_machine(host: &str) -> bool {
    let name = name(host);
    let address = name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'));
    let address: Option<IpAddr> = address.unwrap_or(name).parse().ok();
    let is_name = name == "localhost" || name.ends_with(".localhost");
    is_name || address.is_some_and(|address| address.is_loopback())
}

/// Lets a request pass unless a page of another site has sent it.
pub async fn same_site(
    State(origins): State<Arc<Origins>>,
    request: Request<Body>,
    next: Next,
) -> Response {
    match origins.check(&request) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_other_sites_are_refused() {
        let passes_tls = |is_local: bool, is_tls: bool, headers: &[(&str, &str)]| {
            let origins = Origins {
                is_local,
                is_tls,
                hosts: vec!["search.example".to_owned()],
            };
            let mut request = Request::builder().method("POST").uri("/v1");
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            origins.check(&request.body(Body::empty()).unwrap()).is_ok()
        };
        let passes =
            |is_local: bool, headers: &[(&str, &str)]| passes_tls(is_local, false, headers);
        for host in [
            "localhost:7878",
            "127.0.0.1:7878",
            "[::1]:7878",
            "localhost",
            "search.example:80",
        ] {
            assert!(passes(true, &[("host", host)]), "{host}");
            let origin = format!("http://{host}");
            assert!(
                passes(true, &[("host", host), ("origin", &origin)]),
                "{host}"
            );
            // A proxy may have encrypted the request.
            let encrypted = format!("https://{host}");
            let encrypted = [("host", host), ("origin", &encrypted)];
            assert!(passes(true, &encrypted), "{host}");
            assert!(passes_tls(true, true, &encrypted), "{host}");
            let plain = [("host", host), ("origin", &*origin)];
            assert!(!passes_tls(true, true, &plain), "{host}");
            assert!(!passes(
                true,
                &[("host", host), ("origin", "https://evil.example")]
            ));
            assert!(!passes(true, &[("host", host), ("origin", "null")]));
            assert!(!passes(
                true,
                &[("host", host), ("sec-fetch-site", "cross-site")]
            ));
            assert!(passes(
                true,
                &[("host", host), ("sec-fetch-site", "same-origin")]
            ));
        }
        for host in [
            "evil.example:7878",
            "10.0.0.1",
            "localhost.evil.example",
            "x",
        ] {
            assert!(!passes(true, &[("host", host)]), "{host}");
            assert!(passes(false, &[("host", host)]), "{host}");
        }
        let link = [
            ("host", "localhost"),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-mode", "navigate"),
        ];
        assert!(passes(true, &link));
    }
}
