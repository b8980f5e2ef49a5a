//! Makes blocks in parallel and writes them in order.
//!
//! Every thread takes the next block's number and fills the block. It waits for its turn to settle how much of the
//! block the collection still needs, packs the block (compression), and waits for its turn to write. At most one block
//! per thread is in memory, and a slow disk holds the threads back.

use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::block::{Block, Renderer};
use super::sink::{Packing, Sink};
use super::{Extent, Options, Summary};
use tokapi_storage::progress::{Progress, Stage};
use tokapi_storage::whole::unless_closed;

/// Documents in a block: 0.26 MB of text, which stays in the second-level cache until it is written.
const BLOCK_DOCUMENTS: u64 = 64;

/// Documents in a compressed block. Each block starts its compression anew, so longer blocks compress better.
const PACKED_BLOCK_DOCUMENTS: u64 = 256;

/// Gives the holders of numbers 0, 1, 2, ... access to a value in that order.
struct Turns<T> {
    state: Mutex<(Option<u64>, T)>,
    changed: Condvar,
}

impl<T> Turns<T> {
    fn new(value: T) -> Self {
        Self {
            state: Mutex::new((Some(0), value)),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, (Option<u64>, T)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `work` after all earlier numbers have had their turn; `None` once the turns have ended.
    ///
    /// If `work` breaks, its turn is the last: no later number gets in between.
    fn take<R>(&self, number: u64, work: impl FnOnce(&mut T) -> ControlFlow<R, R>) -> Option<R> {
        let waiting = |state: &mut (Option<u64>, T)| state.0.is_some_and(|turn| turn != number);
        let guard = self.changed.wait_while(self.lock(), waiting);
        let mut guard = guard.unwrap_or_else(PoisonError::into_inner);
        guard.0?;
        let result = match work(&mut guard.1) {
            ControlFlow::Continue(result) => {
                guard.0 = Some(number + 1);
                result
            }
            ControlFlow::Break(result) => {
                guard.0 = None;
                result
            }
        };
        drop(guard);
        self.changed.notify_all();
        Some(result)
    }

    /// Ends the turns: every waiting or later caller gets `None`.
    fn end(&self) {
        self.lock().0 = None;
        self.changed.notify_all();
    }

    fn into_value(self) -> T {
        self.state
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .1
    }
}

/// Acts if its thread panics, so that no thread waits for a turn that never comes.
struct OnPanic<F: Fn()>(F);

impl<F: Fn()> Drop for OnPanic<F> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            (self.0)();
        }
    }
}

/// Writes the collection to `sink`, or less of it if `progress` is cancelled.
///
/// # Errors
/// An error of the sink. A reader that closes its end of a pipe only ends the collection.
pub(super) fn run<'a>(
    renderer: &Renderer<'_>,
    options: &Options,
    packing: &Packing,
    sink: Sink<'a>,
    progress: &Progress,
) -> io::Result<(Summary, Sink<'a>)> {
    let extent = options.extent;
    progress.begin(
        Stage::Generating,
        match extent {
            Extent::Bytes(bytes) => bytes,
            Extent::Documents(_) => 0,
        },
    );
    let block_documents = if packing.compresses() {
        PACKED_BLOCK_DOCUMENTS
    } else {
        BLOCK_DOCUMENTS
    };
    let next_block = AtomicU64::new(0);
    let settled = Turns::new(Summary::default());
    let output = Turns::new((sink, Summary::default()));
    let failure = Mutex::new(None);

    let end = || {
        settled.end();
        output.end();
    };
    let work = || {
        let _end = OnPanic(end);
        let mut block = Block::default();
        let mut packed = Vec::new();
        loop {
            if progress.is_cancelled() {
                return end();
            }
            let number = next_block.fetch_add(1, Ordering::Relaxed);
            let first = number.saturating_mul(block_documents);
            let count = match extent {
                Extent::Documents(documents) => {
                    documents.saturating_sub(first).min(block_documents)
                }
                Extent::Bytes(_) => block_documents,
            };
            if count > 0 {
                renderer.fill(&mut block, first, count);
            } else {
                block.documents.clear();
            }
            let settle = |total: &mut Summary| settle(&mut block, extent, total);
            let Some(last) = settled.take(number, settle) else {
                return;
            };
            let result = packing.pack(&block, &mut packed).and_then(|()| {
                let write =
                    |(sink, done): &mut (Sink<'a>, Summary)| match sink.write(&block, &packed) {
                        Ok(()) => {
                            let part = Summary::of(&block);
                            done.add(&part);
                            progress.add(part.bytes);
                            progress.add_documents(part.documents);
                            ControlFlow::Continue(Ok(()))
                        }
                        Err(error) => ControlFlow::Break(Err(error)),
                    };
                output.take(number, write).unwrap_or(Ok(()))
            });
            if let Err(error) = result {
                let mut failure = failure.lock().unwrap_or_else(PoisonError::into_inner);
                failure.get_or_insert(error);
                end();
            }
            if last {
                return;
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..options.threads {
            scope.spawn(work);
        }
        work();
    });

    let failure = failure.into_inner().unwrap_or_else(PoisonError::into_inner);
    unless_closed(failure.map_or(Ok(()), Err))?;
    let (sink, done) = output.into_value();
    Ok((done, sink))
}

/// Drops the documents beyond the extent. Breaks at the last block.
fn settle(block: &mut Block, extent: Extent, total: &mut Summary) -> ControlFlow<bool, bool> {
    let mut kept = 0;
    for document in &block.documents {
        if extent.reached(total) {
            break;
        }
        total.documents += 1;
        total.words += document.words;
        total.bytes += document.bytes;
        kept += 1;
    }
    block.documents.truncate(kept);
    if extent.reached(total) {
        ControlFlow::Break(true)
    } else {
        ControlFlow::Continue(false)
    }
}
