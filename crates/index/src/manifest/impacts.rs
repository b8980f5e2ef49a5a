//! The manifest's record of an index whose lists store impacts instead of tfs.

use serde::{Deserialize, Serialize};

use tokapi_weigh::formula::Bm25;

/// The largest impact.
pub(crate) const MOST_IMPACT: u32 = 255;

/// The computation of an index's impacts.
///
/// ```
/// # use tokapi_weigh::formula::Bm25;
/// # use tokapi_index::{Index, IndexBuilder};
/// # use tokapi_text::corpus::{Corpus, CorpusOptions, Document};
/// # fn main() -> tokapi_storage::error::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("index");
/// let documents = [Document::new("a", "Boundary layers"), Document::new("b", "Wing flow")];
/// let corpus = Corpus::from_documents(documents, CorpusOptions::default());
/// IndexBuilder::new(&path).impacts(Bm25::default()).build(corpus)?;
/// let impacts = *Index::open(&path)?.impacts().expect("built with impacts");
/// assert_eq!(impacts.bm25, Bm25::default());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Impacts {
    /// The formula and its parameters.
    pub bm25: Bm25,
    /// The weight of an impact of 1.
    pub scale: f64,
}

impl Impacts {
    /// The impact of a posting with this weight, which is above 0.
    pub(crate) fn of(&self, weight: f32) -> u32 {
        let steps = (f64::from(weight) / self.scale).round();
        // From 1 to 255.
        steps.clamp(1.0, MOST_IMPACT.into()) as u32
    }

    /// Whether the record is valid: scores can be computed with it.
    pub(crate) fn is_sound(&self) -> bool {
        self.bm25.check().is_ok() && self.scale > 0.0 && self.scale.is_finite()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_rounded_to_the_nearest_impact() {
        let impacts = Impacts {
            bm25: Bm25::default(),
            scale: 0.5,
        };
        for (weight, impact) in [
            (127.5, 255),
            (127.6, 255),
            (127.2, 254),
            (1.0, 2),
            (0.74, 1),
            (0.76, 2),
            (0.1, 1),
            (1e-30, 1),
        ] {
            assert_eq!(impacts.of(weight), impact, "{weight}");
        }
    }
}
