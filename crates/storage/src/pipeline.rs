//! Input, computation and output at the same time: three stages with bounded queues between them.
//!
//! One thread reads, several compute, and one writes in the order of reading. The number of items in flight is fixed.
//! So the slowest stage sets the time, and the memory is bounded.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::bounded;

use crate::error::Result;

/// The configuration of the stages.
#[derive(Debug, Clone, Copy)]
pub struct Stages {
    /// The threads that compute.
    pub threads: usize,
    /// Whether stages overlap. If not, one item per thread is read, then computed, then written: for comparison.
    pub overlap: bool,
    /// Items in flight beside those that are computed: read, queued or being written.
    pub beside: usize,
}

/// The time of a pass by stage.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct StageTimes {
    /// Items: chunks or batches.
    pub items: u64,
    /// The time that reading took.
    pub input: Duration,
    /// The time that computing took: the sum over all threads, divided by their number.
    pub compute: Duration,
    /// The time that writing took.
    pub output: Duration,
    /// From the beginning to the end.
    pub wall: Duration,
}

impl fmt::Display for StageTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} items in {:.3} s: reading {:.3} s, computing {:.3} s, writing {:.3} s",
            self.items,
            self.wall.as_secs_f64(),
            self.input.as_secs_f64(),
            self.compute.as_secs_f64(),
            self.output.as_secs_f64()
        )
    }
}

/// The outcome of an item: success, an error, or a panic to be passed on.
type Outcome = std::result::Result<Result<()>, Box<dyn Any + Send>>;

/// The work of a thread on the item with a number.
type Work<'a> = dyn FnMut(u64) -> Result<()> + 'a;

impl Stages {
    /// Stages with `threads` threads. Meanwhile one item is read, one is queued and one is written.
    pub fn new(threads: usize, overlap: bool) -> Self {
        Stages {
            threads,
            overlap,
            beside: 3,
        }
    }

    /// Stages that overlap, with as many threads as the current pool.
    pub fn of_pool() -> Self {
        Stages::new(rayon::current_num_threads(), true)
    }

    /// The most items in flight.
    pub fn in_flight(&self) -> usize {
        match self.overlap {
            true => self.threads + self.beside,
            false => self.threads,
        }
    }

    /// Passes the items of `read` to the workers, and their results to `write` in the order of reading.
    ///
    /// # Errors
    /// The first error, in the order of reading: everything before it has been written.
    pub fn run<I: Send, O: Send, W: FnMut(I) -> Result<O>>(
        &self,
        mut read: impl FnMut() -> Result<Option<I>> + Send,
        worker: impl Fn() -> W + Sync,
        mut write: impl FnMut(O) -> Result<()>,
    ) -> Result<StageTimes> {
        let (items, results) = (Slots::default(), Slots::default());
        self.run_numbers(
            &mut |number| Ok(read()?.map(|item| items.put(number, item)).is_some()),
            &|| {
                let (mut work, items, results) = (worker(), &items, &results);
                Box::new(move |number| {
                    results.put(number, work(items.take(number))?);
                    Ok(())
                })
            },
            &mut |number| write(results.take(number)),
        )
    }

    /// The stages, compiled once for all types of items: the stages pass on the numbers of items. `read` tells whether
    /// there is an item.
    fn run_numbers<'w>(
        &self,
        read: &mut (dyn FnMut(u64) -> Result<bool> + Send),
        worker: &(dyn Fn() -> Box<Work<'w>> + Sync),
        write: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<StageTimes> {
        let started = Instant::now();
        let batch = if self.overlap { 1 } else { self.threads };
        let (return_token, tokens) = bounded(self.in_flight());
        for _ in 0..self.in_flight() {
            // The queue has room for all tokens.
            let _ = return_token.send(());
        }
        let (todo, to_compute) = bounded::<u64>(self.in_flight());
        let (done, computed) = bounded::<(u64, Outcome)>(self.in_flight());
        let mut times = StageTimes::default();
        let result = std::thread::scope(|scope| {
            let failed = done.clone();
            let reader = scope.spawn(move || {
                let mut busy = Duration::ZERO;
                let mut sequence = 0;
                let mut ready = Vec::with_capacity(batch);
                let mut more = true;
                while more && (0..batch).all(|_| tokens.recv().is_ok()) {
                    while more && ready.len() < batch {
                        let from = Instant::now();
                        let item = catch_unwind(AssertUnwindSafe(|| read(sequence)));
                        busy += from.elapsed();
                        match item {
                            Ok(Ok(true)) => ready.push(sequence),
                            Ok(Ok(false)) => more = false,
                            Ok(Err(error)) => {
                                more = false;
                                let _ = failed.send((sequence, Ok(Err(error))));
                            }
                            Err(panic) => {
                                more = false;
                                let _ = failed.send((sequence, Err(panic)));
                            }
                        }
                        sequence += 1;
                    }
                    // If the queue is closed, the writer has stopped.
                    if ready.drain(..).any(|number| todo.send(number).is_err()) {
                        break;
                    }
                }
                busy
            });
            let workers: Vec<_> = (0..self.threads)
                .map(|_| {
                    let (to_compute, done, worker) = (to_compute.clone(), done.clone(), worker);
                    scope.spawn(move || {
                        let mut busy = Duration::ZERO;
                        let mut work = None;
                        for sequence in to_compute {
                            let from = Instant::now();
                            let work = work.get_or_insert_with(worker);
                            let outcome = catch_unwind(AssertUnwindSafe(|| work(sequence)));
                            busy += from.elapsed();
                            if done.send((sequence, outcome)).is_err() {
                                break;
                            }
                        }
                        busy
                    })
                })
                .collect();
            drop((done, to_compute));
            let mut writer = Writer {
                next: 0,
                waiting: BTreeMap::new(),
                busy: Duration::ZERO,
            };
            let mut take = || -> Result<()> {
                for (sequence, outcome) in &computed {
                    writer.waiting.insert(sequence, outcome);
                    // Without overlap nothing is written before the whole batch is computed.
                    while writer.waiting.len() >= batch && writer.write_next(write)? {
                        while batch > 1 && writer.write_next(write)? {}
                        for _ in 0..batch {
                            // The reader may have ended.
                            let _ = return_token.send(());
                        }
                    }
                }
                // The rest of the last batch.
                while writer.write_next(write)? {}
                Ok(())
            };
            let result = take();
            times.items = writer.next;
            times.output = writer.busy;
            // Nobody waits for a token or a place in a queue after this point.
            drop((return_token, computed));
            times.input = reader.join().unwrap_or_else(|panic| resume_unwind(panic));
            let threads = u32::try_from(self.threads).unwrap_or(u32::MAX);
            for worker in workers {
                let busy = worker.join().unwrap_or_else(|panic| resume_unwind(panic));
                times.compute += busy / threads;
            }
            result
        });
        times.wall = started.elapsed();
        result.map(|()| times)
    }
}

/// Items on their way between two stages, by their numbers. They are few.
struct Slots<T>(Mutex<Vec<(u64, T)>>);

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Slots(Mutex::default())
    }
}

impl<T> Slots<T> {
    fn put(&self, number: u64, item: T) {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        slots.push((number, item));
    }

    /// Takes the item that was put under this number.
    fn take(&self, number: u64) -> T {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = slots.iter().position(|(of, _)| *of == number);
        slots
            .swap_remove(place.expect("a stage passes on the numbers of its items"))
            .1
    }
}

/// The last stage: outcomes put back in order.
struct Writer {
    next: u64,
    waiting: BTreeMap<u64, Outcome>,
    busy: Duration,
}

impl Writer {
    /// Writes the next item if it is there.
    fn write_next(&mut self, write: &mut dyn FnMut(u64) -> Result<()>) -> Result<bool> {
        let Some(outcome) = self.waiting.remove(&self.next) else {
            return Ok(false);
        };
        let number = self.next;
        self.next += 1;
        outcome.unwrap_or_else(|panic| resume_unwind(panic))?;
        let from = Instant::now();
        let written = write(number);
        self.busy += from.elapsed();
        written.map(|()| true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const BOTH: [bool; 2] = [true, false];

    fn numbers(count: u64) -> impl FnMut() -> Result<Option<u64>> + Send {
        let mut next = 0;
        move || {
            next += 1;
            Ok((next <= count).then_some(next - 1))
        }
    }

    #[test]
    fn items_come_in_order_whatever_the_threads() {
        for overlap in BOTH {
            for (threads, count) in [(1, 0), (1, 5), (2, 1), (3, 100), (8, 7), (2, 4)] {
                let mut written = Vec::new();
                let work = |item: u64| {
                    if item.is_multiple_of(3) {
                        std::thread::sleep(Duration::from_micros(300));
                    }
                    Ok(2 * item)
                };
                let times = Stages::new(threads, overlap)
                    .run(
                        numbers(count),
                        || work,
                        |item| {
                            written.push(item);
                            Ok(())
                        },
                    )
                    .unwrap();
                assert_eq!(written, (0..count).map(|n| 2 * n).collect::<Vec<_>>());
                assert_eq!(times.items, count);
            }
        }
    }

    #[test]
    fn no_more_than_a_few_are_under_way() {
        for overlap in BOTH {
            let stages = Stages::new(2, overlap);
            let under_way = AtomicUsize::new(0);
            let mut next = numbers(200);
            let read = || {
                let item = next()?;
                let now = under_way.fetch_add(usize::from(item.is_some()), Ordering::SeqCst);
                assert!(now < stages.in_flight());
                Ok(item)
            };
            let write = |_| {
                under_way.fetch_sub(1, Ordering::SeqCst);
                Ok(())
            };
            stages.run(read, || Ok, write).unwrap();
        }
    }

    #[test]
    fn the_first_error_stops_and_everything_before_it_is_written() {
        let failed = |n: u64| Err(Error::Limit(n.to_string()));
        for overlap in BOTH {
            for threads in [1, 4] {
                let stages = Stages::new(threads, overlap);
                let mut written = 0;
                let work = |item: u64| if item >= 9 { failed(item) } else { Ok(item) };
                let error = stages.run(
                    numbers(50),
                    || work,
                    |_| {
                        written += 1;
                        Ok(())
                    },
                );
                assert_eq!((error.unwrap_err().to_string(), written), ("9".into(), 9));
                let mut next = numbers(50);
                let read = || match next()? {
                    Some(7) => Err(Error::Limit("7".into())),
                    item => Ok(item),
                };
                let mut written = 0;
                let error = stages.run(
                    read,
                    || Ok,
                    |_| {
                        written += 1;
                        Ok(())
                    },
                );
                assert_eq!((error.unwrap_err().to_string(), written), ("7".into(), 7));
                let error = stages.run(
                    numbers(50),
                    || Ok,
                    |item| match item {
                        5 => Err(Error::Limit("5".into())),
                        _ => Ok(()),
                    },
                );
                assert_eq!(error.unwrap_err().to_string(), "5");
            }
        }
    }

    #[test]
    fn a_panic_is_passed_on_and_nothing_hangs() {
        for overlap in BOTH {
            let stages = Stages::new(2, overlap);
            let work = |item: u64| -> Result<()> {
                assert!(item != 3, "three");
                Ok(())
            };
            let run = || stages.run(numbers(100), || work, |()| Ok(()));
            assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
        }
    }
}
