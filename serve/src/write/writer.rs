//! The writer of an index: a thread that turns waiting requests into epochs.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use tokapi::{Error, IndexWriter, Memory, Progress, Result};
use tokio::sync::oneshot;

use super::apply::Resolved;
use super::locked;
use super::operation::{Applied, Write};
use super::remembered::Remembered;
use crate::problem::{Kind, Problem};
use crate::served::Served;

/// The time without a change after which merges in the background are looked for.
const IDLE: Duration = Duration::from_millis(500);

/// The options of a [`Writer`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WriterOptions {
    /// Threads that index documents and merge parts.
    pub threads: usize,
    /// The memory of changes and merges.
    pub memory: Memory,
    /// Requests that may wait; more are refused.
    pub queue: usize,
    /// Operations of an epoch: an epoch takes further requests that wait until it has as many.
    pub epoch_operations: usize,
}

impl WriterOptions {
    /// Options with this number of threads.
    pub fn new(threads: usize) -> Self {
        WriterOptions {
            threads,
            memory: Memory::available(),
            queue: 256,
            epoch_operations: 100_000,
        }
    }
}

type Reply = oneshot::Sender<std::result::Result<Applied, Problem>>;
type Answer = oneshot::Receiver<std::result::Result<Applied, Problem>>;

/// A request that waits.
enum Request {
    Write(Write, Reply),
    Merge(Reply),
}

/// The writer of an index that is served. When it is dropped, waiting requests are applied first.
pub struct Writer {
    /// None once it is closed.
    requests: Mutex<Option<SyncSender<Request>>>,
    waiting: Arc<AtomicU64>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    /// Opens the index in the folder `path` for changes; `served` gets each new state.
    ///
    /// # Errors
    /// Another process is changing it; it stores impacts; it is damaged.
    pub fn open(path: &Path, served: Arc<Served>, options: &WriterOptions) -> Result<Self> {
        let progress = Progress::new();
        let writer = IndexWriter::open_within(path, options.threads, options.memory)?;
        let writer = writer.with_progress(progress.clone());
        let (requests, from) = sync_channel(options.queue);
        let waiting = Arc::new(AtomicU64::new(0));
        let mut applier = Applier {
            writer,
            served,
            options: options.clone(),
            waiting: Arc::clone(&waiting),
            remembered: Remembered::default(),
            progress,
        };
        applier.show()?;
        let thread = std::thread::Builder::new()
            .name("writer".into())
            .spawn(move || applier.run(&from))
            .map_err(|error| Error::Limit(format!("cannot start a thread: {error}")))?;
        Ok(Writer {
            requests: Mutex::new(Some(requests)),
            waiting,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Applies the operations of a request; they are durable and visible to new searches when the answer comes.
    ///
    /// # Errors
    /// Too many requests wait; files cannot be written: then nothing of the request has happened.
    pub async fn write(&self, write: Write) -> std::result::Result<Applied, Problem> {
        self.submit(|reply| Request::Write(write, reply)).await
    }

    /// Puts the operations of a request in the queue.
    ///
    /// # Errors
    /// Too many requests wait.
    pub fn queue(&self, write: Write) -> std::result::Result<Queued, Problem> {
        self.send(|reply| Request::Write(write, reply)).map(Queued)
    }

    /// Merges all parts into one.
    ///
    /// # Errors
    /// As [`Writer::write`].
    pub async fn merge(&self) -> std::result::Result<Applied, Problem> {
        self.submit(Request::Merge).await
    }

    /// Applies the requests that wait, and takes no more.
    pub fn close(&self) {
        *locked(&self.requests) = None;
        if let Some(thread) = locked(&self.thread).take() {
            // A panic has been reported, and its requests have got their answers.
            let _ = thread.join();
        }
    }

    /// The number of requests that wait.
    pub fn waiting(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }

    async fn submit(
        &self,
        request: impl FnOnce(Reply) -> Request,
    ) -> std::result::Result<Applied, Problem> {
        Queued(self.send(request)?).answer().await
    }

    fn send(&self, request: impl FnOnce(Reply) -> Request) -> std::result::Result<Answer, Problem> {
        let (reply, answer) = oneshot::channel();
        let requests = locked(&self.requests);
        let requests = requests.as_ref().ok_or_else(ended)?;
        self.waiting.fetch_add(1, Ordering::Relaxed);
        match requests.try_send(request(reply)) {
            Ok(()) => Ok(answer),
            Err(error) => {
                self.waiting.fetch_sub(1, Ordering::Relaxed);
                Err(match error {
                    TrySendError::Full(_) => Problem::new(
                        Kind::Overloaded,
                        "too many changes of this index wait: retry after a second",
                    ),
                    TrySendError::Disconnected(_) => ended(),
                })
            }
        }
    }
}

/// A request in the queue of a writer.
pub struct Queued(Answer);

impl Queued {
    /// Waits for the answer; not on a thread of the async runtime.
    ///
    /// # Errors
    /// As [`Writer::write`].
    pub fn wait(self) -> std::result::Result<Applied, Problem> {
        self.0.blocking_recv().unwrap_or_else(|_| Err(ended()))
    }

    /// Waits for the answer.
    ///
    /// # Errors
    /// As [`Writer::write`].
    pub async fn answer(self) -> std::result::Result<Applied, Problem> {
        self.0.await.unwrap_or_else(|_| Err(ended()))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.close();
    }
}

fn ended() -> Problem {
    Problem::new(
        Kind::Unavailable,
        "the server is shutting down, or the index is being removed: retry",
    )
}

/// The thread that owns the index.
struct Applier {
    writer: IndexWriter,
    served: Arc<Served>,
    options: WriterOptions,
    waiting: Arc<AtomicU64>,
    remembered: Remembered<Applied>,
    progress: Progress,
}

impl Applier {
    fn run(&mut self, requests: &Receiver<Request>) {
        let mut next = None;
        loop {
            let request = match next.take() {
                Some(request) => request,
                None => match requests.recv_timeout(IDLE) {
                    Ok(request) => request,
                    Err(RecvTimeoutError::Timeout) => {
                        self.show_merged();
                        continue;
                    }
                    Err(RecvTimeoutError::Disconnected) => break,
                },
            };
            match request {
                Request::Merge(reply) => {
                    let merged = self.merge();
                    self.answer(reply, merged);
                }
                Request::Write(write, reply) => {
                    let mut group = vec![(write, reply)];
                    let mut count = group[0].0.operations.len();
                    while count < self.options.epoch_operations {
                        match requests.try_recv() {
                            Ok(Request::Write(write, reply)) => {
                                count += write.operations.len();
                                group.push((write, reply));
                            }
                            Ok(other) => {
                                next = Some(other);
                                break;
                            }
                            Err(_) => break,
                        }
                    }
                    self.write(group);
                }
            }
        }
        // Nobody waits any more: a merge under way is given up.
        self.progress.cancel();
    }

    fn answer(&self, reply: Reply, answer: std::result::Result<Applied, Problem>) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        // The client may have gone.
        let _ = reply.send(answer);
    }

    /// Applies the requests of a group as one epoch.
    fn write(&mut self, group: Vec<(Write, Reply)>) {
        let snapshot = self.served.snapshot();
        let mut resolved = Resolved::default();
        let (mut answers, mut failed) = (Vec::with_capacity(group.len()), None);
        // Requests of the same name in this group are answered alike.
        let mut named: HashMap<String, usize> = HashMap::new();
        for (write, reply) in group {
            let key = write.key.clone();
            if let Some(applied) = key.as_ref().and_then(|key| self.remembered.get(key)) {
                self.answer(reply, Ok(applied));
                continue;
            }
            if let Some(&place) = key.as_ref().and_then(|key| named.get(key)) {
                let (_, outcomes, _): &(Option<String>, Vec<_>, Reply) = &answers[place];
                answers.push((None, outcomes.clone(), reply));
                continue;
            }
            match resolved.add(snapshot.index(), write) {
                Ok(outcomes) => {
                    named.extend(key.clone().map(|key| (key, answers.len())));
                    answers.push((key, outcomes, reply));
                }
                Err(error) => {
                    failed = Some(Problem::from(error));
                    answers.push((key, Vec::new(), reply));
                    break;
                }
            }
        }
        drop(snapshot);
        let committed = match failed {
            Some(problem) => Err(problem),
            None => {
                let threads = self.options.threads;
                self.change(|writer| resolved.commit(writer, threads))
            }
        };
        for (key, outcomes, reply) in answers {
            let answer = committed.clone().map(|epoch| Applied { epoch, outcomes });
            if let (Some(key), Ok(applied)) = (key, &answer) {
                self.remembered.put(key, applied.clone());
            }
            self.answer(reply, answer);
        }
    }

    /// Changes the index, and serves its new state.
    fn change<T>(
        &mut self,
        change: impl FnOnce(&mut IndexWriter) -> Result<T>,
    ) -> std::result::Result<T, Problem> {
        let changed = change(&mut self.writer);
        if let Err(Error::Busy { .. }) = changed {
            // The name of the next epoch was taken: the state that is known here is not the last.
            let opened = self.writer.open_again().and_then(|()| self.show());
            return Err(match opened {
                Ok(()) => Problem::new(
                    Kind::Conflict,
                    "another process has changed the index: nothing of the request has happened; retry it",
                ),
                Err(error) => Problem::internal(error),
            });
        }
        let changed = changed?;
        self.show()?;
        Ok(changed)
    }

    fn merge(&mut self) -> std::result::Result<Applied, Problem> {
        self.change(IndexWriter::merge)?;
        Ok(Applied {
            epoch: self.writer.epoch(),
            outcomes: Vec::new(),
        })
    }

    /// Serves the newest state if merges in the background have made one.
    fn show_merged(&mut self) {
        if let Some(error) = self.writer.failed_merge() {
            tracing::warn!("parts could not be merged, and later changes try again: {error}");
        }
        if self.writer.epoch() != self.served.snapshot().epoch()
            && let Err(error) = self.show()
        {
            tracing::error!("the index after a merge cannot be opened: {error}");
        }
    }

    /// Serves the newest state.
    fn show(&self) -> Result<()> {
        if let Some(newest) = self.served.snapshot().newest()? {
            self.served.replace(newest);
        }
        Ok(())
    }
}
