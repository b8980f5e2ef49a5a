//! The indexes on one device that a scheduler uses, each in one state.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use tokapi_index::Index;
use tokapi_index::query::{Hit, SearchOptions};
use tokapi_storage::error::{Error, Result};

use super::answer::{Asked, GpuLane};
use super::index::GpuIndex;
use super::options::GpuIndexOptions;
use super::plan::ranks;
use crate::cooperate::{Accelerator, BatchLane, Complexity, Search};

/// Searches for at most this many documents share a batch, whatever their k.
const LEAST_CLASS: usize = 16;

/// Indexes on one device. Others may be put there, and take the place of former states, while searches are answered.
pub struct GpuIndexes {
    options: GpuIndexOptions,
    held: RwLock<Vec<Arc<GpuIndex>>>,
    /// Indexes that lanes may still use, and that nothing new uses.
    leaving: Mutex<Vec<Arc<GpuIndex>>>,
    /// The reason why the device is lost.
    lost: Mutex<Option<String>>,
    lanes: AtomicUsize,
}

impl GpuIndexes {
    /// No index yet. The options name the device.
    pub fn new(options: GpuIndexOptions) -> Self {
        GpuIndexes {
            options,
            held: RwLock::default(),
            leaving: Mutex::default(),
            lost: Mutex::default(),
            lanes: AtomicUsize::new(0),
        }
    }

    /// One index.
    pub fn of(index: Arc<GpuIndex>) -> Self {
        let (build, device) = index.lists.lists.place();
        let indexes = GpuIndexes::new(GpuIndexOptions {
            device,
            fail_after: index.fail_after,
            ..GpuIndexOptions::new(build)
        });
        indexes.put(index);
        indexes
    }

    /// The device, and the options of its indexes.
    pub fn options(&self) -> &GpuIndexOptions {
        &self.options
    }

    /// The indexes that answer.
    pub fn held(&self) -> Vec<Arc<GpuIndex>> {
        let held = self.held.read();
        held.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Lets `index` answer, in place of another state of the same index. Returns false, and does nothing, if the
    /// device is lost.
    pub fn put(&self, index: Arc<GpuIndex>) -> bool {
        let lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        if lost.is_some() {
            return false;
        }
        let path = index.index().path().to_path_buf();
        self.change(|held| {
            let place = held.iter().position(|other| other.index().path() == path);
            let before = place.map(|place| held.swap_remove(place));
            held.push(index);
            before.into_iter().collect()
        });
        true
    }

    /// Lets the indexes that `is_out` returns true for no longer answer.
    pub fn remove(&self, mut is_out: impl FnMut(&GpuIndex) -> bool) {
        self.change(|held| {
            let (out, in_place) = held.drain(..).partition(|index| is_out(index));
            *held = in_place;
            out
        });
    }

    /// `change` returns the indexes that it takes out.
    fn change(&self, change: impl FnOnce(&mut Vec<Arc<GpuIndex>>) -> Vec<Arc<GpuIndex>>) {
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        let out = change(&mut held);
        drop(held);
        let leaving = self.leaving.lock();
        leaving.unwrap_or_else(PoisonError::into_inner).extend(out);
    }

    /// Frees the memory of indexes that were removed and that no lane uses any more. Returns the bytes of those that
    /// some lane uses.
    pub fn sweep(&self) -> u64 {
        let mut leaving = self.leaving.lock().unwrap_or_else(PoisonError::into_inner);
        leaving.retain(|index| Arc::strong_count(index) > 1);
        leaving.iter().map(|index| index.fit().bytes).sum()
    }

    /// The reason why the device is lost; none if it is not.
    pub fn lost(&self) -> Option<String> {
        let lost = self.lost.lock();
        lost.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Gives up all indexes, since the device failed. Lanes that are there fail.
    fn lose(&self, why: &Error) {
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        lost.get_or_insert_with(|| why.to_string());
        self.remove(|_| true);
    }

    /// Takes a lost device into use again. Its indexes have to be put there anew.
    ///
    /// # Errors
    /// Lanes or indexes are in use still; the device is lost still.
    pub fn recover(&self) -> Result<()> {
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        if lost.is_none() {
            return Ok(());
        }
        if self.sweep() > 0 || self.lanes.load(Ordering::Acquire) > 0 {
            return Err(Error::Device("its lanes are in use still".into()));
        }
        let GpuIndexOptions { build, device, .. } = self.options;
        // SAFETY: no lane and no index is there, and none is made before `lost` is none.
        unsafe { build.reset(device) }?;
        build.device(device)?;
        *lost = None;
        Ok(())
    }

    /// The index in the state of a search, if it is on the device.
    fn find(&self, index: &Arc<Index>) -> Option<Arc<GpuIndex>> {
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
        let found = held.iter().find(|held| Arc::ptr_eq(held.index(), index));
        found.cloned()
    }
}

impl Accelerator for Arc<GpuIndexes> {
    fn answers(&self, options: &SearchOptions) -> bool {
        ranks(options)
    }

    fn complexity(&self, search: &Search) -> Option<Complexity> {
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
        let index = held
            .iter()
            .find(|held| Arc::ptr_eq(held.index(), &search.index))?;
        index.complexity_of(&search.query, &search.options)
    }

    fn lane(&self) -> Result<Box<dyn BatchLane>> {
        let lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(why) = &*lost {
            return Err(Error::Device(why.clone()));
        }
        let lane = GpuLane::of(&self.options)?;
        self.lanes.fetch_add(1, Ordering::AcqRel);
        Ok(Box::new(LaneOfIndexes {
            lane: Some(lane),
            indexes: Arc::clone(self),
        }))
    }
}

/// A lane that answers searches of all indexes.
struct LaneOfIndexes {
    /// None only while it is dropped.
    lane: Option<GpuLane>,
    indexes: Arc<GpuIndexes>,
}

impl Drop for LaneOfIndexes {
    fn drop(&mut self) {
        self.lane = None;
        self.indexes.lanes.fetch_sub(1, Ordering::AcqRel);
    }
}

impl BatchLane for LaneOfIndexes {
    fn answer(&mut self, searches: &[&Search]) -> Result<Vec<Option<Vec<Hit>>>> {
        let answers = self.try_answer(searches);
        if let Err(error) = &answers {
            self.indexes.lose(error);
        }
        answers
    }
}

impl LaneOfIndexes {
    fn try_answer(&mut self, searches: &[&Search]) -> Result<Vec<Option<Vec<Hit>>>> {
        if let Some(why) = self.indexes.lost() {
            return Err(Error::Device(why));
        }
        let mut answers = vec![None; searches.len()];
        // A batch has one index, and one k that suffices for all.
        let class = |search: &Search| search.options.k.next_power_of_two().max(LEAST_CLASS);
        let mut left: Vec<usize> = (0..searches.len()).collect();
        while let (Some(&first), Some(lane)) = (left.first(), &mut self.lane) {
            let first = searches[first];
            let is_alike = |&number: &usize| {
                let search = searches[number];
                class(search) == class(first) && Arc::ptr_eq(&search.index, &first.index)
            };
            let (alike, others) = left.iter().partition(|number| is_alike(number));
            let alike: Vec<usize> = alike;
            left = others;
            let Some(index) = self.indexes.find(&first.index) else {
                continue;
            };
            let weighed = index.weighed.read().unwrap_or_else(PoisonError::into_inner);
            let Some(weighed) = weighed.as_ref() else {
                continue;
            };
            let asked = alike.iter().map(|&number| {
                let search = searches[number];
                (&search.query, &search.options)
            });
            let asked: Vec<Asked<'_>> = asked.collect();
            let of_these = lane.rank_all(&index, weighed, &asked)?;
            for (number, answer) in alike.into_iter().zip(of_these) {
                answers[number] = answer;
            }
        }
        Ok(answers)
    }
}
