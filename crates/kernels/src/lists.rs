//! The postings lists of an index, on one device.

use std::sync::{RwLock, RwLockWriteGuard};

use crate::owned::Owned;
use crate::{Build, Formula, Result, boundary};

/// Lists on the device, weighed by a formula. [`Lane`](crate::Lane)s answer queries from them.
pub struct DeviceLists {
    pub(crate) raw: Owned<boundary::DeviceLists>,
    pub(crate) device: u32,
    /// The length of every list.
    counts: Vec<u32>,
    /// The number of documents.
    documents: u32,
    /// Locked by readers of weights, and by their writer.
    pub(crate) weights: RwLock<()>,
}

impl DeviceLists {
    pub(crate) fn new(
        raw: Owned<boundary::DeviceLists>,
        device: u32,
        counts: Vec<u32>,
        documents: u32,
    ) -> Self {
        DeviceLists {
            raw,
            device,
            counts,
            documents,
            weights: RwLock::new(()),
        }
    }

    /// The build of the kernels, and the device.
    pub fn place(&self) -> (Build, u32) {
        (self.raw.build, self.device)
    }

    /// The number of lists.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// Whether there are no lists.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// The number of documents, those in no list included.
    pub fn documents(&self) -> u32 {
        self.documents
    }

    /// The length of a list.
    ///
    /// # Panics
    /// Panics if the list does not exist.
    pub fn length(&self, list: u32) -> u32 {
        self.counts[list as usize]
    }

    /// The lengths of all lists.
    pub fn lengths(&self) -> &[u32] {
        &self.counts
    }

    /// Weighs all postings. Waits for readers of weights.
    ///
    /// # Errors
    /// The device failed.
    ///
    /// # Panics
    /// Panics if there is not one idf for every list.
    pub fn weigh(&self, formula: &Formula<'_>) -> Result<()> {
        assert_eq!(formula.idf.len(), self.len(), "an idf for every list");
        let raw = formula.raw();
        let _alone = self.alone();
        // SAFETY: the formula is read during the call only, and the lock excludes other users of the
        // weights.
        unsafe { self.raw.call(self.raw.api().weigh_lists, &raw) }
    }

    /// Weighs the postings of some lists by other values of idf, after [`DeviceLists::weigh`]. Waits for readers of
    /// weights.
    ///
    /// # Errors
    /// The device failed.
    ///
    /// # Panics
    /// Panics if there is not one idf for every list that is named, or if a list does not exist.
    pub fn weigh_some(&self, lists: &[u32], idf: &[f64]) -> Result<()> {
        assert_eq!(lists.len(), idf.len(), "an idf for every list");
        let exist = lists.iter().all(|&list| (list as usize) < self.len());
        assert!(exist, "all lists exist");
        let raw = boundary::SomeIdf {
            lists: lists.as_ptr(),
            idf: idf.as_ptr(),
            count: lists.len() as u64,
        };
        let _alone = self.alone();
        // SAFETY: the numbers are read during the call only, lists exist, and the lock excludes other users of the
        // weights.
        unsafe { self.raw.call(self.raw.api().weigh_some_lists, &raw) }
    }

    fn alone(&self) -> RwLockWriteGuard<'_, ()> {
        let alone = self.weights.write();
        alone.unwrap_or_else(|error| error.into_inner())
    }
}
