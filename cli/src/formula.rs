//! The options by which every verb weighs.

use clap::ValueEnum;
use tokapi::Bm25;
use tokapi::weigh::Formula;

#[derive(Debug, clap::Args)]
#[group(skip)]
pub struct Args {
    /// The formula
    #[arg(long, value_enum, default_value = "lucene", help_heading = "Weights")]
    formula: FormulaName,

    /// How slowly repeated terms saturate
    #[arg(
        long,
        default_value_t = 1.2,
        allow_negative_numbers = true,
        help_heading = "Weights"
    )]
    k1: f64,

    /// How much the length of a document counts, 0 to 1
    #[arg(
        long,
        default_value_t = 0.75,
        allow_negative_numbers = true,
        help_heading = "Weights"
    )]
    b: f64,

    /// The lower bound of bm25l [default: 0.5] and bm25plus [default: 1]
    #[arg(long, allow_negative_numbers = true, help_heading = "Weights")]
    delta: Option<f64>,

    /// The average document length [default: that of the collection]
    #[arg(long, allow_negative_numbers = true, help_heading = "Weights")]
    avdl: Option<f64>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FormulaName {
    /// ln(1 + (N - df + 0.5) / (df + 0.5)) * tf / (tf + k1 L)
    Lucene,
    /// ln((N - df + 0.5) / (df + 0.5)) * (k1 + 1) tf / (k1 L + tf)
    Robertson,
    /// ln((N + 0.5) / (df + 0.5)) * (k1 + 1) tf / (k1 L + tf)
    Smoothed,
    /// ln(N / df) * (k1 + 1) tf / (tf + k1 L)
    Atire,
    /// ln((N + 1) / (df + 0.5)) * (k1 + 1)(c + delta) / (k1 + c + delta), c = tf / L
    Bm25l,
    /// ln((N + 1) / df) * ((k1 + 1) tf / (k1 L + tf) + delta)
    Bm25plus,
    /// ln(N / df) * tf
    Tfidf,
}

impl Args {
    /// The formula with its parameters.
    pub fn bm25(&self) -> Bm25 {
        Bm25 {
            formula: match self.formula {
                FormulaName::Lucene => Formula::Lucene,
                FormulaName::Robertson => Formula::Robertson,
                FormulaName::Smoothed => Formula::Smoothed,
                FormulaName::Atire => Formula::Atire,
                FormulaName::Bm25l => Formula::Bm25L,
                FormulaName::Bm25plus => Formula::Bm25Plus,
                FormulaName::Tfidf => Formula::TfIdf,
            },
            k1: self.k1,
            b: self.b,
            delta: self.delta,
            avdl: self.avdl,
        }
    }
}
