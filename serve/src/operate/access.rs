//! Tokens: who may search, change documents, or administer, and how often.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{MatchedPath, State};
use axum::http::{HeaderValue, Method, Request, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use prometheus_client::metrics::counter::Counter;
use sha2::{Digest, Sha256};
use tokapi::{Error, Result};

use super::metrics::Metrics;
use super::rate::Rate;
use crate::limits::Limits;
use crate::options::{Scope, TokenSettings};
use crate::problem::{Kind, Problem};

/// The tokens of a server, and its rates. Without tokens, everybody may do everything.
pub struct Access {
    tokens: Vec<Token>,
    /// Of all requests together.
    pace: Pace,
    /// The beginning of the clock of rates.
    started: Instant,
}

struct Token {
    hash: [u8; 32],
    scopes: Vec<Scope>,
    pace: Pace,
}

/// The rate of some requests, if it is limited.
struct Pace {
    rate: Option<Rate>,
    /// Requests beyond it.
    refused: Counter,
}

impl Pace {
    fn check(&self, whose: &str, started: Instant) -> Result<(), Problem> {
        let Some(rate) = &self.rate else {
            return Ok(());
        };
        rate.pass(started.elapsed()).map_err(|wait| {
            self.refused.inc();
            Problem::too_many(whose, wait)
        })
    }
}

impl Access {
    /// The tokens and rates of the settings.
    ///
    /// # Errors
    /// A hash is no SHA-256; a token has no scope; a rate leaves room for no request.
    pub fn new(settings: &[TokenSettings], limits: &Limits, metrics: &Metrics) -> Result<Self> {
        let token = |token: &TokenSettings| {
            let wrong = |what: &str| Error::Usage(format!("the token `{}`: {what}", token.name));
            let hash = of_hex(&token.sha256).ok_or_else(|| {
                wrong("sha256 is not 64 hexadecimal digits: write the output of `printf %s TOKEN | sha256sum`")
            })?;
            if token.scopes.is_empty() {
                return Err(wrong(
                    "it has no scope: give it `search`, `write` or `admin`",
                ));
            }
            let rate = Rate::of(token.rate, token.burst);
            Ok(Token {
                hash,
                scopes: token.scopes.clone(),
                pace: Pace {
                    rate: rate.map_err(|error| wrong(&error.to_string()))?,
                    refused: metrics.over_rate(Some(&token.name)),
                },
            })
        };
        let of_all = Rate::of(limits.rate, limits.burst)
            .map_err(|error| Error::Usage(format!("limits.{error}")))?;
        Ok(Access {
            tokens: settings.iter().map(token).collect::<Result<_>>()?,
            pace: Pace {
                rate: of_all,
                refused: metrics.over_rate(None),
            },
            started: Instant::now(),
        })
    }

    /// Checks that a request may be answered: it has a token with a scope, and is not one too many.
    fn check(&self, request: &Request<Body>, scope: Scope) -> Result<Granted, Problem> {
        let scopes = match self.tokens.is_empty() {
            true => &[Scope::Search, Scope::Write, Scope::Admin],
            false => {
                let token = self.token_of(request)?;
                let what = "the token has sent more requests than its rate permits";
                token.pace.check(what, self.started)?;
                &*token.scopes
            }
        };
        let what = "the server has got more requests than its rate permits";
        self.pace.check(what, self.started)?;
        match scopes.contains(&scope) {
            true => Ok(Granted(scopes.to_vec())),
            false => Err(Problem::new(
                Kind::Forbidden,
                format!(
                    "the token lacks the scope {}: ask the operator of this server for another token",
                    scope.name()
                ),
            )),
        }
    }

    fn token_of(&self, request: &Request<Body>) -> Result<&Token, Problem> {
        let given = request.headers().get(header::AUTHORIZATION);
        let given = given.and_then(|given| given.to_str().ok());
        let token = given.and_then(|given| {
            let (scheme, token) = given.split_once(' ')?;
            let is_known = ["bearer", "apikey"].contains(&&*scheme.to_ascii_lowercase());
            is_known.then(|| token.trim())
        });
        let Some(token) = token else {
            return Err(Problem::new(
                Kind::Unauthorized,
                "this server requires a token: send it in the header `authorization: Bearer TOKEN`",
            ));
        };
        let hash: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        // All tokens are compared, whichever it is.
        let mut found = None;
        for token in &self.tokens {
            if is_equal(&token.hash, &hash) {
                found = Some(token);
            }
        }
        found.ok_or_else(|| {
            Problem::new(
                Kind::Unauthorized,
                "the token is unknown: ask the operator of this server for one",
            )
        })
    }
}

/// The scopes of a request: an extension of it.
#[derive(Debug, Clone)]
pub struct Granted(Vec<Scope>);

impl Granted {
    /// Whether the request may have an effect.
    pub fn has(&self, scope: Scope) -> bool {
        self.0.contains(&scope)
    }
}

/// Compares in the same time for all values.
fn is_equal(a: &[u8; 32], b: &[u8; 32]) -> bool {
    let differences = a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b));
    std::hint::black_box(differences) == 0
}

fn of_hex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    for (place, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * place..2 * place + 2], 16).ok()?;
    }
    Some(bytes)
}

/// The scope that a route needs; none if everybody may use it.
fn scope_of(method: &Method, route: &str) -> Option<Scope> {
    const OPEN: [&str; 4] = ["/", "/live", "/ready", "/grpc.health.v1.Health/{method}"];
    const READS: [&str; 7] = [
        "search", "searches", "count", "_search", "_msearch", "_count", "_mget",
    ];
    // The files of the page.
    let is_file = route.ends_with(".js") || route.ends_with(".css");
    if OPEN.contains(&route) || is_file {
        return None;
    }
    let last = route.rsplit('/').next().unwrap_or_default();
    let is_index = ["/v1/indexes/{index}", "/{index}"].contains(&route);
    // Methods of gRPC have the verb at the beginning of their name.
    let is_call = route.starts_with("/tokapi.v1.");
    let begins = |verbs: &[&str]| is_call && verbs.iter().any(|verb| last.starts_with(verb));
    let is_reflection = route.starts_with("/grpc.reflection.");
    Some(match *method {
        _ if route == "/metrics" || route.starts_with("/v1/snapshots") => Scope::Admin,
        _ if route.starts_with("/tokapi.v1.SnapshotService/") => Scope::Admin,
        Method::GET | Method::HEAD => Scope::Search,
        Method::POST if READS.contains(&last) => Scope::Search,
        _ if begins(&["Search", "Count", "Get", "List"]) || is_reflection => Scope::Search,
        _ if is_index || begins(&["Create", "Drop"]) => Scope::Admin,
        _ => Scope::Write,
    })
}

/// Lets a request pass if its token permits it.
pub async fn permit(
    State(access): State<Arc<Access>>,
    mut request: Request<Body>,
    next: Next,
) -> Response {
    let route = request.extensions().get::<MatchedPath>();
    // A path without a route is told to clients with any token.
    let route = route.map_or("/none/{none}", MatchedPath::as_str);
    let permitted = match scope_of(request.method(), route) {
        None => Ok(Granted(Vec::new())),
        Some(scope) => access.check(&request, scope),
    };
    match permitted {
        Ok(granted) => {
            request.extensions_mut().insert(granted);
            next.run(request).await
        }
        Err(problem) => {
            let is_unknown = problem.kind() == Kind::Unauthorized;
            let mut response = problem.into_response();
            if is_unknown {
                let scheme = HeaderValue::from_static("Bearer");
                response
                    .headers_mut()
                    .insert(header::WWW_AUTHENTICATE, scheme);
            }
            response
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_need_the_scope_of_their_effect() {
        let table = "\
            GET / everybody
            GET /app.js everybody
            GET /ready everybody
            GET /metrics admin
            GET /v1/indexes search
            POST /v1/indexes/{index}/search search
            POST /{index}/_msearch search
            POST /{index}/_delete_by_query write
            POST /v1/indexes/{index}/bulk write
            PUT /v1/indexes/{index}/documents/{id} write
            DELETE /v1/indexes/{index} admin
            GET /v1/snapshots admin
            POST /v1/snapshots/{snapshot}/restore admin
            PUT /{index} admin
            HEAD /{index} search
            POST /grpc.health.v1.Health/{method} everybody
            POST /grpc.reflection.v1.ServerReflection/{method} search
            POST /tokapi.v1.SearchService/SearchStream search
            POST /tokapi.v1.SearchService/Count search
            POST /tokapi.v1.IndexService/ListTerms search
            POST /tokapi.v1.DocumentService/GetVector search
            POST /tokapi.v1.DocumentService/PutDocument write
            POST /tokapi.v1.DocumentService/Bulk write
            POST /tokapi.v1.IndexService/MergeIndex write
            POST /tokapi.v1.IndexService/CreateIndex admin
            POST /tokapi.v1.IndexService/DropIndex admin
            POST /tokapi.v1.SnapshotService/ListSnapshots admin";
        for line in table.lines() {
            let [method, route, scope] = line.split_whitespace().collect::<Vec<_>>()[..] else {
                panic!("{line}");
            };
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            let found = scope_of(&method, route).map_or("everybody", Scope::name);
            assert_eq!(found, scope, "{line}");
        }
    }

    #[test]
    fn wrong_settings_are_told() {
        let token = |sha256: &str, scopes: &[Scope]| TokenSettings {
            name: "reader".to_owned(),
            sha256: sha256.to_owned(),
            scopes: scopes.to_vec(),
            rate: None,
            burst: None,
        };
        let new = |token: TokenSettings, limits: &Limits| {
            Access::new(&[token], limits, &Metrics::default())
                .err()
                .map(|error| error.to_string())
        };
        let usual = Limits::default();
        let all = "a".repeat(64);
        let good = token(&all, &[Scope::Search]);
        assert_eq!(new(good.clone(), &usual), None);
        let rate = Some(-1.0);
        let limits = Limits {
            rate,
            ..Limits::default()
        };
        let error = new(good.clone(), &limits).unwrap();
        assert!(error.starts_with("limits.rate is -1"), "{error}");
        let fast = TokenSettings { rate, ..good };
        for (wrong, part) in [
            (token("abc", &[Scope::Search]), "64 hexadecimal digits"),
            (
                token(&"g".repeat(64), &[Scope::Search]),
                "64 hexadecimal digits",
            ),
            (
                token(&"é".repeat(32), &[Scope::Search]),
                "64 hexadecimal digits",
            ),
            (token(&all, &[]), "no scope"),
            (fast, "rate is -1"),
        ] {
            let error = new(wrong, &usual).unwrap();
            assert!(
                error.contains("`reader`") && error.contains(part),
                "{error}"
            );
        }
    }
}
