//! The intake of queries. It has several doors, so that threads that submit at once seldom wait for each other.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::request::Request;

/// Why a query was not taken.
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
    /// Queries that came and have not been taken to be answered.
    waiting: AtomicUsize,
    most: usize,
}

/// On a cache line of its own.
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
        // Nobody panics while holding it.
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

    /// Takes a query in.
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
        // The reply that the request holds may come back here when it is dropped.
        drop(inside);
        self.took(1);
        request.forget();
        Err(refused)
    }

    /// Gives all queries that came in to `each`. Those of one door keep their order.
    pub fn drain(&self, mut each: impl FnMut(Request)) {
        for door in &self.doors {
            let requests = std::mem::take(&mut door.lock().requests);
            requests.into_iter().for_each(&mut each);
        }
    }

    /// Takes note that `count` queries have been taken to be answered.
    pub fn took(&self, count: usize) {
        self.waiting.fetch_sub(count, Ordering::Relaxed);
    }

    /// Takes note that `count` queries wait again.
    pub fn gave_back(&self, count: usize) {
        self.waiting.fetch_add(count, Ordering::Relaxed);
    }

    /// Refuses queries from now on.
    pub fn close(&self) {
        for door in &self.doors {
            door.lock().closed = true;
        }
    }
}

/// The door that a thread uses.
fn door_of_thread() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static DOOR: usize = NEXT.fetch_add(1, Ordering::Relaxed) % DOORS;
    }
    DOOR.with(|&door| door)
}
