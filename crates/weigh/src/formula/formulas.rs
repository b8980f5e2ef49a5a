//! The BM25 formulas: one definition of each, computed in double precision and rounded once to f32.
//!
//! Names and forms follow Kamphuis, de Vries, Boytsov and Lin, "Which BM25 do you mean?" (ECIR 2020); `smoothed` has
//! the form used with GPUs. N is the number of documents, df the number of them with the term, tf the number of
//! occurrences in a document of length dl, and L = 1 - b + b * dl / avdl.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Statistics;
use tokapi_storage::error::{Error, Result};

/// A formula. Each variant lists its idf and its tf part.
///
/// [`Bm25`] has an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Formula {
    /// ln(1 + (N - df + 0.5) / (df + 0.5)), tf / (tf + k1 L).
    #[default]
    Lucene,
    /// ln((N - df + 0.5) / (df + 0.5)), (k1 + 1) tf / (k1 L + tf). Negative for df above N / 2.
    Robertson,
    /// ln((N + 0.5) / (df + 0.5)), (k1 + 1) tf / (k1 L + tf).
    Smoothed,
    /// ln(N / df), (k1 + 1) tf / (tf + k1 L).
    Atire,
    /// ln((N + 1) / (df + 0.5)), (k1 + 1)(c + delta) / (k1 + c + delta), c = tf / L.
    Bm25L,
    /// ln((N + 1) / df), (k1 + 1) tf / (k1 L + tf) + delta.
    Bm25Plus,
    /// ln(N / df), tf.
    TfIdf,
}

impl Formula {
    /// Every formula.
    pub const ALL: [Formula; 7] = [
        Formula::Lucene,
        Formula::Robertson,
        Formula::Smoothed,
        Formula::Atire,
        Formula::Bm25L,
        Formula::Bm25Plus,
        Formula::TfIdf,
    ];
}

impl Formula {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Formula::Lucene => "lucene",
            Formula::Robertson => "robertson",
            Formula::Smoothed => "smoothed",
            Formula::Atire => "atire",
            Formula::Bm25L => "bm25l",
            Formula::Bm25Plus => "bm25plus",
            Formula::TfIdf => "tfidf",
        }
    }
}

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A formula with its parameters.
///
/// ```
/// # use tokapi_weigh::formula::{Bm25, Formula};
/// let bm25 = Bm25::default().formula(Formula::Bm25Plus).k1(0.9).b(0.4);
/// assert_eq!(bm25.to_string(), "bm25plus, k1 0.9, b 0.4");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Bm25 {
    /// The formula.
    pub formula: Formula,
    /// Saturation of the term frequency.
    pub k1: f64,
    /// How much a document's length counts, 0 to 1.
    pub b: f64,
    /// The lower bound of `bm25l` (default 0.5) and `bm25plus` (default 1).
    pub delta: Option<f64>,
    /// The average document length; that of the collection by default.
    pub avdl: Option<f64>,
}

/// The limit of parameters. It is far beyond all use, and no weight overflows within it.
const LARGEST: f64 = 1e9;

impl Default for Bm25 {
    fn default() -> Self {
        Bm25 {
            formula: Formula::Lucene,
            k1: 1.2,
            b: 0.75,
            delta: None,
            avdl: None,
        }
    }
}

impl Bm25 {
    tokapi_storage::setters! {
        formula: Formula, k1: f64, b: f64, delta: impl Into<Option<f64>>,
        avdl: impl Into<Option<f64>>,
    }
}

impl fmt::Display for Bm25 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, k1 {}, b {}", self.formula, self.k1, self.b)?;
        if let Some(delta) = self.delta {
            write!(f, ", delta {delta}")?;
        }
        match self.avdl {
            Some(avdl) => write!(f, ", avdl {avdl}"),
            None => Ok(()),
        }
    }
}

impl Bm25 {
    /// Refuses parameters that give weights that are not numbers.
    ///
    /// # Errors
    /// The parameter, its range, and its value.
    pub fn check(&self) -> Result<()> {
        let wrong = |name: &str, range: &str, given: f64| {
            Err(Error::Usage(format!(
                "{name} is {given}; it must be {range}"
            )))
        };
        match *self {
            Bm25 { k1, .. } if !(0.0..=LARGEST).contains(&k1) => wrong("k1", "from 0 to 1e9", k1),
            Bm25 { b, .. } if !(0.0..=1.0).contains(&b) => wrong("b", "from 0 to 1", b),
            Bm25 {
                delta: Some(delta), ..
            } if !(0.0..=LARGEST).contains(&delta) => wrong("delta", "from 0 to 1e9", delta),
            Bm25 {
                avdl: Some(avdl), ..
            } if !(1.0 / LARGEST..=LARGEST).contains(&avdl) => {
                wrong("avdl", "above 0, from 1e-9 to 1e9", avdl)
            }
            _ => Ok(()),
        }
    }

    /// The idf of a term in `df` of `documents` documents.
    pub fn idf(&self, documents: u64, df: u64) -> f64 {
        // Exact up to 2^53 documents.
        let (n, df) = (documents as f64, df as f64);
        match self.formula {
            Formula::Lucene => (1.0 + (n - df + 0.5) / (df + 0.5)).ln(),
            Formula::Robertson => ((n - df + 0.5) / (df + 0.5)).ln(),
            Formula::Smoothed => ((n + 0.5) / (df + 0.5)).ln(),
            Formula::Atire | Formula::TfIdf => (n / df).ln(),
            Formula::Bm25L => ((n + 1.0) / (df + 0.5)).ln(),
            Formula::Bm25Plus => ((n + 1.0) / df).ln(),
        }
    }

    /// The delta of BM25L: the given one, or 0.5.
    pub fn delta_of_bm25l(&self) -> f64 {
        self.delta.unwrap_or(0.5)
    }

    /// The delta of BM25+: the given one, or 1.
    pub fn delta_of_bm25plus(&self) -> f64 {
        self.delta.unwrap_or(1.0)
    }

    /// L for a document of `length` terms.
    pub fn norm(&self, length: u32, statistics: &Statistics) -> f64 {
        self.norm_at(length, self.average_length(statistics))
    }

    /// avdl, given or computed.
    pub fn average_length(&self, statistics: &Statistics) -> f64 {
        self.avdl.unwrap_or_else(|| statistics.average_length())
    }

    /// L for a document of `length` terms, with the average length `avdl`.
    #[inline(always)]
    pub fn norm_at(&self, length: u32, avdl: f64) -> f64 {
        1.0 - self.b + self.b * f64::from(length) / avdl
    }

    /// Writes to `weights` the weights of one term with `idf` in `documents`. `norms` holds L of every document.
    pub fn weigh(
        &self,
        idf: f64,
        documents: &[u32],
        tfs: &[u32],
        norms: &[f64],
        weights: &mut [f32],
    ) {
        self.with_part(Term {
            idf,
            documents,
            tfs,
            norms,
            weights,
        });
    }

    /// Passes the tf part, a function of tf and L, to `user`. This is its only definition.
    #[inline(always)]
    pub fn with_part<U: UsePart>(&self, user: U) -> U::Output {
        let k1 = self.k1;
        match self.formula {
            Formula::Lucene => user.with(|tf, l| tf / (tf + k1 * l)),
            Formula::Robertson | Formula::Smoothed | Formula::Atire => {
                user.with(|tf, l| (k1 + 1.0) * tf / (k1 * l + tf))
            }
            Formula::Bm25L => {
                let delta = self.delta_of_bm25l();
                user.with(|tf, l| {
                    let c = tf / l + delta;
                    (k1 + 1.0) * c / (k1 + c)
                })
            }
            Formula::Bm25Plus => {
                let delta = self.delta_of_bm25plus();
                user.with(|tf, l| (k1 + 1.0) * tf / (k1 * l + tf) + delta)
            }
            Formula::TfIdf => user.with(|tf, _| tf),
        }
    }
}

/// A use of a tf part, compiled for each formula.
pub trait UsePart {
    /// The result.
    type Output;

    /// Uses `part`, a function of tf and L.
    fn with(self, part: impl Fn(f64, f64) -> f64 + Copy) -> Self::Output;
}

/// The postings of a term, before weighing.
struct Term<'a> {
    idf: f64,
    documents: &'a [u32],
    tfs: &'a [u32],
    norms: &'a [f64],
    weights: &'a mut [f32],
}

impl UsePart for Term<'_> {
    type Output = ();

    #[inline(always)]
    fn with(self, part: impl Fn(f64, f64) -> f64 + Copy) {
        let postings = self.documents.iter().zip(self.tfs).zip(self.weights);
        for ((&document, &tf), weight) in postings {
            *weight = (self.idf * part(f64::from(tf), self.norms[document as usize])) as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// N = 10, df = 3, tf = 2, dl = 8, avdl = 10, so L = 0.85; computed by hand to 6 places.
    #[test]
    fn goldens() {
        let statistics = Statistics {
            documents: 10,
            total_length: 100,
        };
        for (formula, expected) in [
            (Formula::Lucene, 1.145132 * 2.0 / 3.02),
            (Formula::Robertson, 0.762140 * 4.4 / 3.02),
            (Formula::Smoothed, 1.098612 * 4.4 / 3.02),
            (Formula::Atire, 1.203973 * 4.4 / 3.02),
            (Formula::Bm25L, 1.145132 * 2.2 * 2.852941 / 4.052941),
            (Formula::Bm25Plus, 1.299283 * (4.4 / 3.02 + 1.0)),
            (Formula::TfIdf, 1.203973 * 2.0),
        ] {
            let bm25 = Bm25 {
                formula,
                ..Bm25::default()
            };
            let norm = bm25.norm(8, &statistics);
            assert!((norm - 0.85).abs() < 1e-12);
            let mut weight = [0.0];
            bm25.weigh(bm25.idf(10, 3), &[0], &[2], &[norm], &mut weight);
            let difference: f64 = f64::from(weight[0]) - expected;
            assert!(
                difference.abs() < 2e-6,
                "{formula:?}: {} is not {expected}",
                weight[0]
            );
        }
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        let good = Bm25::default();
        assert!(good.check().is_ok());
        for (bad, name) in [
            (Bm25 { k1: -1.0, ..good }, "k1"),
            (
                Bm25 {
                    k1: f64::NAN,
                    ..good
                },
                "k1",
            ),
            (Bm25 { b: 1.5, ..good }, "b"),
            (
                Bm25 {
                    delta: Some(-0.1),
                    ..good
                },
                "delta",
            ),
            (
                Bm25 {
                    avdl: Some(0.0),
                    ..good
                },
                "avdl",
            ),
        ] {
            assert!(bad.check().unwrap_err().to_string().starts_with(name));
        }
    }
}
