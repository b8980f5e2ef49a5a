//! The intake of queries. It has several doors, so that threads rarely wait for each other when
//! they submit.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::request::Request;

/// The reason why a query was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The queue is full.
    #[error("the queue is full ({0} queries): retry later or raise its limit")]
    Full(usize),
    /// The scheduler is being dropped.
    #[error("the scheduler is closing and takes no more queries")]
    Closed,
}

const DOORS: usize = 8;

pub(super) struct Intake {
    doors: [Door; DOORS],
    /// Queries that have arrived and have not been taken by a processor.
    waiting: AtomicUsize,
    most: usize,
}

/// Has its own cache line.
#[derive(Default)]
#[repr(align(128))]
struct Door(Mutex<Inside>);

#[derive(Default)]
struct Inside {
    requests: Vec<Request>,
    closed: bool,
}

impl Door {
    fn lock(&self) -> MutexGuard<'_, Inside> {
        // No thread panics while it holds the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Intake {
    /// An intake for at most `most` waiting queries.
    pub fn new(most: usize) -> Self {
        Intake {
            doors: Default::default(),
            waiting: AtomicUsize::new(0),
            most,
        }
    }

    /// Adds a query.
    pub fn push(&self, request: Request) -> Result<(), Refused> {
        let waiting = self.waiting.fetch_add(1, Ordering::Relaxed);
        let mut inside = self.doors[door_of_thread()].lock();
        let refused = match inside.closed {
            true => Refused::Closed,
            false if waiting >= self.most => Refused::Full(waiting),
            false => {
                inside.requests.push(request);
                return Ok(());
            }
        };
        // The reply in the request may re-enter here when it is dropped.
        drop(inside);
        self.took(1);
        request.forget();
        Err(refused)
    }

    /// The number of waiting queries.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Passes all queries in the intake to `each`. The queries of one door keep their order.
    pub fn drain(&self, mut each: impl FnMut(Request)) {
        for door in &self.doors {
            let requests = std::mem::take(&mut door.lock().requests);
            requests.into_iter().for_each(&mut each);
        }
    }

    /// Records that a processor has taken `count` queries.
    pub fn took(&self, count: usize) {
        self.waiting.fetch_sub(count, Ordering::Relaxed);
    }

    /// Records that `count` queries wait again.
    pub fn gave_back(&self, count: usize) {
        self.waiting.fetch_add(count, Ordering::Relaxed);
    }

    /// Refuses all further queries.
    pub fn close(&self) {
        for door in &self.doors {
            door.lock().closed = true;
        }
    }
}

/// The door of the current thread.
fn door_of_thread() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static DOOR: usize = NEXT.fetch_add(1, Ordering::Relaxed) % DOORS;
    }
    DOOR.with(|&door| door)
}
