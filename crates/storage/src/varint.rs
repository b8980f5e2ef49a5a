//! Numbers in as few bytes as possible: seven bits a byte, the low ones first.

/// Adds `value` to `bytes`.
#[inline]
pub fn push(mut value: u64, bytes: &mut Vec<u8>) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Takes the next number off the front of `bytes`; none if they end within it, or if it has more than 64 bits.
#[inline(always)]
pub fn take(bytes: &mut &[u8]) -> Option<u64> {
    let (&first, rest) = bytes.split_first()?;
    if first < 0x80 {
        *bytes = rest;
        return Some(u64::from(first));
    }
    take_long(bytes)
}

fn take_long(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for (place, &byte) in bytes.iter().enumerate().take(10) {
        let bits = u64::from(byte & 0x7f);
        let shift = 7 * place as u32;
        if bits > u64::MAX >> shift {
            return None;
        }
        value |= bits << shift;
        if byte < 0x80 {
            *bytes = &bytes[place + 1..];
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_size_come_back() {
        let numbers: Vec<u64> = (0..64)
            .flat_map(|bits| [(1 << bits) - 1, 1 << bits, (1 << bits) + 1])
            .chain([u64::MAX])
            .collect();
        let mut bytes = Vec::new();
        numbers.iter().for_each(|&number| push(number, &mut bytes));
        let mut left = &bytes[..];
        for &number in &numbers {
            assert_eq!(take(&mut left), Some(number));
        }
        assert_eq!(take(&mut left), None);
        assert_eq!(take(&mut &[0x80; 9][..]), None);
        assert_eq!(take(&mut &[0xff; 10][..]), None);
        assert_eq!(take(&mut &[0xff; 20][..]), None);
    }
}
