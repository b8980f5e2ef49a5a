//! The options of the formula.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
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
    #[arg(long, value_name = "FORMULA", value_parser = formulas(), help_heading = None)]
    formula: Option<Formula>,

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

/// The formulas and their definitions.
const FORMULAS: [(Formula, &str); 7] = [
    (
        Formula::Lucene,
        "ln(1 + (N - df + 0.5) / (df + 0.5)) * tf / (tf + k1 L)",
    ),
    (
        Formula::Robertson,
        "ln((N - df + 0.5) / (df + 0.5)) * (k1 + 1) tf / (k1 L + tf)",
    ),
    (
        Formula::Smoothed,
        "ln((N + 0.5) / (df + 0.5)) * (k1 + 1) tf / (k1 L + tf)",
    ),
    (Formula::Atire, "ln(N / df) * (k1 + 1) tf / (tf + k1 L)"),
    (
        Formula::Bm25L,
        "ln((N + 1) / (df + 0.5)) * (k1 + 1)(c + delta) / (k1 + c + delta), c = tf / L",
    ),
    (
        Formula::Bm25Plus,
        "ln((N + 1) / df) * ((k1 + 1) tf / (k1 L + tf) + delta)",
    ),
    (Formula::TfIdf, "ln(N / df) * tf"),
];

/// The names of formulas on the command line.
fn formulas() -> impl TypedValueParser<Value = Formula> {
    let names = FORMULAS.map(|(formula, help)| PossibleValue::new(formula.name()).help(help));
    PossibleValuesParser::new(names).map(|name| {
        let named = FORMULAS.iter().find(|(formula, _)| formula.name() == name);
        // The parser lets only these names pass.
        named.map_or_else(Formula::default, |(formula, _)| *formula)
    })
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
            .formula(self.formula.unwrap_or(usual.formula))
            .k1(self.k1.unwrap_or(usual.k1))
            .b(self.b.unwrap_or(usual.b))
            .delta(self.delta)
            .avdl(self.avdl)
    }
}
