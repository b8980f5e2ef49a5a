//! The options of the formula.

use clap::ValueEnum;
use tokapi::Bm25;
use tokapi::Formula;

use crate::number;

#[derive(Debug, clap::Args)]
#[group(skip)]
#[command(next_help_heading = "Formula")]
pub struct Args {
    /// The formula of the weights [default: lucene]
    ///
    /// tf: how often the term occurs in the document. df: the documents with the term, of N in all.
    /// L = 1 - b + b * (length of the document) / avdl.
    #[arg(long, value_enum, help_heading = None)]
    formula: Option<FormulaName>,

    /// How much repetitions of a term add; the larger, the more [default: 1.2]
    #[arg(long, value_name = "NUMBER", value_parser = number::real::<f64>, allow_negative_numbers = true)]
    k1: Option<f64>,

    /// How much the length of a document counts, from 0 to 1 [default: 0.75]
    #[arg(long, value_name = "NUMBER", value_parser = number::real::<f64>, allow_negative_numbers = true)]
    b: Option<f64>,

    /// The parameter delta of bm25l [default: 0.5] and bm25plus [default: 1]
    #[arg(long, value_name = "NUMBER", value_parser = number::real::<f64>, allow_negative_numbers = true)]
    delta: Option<f64>,

    /// The average length of a document [default: that of the collection]
    #[arg(long, value_name = "NUMBER", value_parser = number::real::<f64>, allow_negative_numbers = true)]
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
    /// Whether any of these options was given.
    pub fn is_given(&self) -> bool {
        let numbers = [self.k1, self.b, self.delta, self.avdl];
        self.formula.is_some() || numbers.iter().any(Option::is_some)
    }

    /// The formula with its parameters.
    pub fn bm25(&self) -> Bm25 {
        let usual = Bm25::default();
        usual
            .formula(match self.formula {
                None => usual.formula,
                Some(FormulaName::Lucene) => Formula::Lucene,
                Some(FormulaName::Robertson) => Formula::Robertson,
                Some(FormulaName::Smoothed) => Formula::Smoothed,
                Some(FormulaName::Atire) => Formula::Atire,
                Some(FormulaName::Bm25l) => Formula::Bm25L,
                Some(FormulaName::Bm25plus) => Formula::Bm25Plus,
                Some(FormulaName::Tfidf) => Formula::TfIdf,
            })
            .k1(self.k1.unwrap_or(usual.k1))
            .b(self.b.unwrap_or(usual.b))
            .delta(self.delta)
            .avdl(self.avdl)
    }
}
