//! Numbers on the command line. The errors say which numbers are accepted.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Parses a number.
pub fn real<N: FromStr>(text: &str) -> Result<N, String> {
    text.parse().map_err(|_| "not a number".into())
}

/// Parses whole numbers of `least` or more.
pub fn at_least<N: Whole>(least: N) -> impl Fn(&str) -> Result<N, String> + Clone {
    parser(
        move |number| *number >= least,
        format!("give a whole number of {least} or more"),
    )
}

/// Parses whole numbers in `range`.
pub fn within<N: Whole>(range: RangeInclusive<N>) -> impl Fn(&str) -> Result<N, String> + Clone {
    let (least, most) = (range.start(), range.end());
    let wrong = format!("give a whole number from {least} to {most}");
    parser(move |number| range.contains(number), wrong)
}

/// A type of whole numbers.
pub trait Whole: Copy + Display + FromStr + PartialOrd + Send + Sync + 'static {}

impl<N: Copy + Display + FromStr + PartialOrd + Send + Sync + 'static> Whole for N {}

fn parser<N: Whole>(
    accepts: impl Fn(&N) -> bool + Clone,
    wrong: String,
) -> impl Fn(&str) -> Result<N, String> + Clone {
    move |text| {
        let number = text.parse().ok();
        number.filter(&accepts).ok_or_else(|| wrong.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::{at_least, real, within};

    #[test]
    fn numbers_are_parsed_and_others_named() {
        assert_eq!(real("-0.5"), Ok(-0.5));
        assert_eq!(real::<f32>("abc"), Err("not a number".into()));
        assert_eq!(at_least(1u64)("1"), Ok(1));
        assert_eq!(within(1..=u16::MAX)("65535"), Ok(65535));
        let (few, many) = (
            "give a whole number of 1 or more",
            "give a whole number from 1 to 65535",
        );
        for text in ["0", "-1", "1.5", "x", ""] {
            assert_eq!(at_least(1u64)(text), Err(few.into()), "{text}");
            assert_eq!(within(1..=u16::MAX)(text), Err(many.into()), "{text}");
        }
        assert_eq!(within(1..=u16::MAX)("65536"), Err(many.into()));
    }
}
