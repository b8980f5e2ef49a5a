//! A request under way: searches, and other reads of one state of an index.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use futures_util::stream::{self, StreamExt};

use crate::limits::{Room, at_most};
use crate::model::{SearchAnswer, SearchRequest};
use crate::problem::Problem;
use crate::search::{Deadline, plan};
use crate::served::Snapshot;
use crate::service::{RequestId, Shared};

/// A request under way.
#[derive(Clone)]
pub struct Call {
    /// The parts that all requests use.
    pub service: Shared,
    /// When the request arrived.
    pub started: Instant,
    /// The id of the request.
    pub id: RequestId,
    /// The time when the client no longer waits, if it has told that.
    pub until: Option<Instant>,
}

/// A form of the answers to searches.
pub struct Form {
    /// The name, for the cache.
    pub name: &'static [u8],
    /// An answer without its time, as bytes.
    pub write: fn(SearchAnswer) -> Bytes,
}

/// The answer to a search in some form, and its time.
pub struct Timed {
    /// The microseconds from the request to the answer.
    pub took_us: u64,
    /// The answer without its time.
    pub answer: Bytes,
}

impl Call {
    /// Answers a search of one state of an index.
    ///
    /// # Errors
    /// The request is invalid, or it or its answer exceeds a limit; the queue is full; the deadline passed.
    pub async fn search(
        &self,
        snapshot: &Arc<Snapshot>,
        request: SearchRequest,
        form: &Form,
    ) -> Result<Timed, Problem> {
        let service = &self.service;
        let (text, k) = (request.query.clone(), request.k);
        let deadline = self.deadline(request.timeout_ms)?;
        let planned = plan(&service.limits, Arc::clone(snapshot), request, deadline)?;
        let answer = service.engine.cached(planned, form.name, form.write).await;
        service.log_if_slow(snapshot.name(), &text, k, self.started, &self.id);
        let answer = answer?;
        self.room().take(answer.len())?;
        Ok(Timed {
            took_us: self.took_us(),
            answer,
        })
    }

    /// Answers several searches at the same time: an answer or a problem for each.
    ///
    /// # Errors
    /// They are too many, or find too many documents; their answers are too large.
    pub async fn searches(
        &self,
        searches: Vec<(Arc<Snapshot>, SearchRequest)>,
        form: &Form,
    ) -> Result<Vec<Result<Timed, Problem>>, Problem> {
        let limits = &self.service.limits;
        at_most("the number of searches", searches.len(), limits.batch)?;
        let ks = searches.iter().map(|(_, search)| search.k);
        let k = ks.fold(0, usize::saturating_add);
        at_most("the sum of all k", k, limits.batch_k)?;
        let searches = searches.into_iter();
        let searches =
            searches.map(async |(snapshot, request)| self.search(&snapshot, request, form).await);
        let mut searches = stream::iter(searches).buffered(self.service.engine.share());
        // The first answer without room ends all searches.
        let (mut room, mut answers) = (self.room(), Vec::new());
        while let Some(answer) = searches.next().await {
            if let Ok(Timed { answer, .. }) = &answer {
                room.take(answer.len())?;
            }
            answers.push(answer);
        }
        for problem in answers.iter().filter_map(|answer| answer.as_ref().err()) {
            problem.log_cause(&self.id.id);
        }
        Ok(answers)
    }

    /// Reads a state of an index in the queue of searches, for at most `timeout_ms`.
    ///
    /// # Errors
    /// The queue is full; the time is over; those of `read`.
    pub async fn read<T: Send + 'static>(
        &self,
        snapshot: Arc<Snapshot>,
        timeout_ms: Option<u64>,
        read: impl FnOnce(&Snapshot) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let deadline = self.deadline(timeout_ms)?;
        let index = Arc::clone(snapshot.index());
        let work = move || read(&snapshot);
        self.service.engine.work(index, deadline, work).await
    }

    /// Room for an answer.
    pub fn room(&self) -> Room {
        Room::new(self.service.limits.answer_bytes)
    }

    /// The time when an answer is of no use any more: the client's, or that of the timeout if it is earlier. A client
    /// that tells its time may wait as long as the longest timeout.
    fn deadline(&self, timeout_ms: Option<u64>) -> Result<Deadline, Problem> {
        let limits = &self.service.limits;
        let longest = self.until.map(|_| limits.longest_timeout_ms);
        let deadline = Deadline::after(limits, self.started, timeout_ms.or(longest))?;
        Ok(deadline.until(self.until))
    }

    /// Another request of the same client.
    pub fn again(&self) -> Self {
        Call {
            started: Instant::now(),
            ..self.clone()
        }
    }

    /// The microseconds since the request arrived.
    pub fn took_us(&self) -> u64 {
        // Fewer than 2^64.
        self.started.elapsed().as_micros() as u64
    }
}
