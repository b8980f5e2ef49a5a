//! The limits of requests.

use serde::Deserialize;
use tokapi::Error;

use crate::problem::{Kind, Problem};

/// The most that a request may ask for. A request beyond a limit is refused, with the limit in the error.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of the body of a request.
    pub body_bytes: usize,
    /// Bytes of the text of a query.
    pub query_bytes: usize,
    /// Terms, phrases and filters of a query.
    pub query_terms: usize,
    /// Documents of an answer (`k`).
    pub k: usize,
    /// Searches of a batch.
    pub batch: usize,
    /// Documents of all answers of a batch: the sum of their `k`.
    pub batch_k: usize,
    /// Terms, postings or values of a page.
    pub page: usize,
    /// Characters of a snippet.
    pub snippet_characters: usize,
    /// Fields whose values a search counts.
    pub facets: usize,
    /// Values of a field that a search counts.
    pub facet_values: usize,
    /// Bytes of an answer, or of all answers of a batch.
    pub answer_bytes: usize,
    /// Milliseconds for a search that names no `timeout_ms`.
    pub timeout_ms: u64,
    /// The largest `timeout_ms`.
    pub longest_timeout_ms: u64,
    /// Milliseconds for a TLS handshake, for a client to send the head of a request, and again for its body.
    pub read_ms: u64,
    /// Connections that are open at the same time.
    pub connections: usize,
    /// Requests a second of all clients together, on average; without it, any number.
    pub rate: Option<f64>,
    /// Requests of all clients together at once; without it, those of a second.
    pub burst: Option<u32>,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            body_bytes: 1 << 20,
            query_bytes: 16 << 10,
            query_terms: 1024,
            k: 10_000,
            batch: 1000,
            batch_k: 100_000,
            page: 10_000,
            snippet_characters: 10_000,
            facets: 16,
            facet_values: 100,
            answer_bytes: 64 << 20,
            timeout_ms: 10_000,
            longest_timeout_ms: 60_000,
            read_ms: 30_000,
            connections: 10_000,
            rate: None,
            burst: None,
        }
    }
}

/// Checks `value`, named `what`, against a limit.
///
/// # Errors
/// It is above the limit.
pub fn at_most(what: &str, value: usize, limit: usize) -> Result<(), Problem> {
    match value <= limit {
        true => Ok(()),
        false => Err(Problem::new(
            Kind::LimitExceeded,
            format!("{what} is {value}, and the limit of this server is {limit}: ask for less"),
        )),
    }
}

/// Checks that `value`, named `what`, is not 0.
///
/// # Errors
/// It is.
pub fn at_least_1(what: &str, value: usize) -> Result<(), Problem> {
    match value {
        0 => Err(Problem::invalid(format!("{what} is 0: give 1 or more"))),
        _ => Ok(()),
    }
}

/// The bytes that an answer may still have. Its parts take theirs before they are kept, so that an answer that is too
/// large is given up early.
#[derive(Debug)]
pub struct Room {
    limit: usize,
    used: usize,
}

impl Room {
    /// Bytes of a part beside its texts: names of members, numbers.
    const PART: usize = 50;

    /// Room for an answer of `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Room { limit, used: 0 }
    }

    /// Takes room for bytes that are written.
    ///
    /// # Errors
    /// There is not as much.
    pub fn take(&mut self, bytes: usize) -> tokapi::Result<()> {
        self.used = self.used.saturating_add(bytes);
        match self.used <= self.limit {
            true => Ok(()),
            false => Err(Error::Limit(format!(
                "the answer is larger than {} bytes, the limit of this server: ask for fewer documents, or for less of each",
                self.limit
            ))),
        }
    }

    /// Takes room for a part with a text.
    ///
    /// # Errors
    /// There is not as much.
    pub fn take_part(&mut self, text: &str) -> tokapi::Result<()> {
        self.take(text.len() + Room::PART)
    }
}
