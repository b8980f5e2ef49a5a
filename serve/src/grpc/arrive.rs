//! The arrival of a call, and its failure: headers of gRPC become a [`Call`], problems become statuses.

use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Request as HttpRequest, header};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::StreamExt;
use futures_util::stream::unfold;
use tokio::time::timeout_at;
use tonic::{Request, Status};

use super::status::problem_of;
use crate::problem::{Kind, Problem};
use crate::service::{RequestId, Shared};
use crate::verbs::Call;

/// The header with the time that a client waits.
const TIMEOUT: &str = "grpc-timeout";

/// Passes a call on to its method, and other requests to their routes. Every failure of a call becomes a status, which has
/// its problem as an extension.
pub async fn arrive(
    State(service): State<Shared>,
    mut request: HttpRequest<Body>,
    next: Next,
) -> Response {
    if !is_call(request.headers()) {
        return next.run(request).await;
    }
    let started = Instant::now();
    let body_bytes = service.limits.body_bytes;
    let timeout = match timeout_of(request.headers()) {
        Ok(timeout) => timeout,
        Err(problem) => return failed(problem),
    };
    let id = request.extensions().get().cloned();
    let id: RequestId = id.unwrap_or_default();
    request.extensions_mut().insert(Call {
        service,
        started,
        id,
        until: timeout.map(|timeout| started + timeout),
    });
    let response = next.run(request).await;
    let problem = match response.extensions().get::<Problem>() {
        Some(problem) => Some(problem.clone()),
        None => match response.extensions().get::<Status>() {
            Some(status) => problem_of(status, body_bytes),
            None if is_call(response.headers()) => None,
            None => Some(Problem::new(
                Kind::UnknownRoute,
                "there is no such method: reflection lists those that there are",
            )),
        },
    };
    problem.map_or(response, failed)
}

fn failed(problem: Problem) -> Response {
    let mut response: Response = Status::from(problem.clone()).into_http();
    response.extensions_mut().insert(problem);
    response
}

/// Whether the content is that of gRPC.
fn is_call(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"))
}

/// The call of a request, and its message.
///
/// # Errors
/// The layer [`arrive`] is missing.
pub fn arrived<T>(request: Request<T>) -> Result<(Call, T), Status> {
    let call = request.extensions().get::<Call>().cloned();
    let call = call.ok_or_else(|| Status::internal("the call has not arrived"))?;
    Ok((call, request.into_inner()))
}

/// Passes a request on whose body must arrive in time.
pub async fn in_time(
    State(service): State<Shared>,
    request: HttpRequest<Body>,
    next: Next,
) -> Response {
    let read_ms = service.limits.read_ms;
    let end = tokio::time::Instant::now() + Duration::from_millis(read_ms);
    let request = request.map(|body| {
        let pieces = unfold(body.into_data_stream(), move |mut body| async move {
            let piece = match timeout_at(end, body.next()).await {
                Ok(piece) => piece?.map_err(axum::BoxError::from),
                Err(_) => Err(Status::from(Problem::new(
                    Kind::SlowRequest,
                    format!("the message did not arrive within {read_ms} ms: send it faster"),
                ))
                .into()),
            };
            Some((piece, body))
        });
        Body::from_stream(pieces)
    });
    next.run(request).await
}

/// The time that a client waits: up to 8 digits and a unit.
fn timeout_of(headers: &HeaderMap) -> Result<Option<Duration>, Problem> {
    let Some(given) = headers.get(TIMEOUT) else {
        return Ok(None);
    };
    let parse = || {
        let (number, unit) = given.to_str().ok()?.split_at_checked(given.len() - 1)?;
        let is_number =
            (1..=8).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit());
        let number: u64 = number.parse().ok().filter(|_| is_number)?;
        Some(match unit {
            "H" => Duration::from_secs(number * 3600),
            "M" => Duration::from_secs(number * 60),
            "S" => Duration::from_secs(number),
            "m" => Duration::from_millis(number),
            "u" => Duration::from_micros(number),
            "n" => Duration::from_nanos(number),
            _ => return None,
        })
    };
    match parse() {
        Some(timeout) => Ok(Some(timeout)),
        None => Err(Problem::invalid(format!(
            "the header {TIMEOUT} has no valid value: give it 1 to 8 digits and one of H, M, S, m, u and n"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_are_of_the_protocol() {
        let of = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(TIMEOUT, text.parse().unwrap());
            timeout_of(&headers).map(Option::unwrap)
        };
        for (text, timeout) in [
            ("2H", Duration::from_secs(7200)),
            ("3M", Duration::from_secs(180)),
            ("99999999S", Duration::from_secs(99_999_999)),
            ("10m", Duration::from_millis(10)),
            ("7u", Duration::from_micros(7)),
            ("0n", Duration::ZERO),
        ] {
            assert_eq!(of(text), Ok(timeout), "{text}");
        }
        for text in [
            "",
            "S",
            "1",
            "123456789S",
            "1s",
            "-1S",
            "+1S",
            "1 S",
            "1.5S",
            "\u{b5}1S",
        ] {
            assert!(of(text).is_err(), "{text}");
        }
        assert_eq!(timeout_of(&HeaderMap::new()), Ok(None));
    }
}
