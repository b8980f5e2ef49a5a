//! Streams of requests, answered in their order.

use std::pin::Pin;
use std::time::Duration;

use futures_util::future::{BoxFuture, OptionFuture};
use futures_util::stream::{FuturesOrdered, Stream, StreamExt, unfold};
use tokio::time::timeout;
use tonic::{Status, Streaming};

use super::status::problem_of;
use crate::problem::{Kind, Problem};
use crate::verbs::Call;

/// Requests of a stream that are answered at the same time.
const UNDER_WAY: usize = 16;

/// The answers of a stream.
pub type Answers<A> = Pin<Box<dyn Stream<Item = Result<A, Status>> + Send>>;

/// An answer under way.
pub struct Answering<A>(pub BoxFuture<'static, A>);

/// Begins to answer a request. Requests begin one after the other, and are answered at the same time.
pub type Begin<Q, A> = fn(Call, Q) -> BoxFuture<'static, Answering<A>>;

/// Answers the requests of a stream in their order.
///
/// The stream ends early if the client is too slow or the server ends, after the answers to the requests so far.
pub fn answers<Q: Send + 'static, A: Send + 'static>(
    call: Call,
    requests: Streaming<Q>,
    begin: Begin<Q, A>,
) -> Answers<A> {
    let requests = Requests {
        call,
        from: Some(requests),
        begin,
        beginning: None,
        under_way: FuturesOrdered::new(),
        fault: None,
    };
    Box::pin(unfold(requests, Requests::next))
}

/// The requests of a stream, and their answers under way.
struct Requests<Q, A> {
    call: Call,
    /// None after the last request.
    from: Option<Streaming<Q>>,
    begin: Begin<Q, A>,
    beginning: Option<BoxFuture<'static, Answering<A>>>,
    under_way: FuturesOrdered<BoxFuture<'static, A>>,
    /// The end of the stream, if it is a fault.
    fault: Option<Status>,
}

impl<Q, A> Requests<Q, A> {
    /// The next answer.
    async fn next(mut self) -> Option<(Result<A, Status>, Self)> {
        loop {
            let may_take = self.beginning.is_none() && self.under_way.len() < UNDER_WAY;
            let is_idle = self.beginning.is_none() && self.under_way.is_empty();
            let from = self.from.as_mut().filter(|_| may_take);
            tokio::select! {
                biased;
                Some(answer) = self.under_way.next() => return Some((Ok(answer), self)),
                Some(Answering(begun)) = OptionFuture::from(self.beginning.as_mut()) => {
                    self.beginning = None;
                    self.under_way.push_back(begun);
                }
                Some(taken) = OptionFuture::from(from.map(|from| take(from, &self.call, is_idle))) => match taken {
                    Ok(Some(request)) => {
                        self.beginning = Some((self.begin)(self.call.again(), request));
                    }
                    Ok(None) => self.from = None,
                    Err(status) => (self.from, self.fault) = (None, Some(status)),
                },
                else => return self.fault.take().map(|status| (Err(status), self)),
            }
        }
    }
}

/// Takes the next request; none at the end. Waits for it no longer than the limit if the stream is idle.
async fn take<Q>(from: &mut Streaming<Q>, call: &Call, is_idle: bool) -> Result<Option<Q>, Status> {
    let limits = &call.service.limits;
    let message = async {
        let message = from.message();
        match is_idle {
            true => timeout(Duration::from_millis(limits.read_ms), message).await,
            false => Ok(message.await),
        }
    };
    tokio::select! {
        biased;
        () = call.service.ends() => Err(Problem::new(
            Kind::Unavailable,
            "the server ends: send the requests without an answer to another one",
        ).into()),
        message = message => match message {
            Ok(Ok(request)) => Ok(request),
            Ok(Err(status)) => Err(match problem_of(&status, limits.body_bytes) {
                Some(problem) => problem.into(),
                None => status,
            }),
            Err(_) => Err(Problem::new(
                Kind::SlowRequest,
                format!(
                    "no request arrived for {} ms: send the rest in another stream",
                    limits.read_ms
                ),
            ).into()),
        },
    }
}
