//! The weighing of postings: by a formula, or by the impacts that were computed when the index was built.

mod weigher;

use crate::Index;
use tokapi_storage::error::{Error, Result};
use tokapi_weigh::formula::{Bm25, UsePart};

pub(crate) use weigher::Weigher;

/// How postings are weighed.
#[derive(Debug, Clone, Copy)]
pub struct Weighing {
    /// The formula; of impacts the one that they were computed by.
    bm25: Bm25,
    /// The weight of an impact of 1, if lists have impacts in the place of tfs.
    scale: Option<f64>,
}

impl Weighing {
    /// By a formula.
    pub fn by(bm25: &Bm25) -> Self {
        Weighing {
            bm25: *bm25,
            scale: None,
        }
    }

    /// As `index` has it: by `bm25`, unless it has impacts.
    ///
    /// # Errors
    /// Parameters out of range; impacts that were computed otherwise, where `bm25` is not the usual formula.
    pub fn of(index: &Index, bm25: &Bm25) -> Result<Self> {
        bm25.check()?;
        let Some(impacts) = index.impacts() else {
            return Ok(Weighing::by(bm25));
        };
        if *bm25 != impacts.bm25 && *bm25 != Bm25::default() {
            return Err(Error::Usage(format!(
                "{}: the weights of this index were computed by {}; build it without impacts to choose with the query",
                index.path().display(),
                impacts.bm25
            )));
        }
        Ok(Weighing {
            bm25: impacts.bm25,
            scale: Some(impacts.scale),
        })
    }

    /// The formula.
    pub fn bm25(&self) -> &Bm25 {
        &self.bm25
    }

    /// Whether weights depend on lengths.
    #[inline]
    pub fn needs_lengths(&self) -> bool {
        self.scale.is_none()
    }

    /// The factor of the tf part of a term in `df` of `documents` documents.
    pub fn idf(&self, documents: u64, df: u64) -> f64 {
        let by_formula = || self.bm25.idf(documents, df);
        self.scale.unwrap_or_else(by_formula)
    }

    /// Gives the tf part, a function of tf and L, to `user`. An impact is its own.
    #[inline(always)]
    pub fn with_part<U: UsePart>(&self, user: U) -> U::Output {
        match self.scale {
            Some(_) => user.with(|impact, _| impact),
            None => self.bm25.with_part(user),
        }
    }
}
