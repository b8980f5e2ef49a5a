//! Sizes on the command line: `64MB` is 64 million bytes, `64MiB` is 64 * 2^20.

/// Parses `12`, `64MB`, `1.5GB`, `256MiB`; the unit's case does not matter.
pub fn parse(text: &str) -> Result<u64, String> {
    let split = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let factor: f64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "t" | "tb" => 1e12,
        "kib" => 1024.0,
        "mib" => 1024.0 * 1024.0,
        "gib" => 1024.0 * 1024.0 * 1024.0,
        "tib" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return Err(format!("unknown unit `{unit}`; write 64MB, 2GB or 512MiB")),
    };
    let number: f64 = number
        .parse()
        .map_err(|_| format!("`{text}` is not a size; write 64MB, 2GB or 512MiB"))?;
    let bytes = number * factor;
    if (1.0..9e18).contains(&bytes) {
        // Within the range checked above the conversion is exact enough for a size.
        Ok(bytes.round() as u64)
    } else {
        Err(format!("`{text}` is not a size above zero"))
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn units() {
        let sizes = [
            ("64MB", 64_000_000),
            ("1.5gb", 1_500_000_000),
            ("2KiB", 2048),
            ("17", 17),
        ];
        for (text, bytes) in sizes {
            assert_eq!(parse(text), Ok(bytes));
        }
        for bad in ["", "MB", "0", "12XB", "-1", "1e400GB"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
