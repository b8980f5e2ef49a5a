//! Tokens: who may search, change documents, or administer.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{MatchedPath, State};
use axum::http::{HeaderValue, Method, Request, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};
use tokapi::{Error, Result};

use crate::options::{Scope, TokenSettings};
use crate::problem::{Kind, Problem};

/// The tokens of a server. Without any, everybody may do everything.
pub struct Access {
    tokens: Vec<Token>,
}

struct Token {
    hash: [u8; 32],
    scopes: Vec<Scope>,
}

impl Access {
    /// The tokens of the settings.
    ///
    /// # Errors
    /// A hash is no SHA-256; a token has no scope.
    pub fn new(settings: &[TokenSettings]) -> Result<Self> {
        let token = |token: &TokenSettings| {
            let wrong = |what: &str| Error::Usage(format!("the token `{}`: {what}", token.name));
            let hash = of_hex(&token.sha256).ok_or_else(|| {
                wrong("sha256 is not 64 hexadecimal digits: write the output of `printf %s TOKEN | sha256sum`")
            })?;
            match token.scopes.is_empty() {
                true => Err(wrong("it has no scope: give it search, write or admin")),
                false => Ok(Token {
                    hash,
                    scopes: token.scopes.clone(),
                }),
            }
        };
        let tokens = settings.iter().map(token).collect::<Result<_>>()?;
        Ok(Access { tokens })
    }

    /// Checks that a request has a token with a scope.
    fn check(&self, request: &Request<Body>, scope: Scope) -> Result<Granted, Problem> {
        if self.tokens.is_empty() {
            return Ok(Granted(vec![Scope::Search, Scope::Write, Scope::Admin]));
        }
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
                "this server wants a token: send it in the header `authorization: Bearer TOKEN`",
            ));
        };
        let hash: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        // All tokens are compared, whichever it is.
        let mut found = None;
        for token in &self.tokens {
            if is_equal(&token.hash, &hash) {
                found = Some(&token.scopes);
            }
        }
        match found {
            None => Err(Problem::new(
                Kind::Unauthorized,
                "the token is not one of this server: ask its operator for one",
            )),
            Some(scopes) if !scopes.contains(&scope) => Err(Problem::new(
                Kind::Forbidden,
                format!(
                    "the token has not the scope {}: ask the operator of this server for another one",
                    scope.name()
                ),
            )),
            Some(scopes) => Ok(Granted(scopes.clone())),
        }
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
    const OPEN: [&str; 3] = ["/", "/live", "/ready"];
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
    Some(match *method {
        _ if route == "/metrics" => Scope::Admin,
        Method::GET | Method::HEAD => Scope::Search,
        Method::POST if READS.contains(&last) => Scope::Search,
        _ if is_index => Scope::Admin,
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
            PUT /{index} admin
            HEAD /{index} search";
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
        };
        let all = "a".repeat(64);
        assert!(Access::new(&[token(&all, &[Scope::Search])]).is_ok());
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
        ] {
            let error = Access::new(&[wrong]).err().unwrap().to_string();
            assert!(
                error.contains("`reader`") && error.contains(part),
                "{error}"
            );
        }
    }
}
