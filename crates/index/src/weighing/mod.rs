//! Weighs postings by a formula, or by the impacts computed when the index was built.

mod weigher;

use crate::Index;
use tokapi_storage::error::{Error, Result};
use tokapi_weigh::formula::{Bm25, UsePart};

pub(crate) use weigher::Weigher;

/// The weighing of postings.
#[derive(Debug, Clone, Copy)]
pub struct Weighing {
    /// The formula. For impacts, the one that computed them.
    bm25: Bm25,
    /// The weight of an impact of 1, if lists store impacts instead of tfs.
    scale: Option<f64>,
}

impl Weighing {
    /// Weighs by a formula.
    pub fn by(bm25: &Bm25) -> Self {
        Weighing {
            bm25: *bm25,
            scale: None,
        }
    }

    /// Weighs by `bm25`, or by the impacts of `index` if it has them.
    ///
    /// # Errors
    /// Parameters are out of range; `bm25` is not the default formula and not the one that
    /// computed the impacts.
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

    /// The factor of the tf part for a term with this `df` in a collection of `documents`.
    pub fn idf(&self, documents: u64, df: u64) -> f64 {
        let by_formula = || self.bm25.idf(documents, df);
        self.scale.unwrap_or_else(by_formula)
    }

    /// Passes the tf part, a function of tf and L, to `user`. An impact is its own tf part.
    #[inline(always)]
    pub fn with_part<U: UsePart>(&self, user: U) -> U::Output {
        match self.scale {
            Some(_) => user.with(|impact, _| impact),
            None => self.bm25.with_part(user),
        }
    }
}
