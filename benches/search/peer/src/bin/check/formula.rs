//! BM25 with k1 1.2 and b 0.75, in the ways in which the peers compute it. Constant factors are
//! left out: they do not change a ranking.

use std::str::FromStr;

const K1: f64 = 1.2;
const B: f64 = 0.75;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Formula {
    /// Lucene's idf and the lengths as they are.
    Exact,
    /// Lucene's idf and lengths rounded down to what its one byte can hold.
    ByteLengths,
    /// The same, and the mean is that of the rounded lengths.
    ByteLengthsAndMean,
    /// Robertson's idf, which gives terms of over half of the documents (almost) nothing.
    RobertsonIdf,
}

impl Formula {
    pub const ALL: [Self; 4] = [
        Self::Exact,
        Self::ByteLengths,
        Self::ByteLengthsAndMean,
        Self::RobertsonIdf,
    ];

    /// What lengths are divided by.
    pub fn mean_length(self, lengths: &[u32]) -> f64 {
        let round: fn(u32) -> u32 = match self {
            Self::ByteLengthsAndMean => round_to_byte,
            Self::Exact | Self::ByteLengths | Self::RobertsonIdf => |length| length,
        };
        let sum: f64 = lengths.iter().map(|&length| f64::from(round(length))).sum();
        sum / lengths.len() as f64
    }

    pub fn idf(self, documents: usize, containing: usize) -> f64 {
        let (documents, containing) = (documents as f64, containing as f64);
        let odds = (documents - containing + 0.5) / (containing + 0.5);
        match self {
            Self::RobertsonIdf => odds.ln().max(1e-6),
            Self::Exact | Self::ByteLengths | Self::ByteLengthsAndMean => odds.ln_1p(),
        }
    }

    /// The share of its idf that a term of this frequency contributes.
    pub fn saturated(self, frequency: u32, length: u32, mean_length: f64) -> f64 {
        let length = match self {
            Self::ByteLengths | Self::ByteLengthsAndMean => round_to_byte(length),
            Self::Exact | Self::RobertsonIdf => length,
        };
        let frequency = f64::from(frequency);
        let relative = f64::from(length) / mean_length;
        frequency / (frequency + K1 * (1.0 - B + B * relative))
    }
}

impl FromStr for Formula {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "exact" => Ok(Self::Exact),
            "byte-lengths" => Ok(Self::ByteLengths),
            "byte-lengths-and-mean" => Ok(Self::ByteLengthsAndMean),
            "robertson-idf" => Ok(Self::RobertsonIdf),
            _ => Err(format!("no formula `{name}`")),
        }
    }
}

/// Lucene's `SmallFloat.byte4ToInt(intToByte4(length))`: lengths under 24 stay, above them what
/// exceeds 24 keeps its four highest bits.
fn round_to_byte(length: u32) -> u32 {
    const FREE: u32 = 24;
    let Some(rest) = length.checked_sub(FREE) else {
        return length;
    };
    let dropped = (u32::BITS - rest.leading_zeros()).saturating_sub(4);
    FREE + (rest >> dropped << dropped)
}
