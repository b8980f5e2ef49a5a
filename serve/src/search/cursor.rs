//! The place of a hit as text, to go on behind it.

use tokapi::Rank;

use crate::problem::Problem;

/// The places as a regular expression: the scores are finite.
pub const CURSORS: &str =
    "^([0-689a-e][0-9a-f]{7}|[7f]([0-9a-e][0-9a-f]{6}|f[0-7][0-9a-f]{5}))-[0-9a-f]{1,16}$";

/// A place in a ranking as text: the bits of the score and the sequence number, in hexadecimal digits.
pub fn print_cursor(rank: Rank) -> String {
    format!("{:08x}-{:x}", rank.score.to_bits(), rank.sequence)
}

/// The place that a text denotes.
///
/// # Errors
/// It denotes none.
pub fn parse_cursor(text: &str) -> Result<Rank, Problem> {
    let parse = || {
        let (score, sequence) = text.split_once('-')?;
        // As it is printed: in lower case.
        let is_hex = |text: &str| text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if score.len() != 8 || sequence.len() > 16 || !is_hex(score) || !is_hex(sequence) {
            return None;
        }
        let score = f32::from_bits(u32::from_str_radix(score, 16).ok()?);
        let sequence = u64::from_str_radix(sequence, 16).ok()?;
        score.is_finite().then_some(Rank { score, sequence })
    };
    parse().ok_or_else(|| {
        Problem::invalid(format!(
            "after: `{}` is not a place in a ranking: give `next` of the page before",
            text.escape_debug()
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_survives_as_text() {
        for (score, sequence) in [(0.0, 0), (-0.0, 7), (3.25, u64::MAX), (f32::MAX, 1 << 40)] {
            let rank = Rank { score, sequence };
            let parsed = parse_cursor(&print_cursor(rank)).unwrap();
            assert_eq!(parsed.score.to_bits(), score.to_bits());
            assert_eq!(parsed.sequence, sequence);
        }
        for bad in [
            "",
            "-",
            "1-2",
            "7fc00000-1",
            "ff800000-1",
            "3F800000-1",
            "00000000-00000000000000001",
            "+0000000-1",
            "00000000-",
            "00000000-1g",
        ] {
            assert!(parse_cursor(bad).is_err(), "{bad}");
        }
    }
}
