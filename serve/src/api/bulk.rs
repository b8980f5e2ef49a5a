//! Many changes in one request: a line of JSON each, answered line by line while the request still arrives.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::http::{HeaderValue, Request, header};
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use tokio::sync::mpsc;

use super::asked::{Aimed, IndexPath};
use super::extract::Key;
use super::parameters::Url;
use super::reply::Answer;
use crate::limits::Limits;
use crate::model::{BulkAnswer, BulkLine};
use crate::problem::{Kind, Problem};
use crate::verbs::{Batch, Changes, blocking};

/// Bytes of lines that are applied together, at least.
const BATCH_BYTES: usize = 4 << 20;
/// Batches of answers that wait for a slow client.
const WAITING: usize = 4;
const NDJSON: HeaderValue = HeaderValue::from_static("application/x-ndjson");

/// Change many documents
///
/// Each line is an object with one member: `put`, `create` or `delete`. Lines are applied in their order, some thousand
/// at a time. Each line has a line of the answer, which comes when its change is on disk and visible to searches.
#[utoipa::path(
    post,
    path = "/v1/indexes/{index}/bulk",
    params(Key),
    request_body(content = BulkLine, content_type = "application/x-ndjson"),
    responses((status = 200, description = "A line for each line", body = BulkAnswer, content_type = "application/x-ndjson"))
)]
pub async fn bulk(
    Url(()): Url<()>,
    Key(key): Key,
    Aimed { call, place }: Aimed,
    request: Request<Body>,
) -> Answer {
    let IndexPath { index } = place;
    let kind = request.headers().get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !["application/x-ndjson", "application/jsonl"].contains(&kind) {
        return Err(Problem::new(
            Kind::UnsupportedMediaType,
            "a bulk request has lines of JSON: send them with the header content-type: application/x-ndjson",
        ));
    }
    let changes = Changes::of(&call, index).await?;
    let (answers, from) = mpsc::channel::<Bytes>(WAITING);
    let body = request.into_body().into_data_stream();
    let bulk = Bulk {
        limits: call.service.limits.clone(),
        changes: Arc::new(changes),
        key,
        answers,
        line: 0,
        batch: 0,
    };
    tokio::spawn(bulk.run(body));
    let lines = futures_util::stream::unfold(from, async |mut from| {
        let line = from.recv().await?;
        Some((Ok::<_, std::convert::Infallible>(line), from))
    });
    let mut response = Response::new(Body::from_stream(lines));
    response.headers_mut().insert(header::CONTENT_TYPE, NDJSON);
    Ok(response)
}

/// A bulk request under way.
struct Bulk {
    limits: Limits,
    changes: Arc<Changes>,
    key: Option<String>,
    answers: mpsc::Sender<Bytes>,
    /// Lines and batches so far.
    line: u64,
    batch: u64,
}

impl Bulk {
    async fn run(mut self, mut body: BodyDataStream) {
        let mut rest = BytesMut::new();
        let fault = loop {
            // The same lines form the same batches, whatever pieces they arrive in.
            let lines = match whole_lines(&mut rest) {
                Some(lines) => lines,
                None => match self.read(&mut body, &mut rest).await {
                    Ok(true) => continue,
                    Ok(false) => std::mem::take(&mut rest).freeze(),
                    Err(problem) => break Some(problem),
                },
            };
            let is_end = lines.is_empty();
            if is_end || !self.apply(lines).await {
                break None;
            }
        };
        if let Some(problem) = fault {
            self.send_fault(problem).await;
        }
    }

    /// Reads the next piece of the body; false at its end.
    async fn read(&self, body: &mut BodyDataStream, rest: &mut BytesMut) -> Result<bool, Problem> {
        let limits = &self.limits;
        let longest = Duration::from_millis(limits.read_ms);
        let Ok(piece) = tokio::time::timeout(longest, body.next()).await else {
            return Err(Problem::new(
                Kind::SlowRequest,
                format!(
                    "no bytes arrived for {} ms: send the rest in another request",
                    limits.read_ms
                ),
            ));
        };
        let Some(piece) = piece else {
            return Ok(false);
        };
        let piece = piece.map_err(|error| {
            Problem::invalid(format!("the body cannot be read to its end: {error}"))
        })?;
        rest.extend_from_slice(&piece);
        match rest.len() > BATCH_BYTES + limits.body_bytes {
            false => Ok(true),
            true => Err(Problem::new(
                Kind::BodyTooLarge,
                format!(
                    "line {} is larger than {} bytes, the limit of this server",
                    self.line + 1,
                    limits.body_bytes
                ),
            )),
        }
    }

    /// Applies lines as one change, and sends their answers; false if the client has gone.
    async fn apply(&mut self, lines: Bytes) -> bool {
        let (changes, before) = (Arc::clone(&self.changes), self.line);
        let limit = self.limits.body_bytes;
        let parse = move || {
            let mut batch = changes.batch(before)?;
            parse(&lines, limit, &mut batch);
            Ok(batch)
        };
        let batch = match blocking(parse).await {
            Ok(batch) => batch,
            Err(problem) => {
                self.send_fault(problem).await;
                return false;
            }
        };
        self.batch += 1;
        let key = self.key.as_ref().map(|key| format!("{key}#{}", self.batch));
        let answers = self.changes.apply(batch, key).done().await;
        self.line += answers.len() as u64;
        self.send(&answers).await
    }

    /// Sends the fault of the next line.
    async fn send_fault(&mut self, problem: Problem) {
        self.line += 1;
        let mut answer = BulkAnswer::new(self.line);
        answer.problem = Some(problem);
        self.send(&[answer]).await;
    }

    /// Sends answers; false if the client has gone.
    async fn send(&self, answers: &[BulkAnswer]) -> bool {
        let mut lines = Vec::new();
        for answer in answers {
            // Writing to memory does not fail.
            let _ = serde_json::to_writer(&mut lines, answer);
            lines.push(b'\n');
        }
        self.answers.send(lines.into()).await.is_ok()
    }
}

/// Takes whole lines of at least [`BATCH_BYTES`], if there are as many.
fn whole_lines(rest: &mut BytesMut) -> Option<Bytes> {
    let from = BATCH_BYTES - 1;
    let end = rest.get(from..)?.iter().position(|&byte| byte == b'\n')?;
    Some(rest.split_to(from + end + 1).freeze())
}

/// Parses lines of at most `limit` bytes.
fn parse(lines: &[u8], limit: usize, batch: &mut Batch) {
    let lines = lines.strip_suffix(b"\n").unwrap_or(lines);
    for line in lines.split(|&byte| byte == b'\n') {
        let parsed: Result<BulkLine, serde_json::Error> = match line.len() <= limit {
            true => serde_json::from_slice(line),
            false => Err(serde::de::Error::custom(format!(
                "it has {} bytes, and the limit of this server is {limit}",
                line.len()
            ))),
        };
        let number = batch.next_line();
        batch.push(parsed.map_err(|error| Problem::invalid(format!("line {number}: {error}"))));
    }
}
