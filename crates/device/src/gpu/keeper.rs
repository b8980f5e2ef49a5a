//! Keeps indexes on a device in their newest states, on a thread of its own.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokapi_index::Index;
use tokapi_index::parts::postings_of;
use tokapi_storage::error::{Error, Result};
use tokapi_storage::progress::Progress;

use super::fit::{Fit, budget};
use super::index::GpuIndex;
use super::indexes::GpuIndexes;
use super::options::GpuIndexOptions;

/// The time between two looks at the indexes.
const LOOK: Duration = Duration::from_millis(20);

/// The longest wait for lanes that use an index which is in the way.
const LANES_END: Duration = Duration::from_secs(2);

/// The longest time between two attempts after a failure; each is twice the one before.
const LONGEST_RETRY: Duration = Duration::from_secs(300);

/// The options of a [`Keeper`].
#[derive(Debug, Clone)]
pub struct KeeperOptions {
    /// Indexes with fewer postings stay away: a thread answers their queries in microseconds.
    pub least_postings: u64,
    /// A new state is brought up when it has lasted for this time, and for as long as the state before took to bring
    /// up. So at most half of the time is spent on states that soon pass.
    pub settle: Duration,
    /// The time until an index, or a device, that failed is tried again.
    pub retry: Duration,
}

impl Default for KeeperOptions {
    fn default() -> Self {
        KeeperOptions {
            least_postings: 1_000_000,
            settle: Duration::from_millis(100),
            retry: Duration::from_secs(10),
        }
    }
}

/// What a keeper has done.
pub enum Kept<'a> {
    /// The newest state of an index is on the device.
    Brought {
        /// The index on the device.
        index: &'a GpuIndex,
        /// The time that it took.
        took: Duration,
        /// Whether lists of the state before were used.
        is_renewed: bool,
    },
    /// An index cannot be brought up; the CPU answers its queries.
    Failed(&'a Index, &'a Error),
    /// The device failed; the CPU answers all queries.
    Lost(&'a str),
    /// The device is used again.
    Recovered,
}

/// Keeps indexes on a device in their newest states until it is dropped.
pub struct Keeper {
    end: Arc<End>,
    progress: Progress,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct End {
    has_come: Mutex<bool>,
    came: Condvar,
}

impl Keeper {
    /// Begins to keep the indexes that `newest` returns; `told` gets all that happens.
    ///
    /// # Errors
    /// The device does not exist.
    pub fn start(
        indexes: Arc<GpuIndexes>,
        options: KeeperOptions,
        newest: impl Fn() -> Vec<Arc<Index>> + Send + 'static,
        told: impl Fn(Kept<'_>) + Send + 'static,
    ) -> Result<Self> {
        let (end, progress) = (Arc::new(End::default()), Progress::new());
        let mut lists = indexes.options().clone();
        lists.progress = progress.clone();
        let mut keeping = Keeping {
            budget: budget(&lists)?,
            indexes,
            lists,
            options,
            told,
            states: HashMap::new(),
            lost: None,
        };
        let of_thread = Arc::clone(&end);
        let thread = std::thread::spawn(move || {
            while !of_thread.wait(LOOK) {
                keeping.look(&newest());
            }
        });
        Ok(Keeper {
            end,
            progress,
            thread: Some(thread),
        })
    }
}

/// Gives up a load under way.
impl Drop for Keeper {
    fn drop(&mut self) {
        self.progress.cancel();
        *self
            .end
            .has_come
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = true;
        self.end.came.notify_all();
        if let Some(thread) = self.thread.take() {
            // A panic has been reported.
            let _ = thread.join();
        }
    }
}

impl End {
    /// Waits for `time`, or the end. Returns whether it has come.
    fn wait(&self, time: Duration) -> bool {
        let has_come = self.has_come.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .came
            .wait_timeout_while(has_come, time, |has_come| !*has_come);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// The newest state of an index.
struct State {
    index: Arc<Index>,
    since: Instant,
    /// The time that the last load took.
    took: Duration,
    /// The time before which it is not tried again, as it failed.
    not_before: Option<Instant>,
}

/// The loss of the device.
struct Loss {
    next_try: Instant,
    wait: Duration,
}

struct Keeping<T> {
    indexes: Arc<GpuIndexes>,
    /// The device memory for all lists.
    budget: u64,
    lists: GpuIndexOptions,
    options: KeeperOptions,
    told: T,
    states: HashMap<PathBuf, State>,
    lost: Option<Loss>,
}

impl<T: Fn(Kept<'_>)> Keeping<T> {
    /// Brings up one state, if there is one to bring.
    fn look(&mut self, newest: &[Arc<Index>]) {
        if !self.has_device() {
            return;
        }
        let path_of = |index: &Index| index.path().to_path_buf();
        self.states
            .retain(|path, _| newest.iter().any(|index| index.path() == path));
        self.indexes
            .remove(|held| !self.states.contains_key(held.index().path()));
        self.indexes.sweep();
        let now = Instant::now();
        for index in newest {
            let state = self.states.entry(path_of(index)).or_insert_with(|| State {
                index: Arc::clone(index),
                since: now.checked_sub(self.options.settle).unwrap_or(now),
                took: Duration::ZERO,
                not_before: None,
            });
            if !Arc::ptr_eq(&state.index, index) {
                (state.index, state.since) = (Arc::clone(index), now);
                state.not_before = None;
            }
        }
        let held = self.indexes.held();
        let wants = |state: &&mut State| {
            let is_held = held
                .iter()
                .any(|held| Arc::ptr_eq(held.index(), &state.index));
            let has_settled = now - state.since >= self.options.settle.max(state.took);
            let may = state.not_before.is_none_or(|time| now >= time);
            let is_large = postings_of(&state.index) >= self.options.least_postings;
            !is_held && has_settled && may && is_large
        };
        let states = self.states.values_mut().filter(wants);
        // The largest first: its queries take the CPU longest.
        let Some(state) = states.max_by_key(|state| postings_of(&state.index)) else {
            return;
        };
        // Those that are replaced can be freed.
        drop(held);
        let index = Arc::clone(&state.index);
        let started = Instant::now();
        let brought = bring(&self.indexes, &self.lists, self.budget, &index);
        let took = started.elapsed();
        match brought {
            Ok((brought, is_renewed)) => {
                state.took = took;
                let index = Arc::new(brought);
                if self.indexes.put(Arc::clone(&index)) {
                    (self.told)(Kept::Brought {
                        index: &index,
                        took,
                        is_renewed,
                    });
                }
            }
            Err(Error::Cancelled) => {}
            Err(error) => {
                state.not_before = Some(Instant::now() + self.options.retry);
                (self.told)(Kept::Failed(&index, &error));
            }
        }
    }

    /// Whether the device is there. Tries to use one again that was lost.
    fn has_device(&mut self) -> bool {
        let Some(why) = self.indexes.lost() else {
            return true;
        };
        let now = Instant::now();
        let Some(lost) = &mut self.lost else {
            (self.told)(Kept::Lost(&why));
            let wait = self.options.retry;
            self.lost = Some(Loss {
                next_try: now + wait,
                wait,
            });
            return false;
        };
        if now < lost.next_try {
            return false;
        }
        if let Err(error) = self.indexes.recover() {
            log::info!("the GPU is lost still: {error}");
            lost.wait = (lost.wait * 2).min(LONGEST_RETRY);
            lost.next_try = now + lost.wait;
            return false;
        }
        self.lost = None;
        (self.told)(Kept::Recovered);
        true
    }
}

/// Brings up `index`, by the lists of the state before if it can. Returns also whether it did.
fn bring(
    indexes: &GpuIndexes,
    options: &GpuIndexOptions,
    budget: u64,
    index: &Arc<Index>,
) -> Result<(GpuIndex, bool)> {
    let path = index.path();
    let with = |bytes: u64| GpuIndexOptions {
        memory_bytes: Some(budget.saturating_sub(bytes)),
        ..options.clone()
    };
    let before = indexes
        .held()
        .into_iter()
        .find(|held| held.index().path() == path);
    if let Some(before) = before {
        match before.renewed(Arc::clone(index), &with(held_bytes(indexes))) {
            Ok(Some(renewed)) => return Ok((renewed, true)),
            Err(Error::Cancelled) => return Err(Error::Cancelled),
            // All of it is read, below.
            Ok(None) => {}
            Err(error) => log::info!("lists cannot be renewed: {error}"),
        }
    }
    indexes.remove(|held| held.index().path() == path);
    make_room(indexes, options, budget, index);
    let loaded = GpuIndex::new(Arc::clone(index), &with(held_bytes(indexes)), &[])?;
    match loaded.fit() {
        Fit {
            fitting_lists: 0, ..
        } => Err(Error::Device(
            "there is no device memory left for its lists".into(),
        )),
        _ => Ok((loaded, false)),
    }
}

/// Removes indexes that are smaller than `index`, the smallest first, until it may have room.
fn make_room(indexes: &GpuIndexes, options: &GpuIndexOptions, budget: u64, index: &Index) {
    let info = index.info();
    let wanted = options
        .build
        .lists_bytes(info.postings, info.terms, index.numbered());
    let mut others = indexes.held();
    others.sort_by_key(|other| std::cmp::Reverse(other.fit().postings));
    while held_bytes(indexes).saturating_add(wanted) > budget
        && let Some(smallest) = others.pop()
        && smallest.fit().postings < info.postings
    {
        let path = smallest.index().path().to_path_buf();
        drop(smallest);
        indexes.remove(|held| held.index().path() == path);
    }
    drop(others);
    // Lanes may have the removed ones for a batch.
    let started = Instant::now();
    while indexes.sweep() > 0 && started.elapsed() < LANES_END {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The device memory of all indexes that are there.
fn held_bytes(indexes: &GpuIndexes) -> u64 {
    let leaving = indexes.sweep();
    leaving
        + indexes
            .held()
            .iter()
            .map(|held| held.fit().bytes)
            .sum::<u64>()
}
