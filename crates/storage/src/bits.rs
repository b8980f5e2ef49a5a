//! Numbers of a fixed bit width, packed one after the other, low bits first.

/// The bit width of numbers up to `most`; at least one.
pub fn width(most: u32) -> u32 {
    (u32::BITS - most.leading_zeros()).max(1)
}

/// The bytes of `count` numbers of `width` bits.
pub fn byte_count(count: usize, width: u32) -> usize {
    (count * width as usize).div_ceil(8)
}

/// Adds `values`, of `width` bits each, to `bytes`.
pub fn push(values: impl ExactSizeIterator<Item = u32>, width: u32, bytes: &mut Vec<u8>) {
    let end = bytes.len() + byte_count(values.len(), width);
    bytes.reserve(end + 8 - bytes.len());
    let (mut word, mut filled) = (0u64, 0);
    for value in values {
        word |= u64::from(value) << filled;
        filled += width;
        if filled >= 32 {
            bytes.extend_from_slice(&(word as u32).to_le_bytes());
            word >>= 32;
            filled -= 32;
        }
    }
    bytes.extend_from_slice(&word.to_le_bytes());
    bytes.truncate(end);
}

/// Number `place` in `bytes`, which begin with numbers of `width` bits.
///
/// # Panics
/// If fewer than seven bytes follow the number.
#[inline(always)]
pub fn get(bytes: &[u8], width: u32, place: usize) -> u32 {
    let bit = place * width as usize;
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[bit / 8..][..8]);
    let mask = (1u64 << width) - 1;
    (u64::from_le_bytes(word) >> (bit % 8) & mask) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths() {
        assert_eq!(
            [0, 1, 2, 3, 4, 255, u32::MAX].map(width),
            [1, 1, 2, 2, 3, 8, 32]
        );
    }

    #[test]
    fn numbers_of_every_width_come_back() {
        for width in 1..=32 {
            let numbers: Vec<u32> = (0..100u32)
                .map(|place| place.wrapping_mul(0x9e37_79b9) >> (32 - width))
                .collect();
            for count in [0, 1, 2, 31, 100] {
                let mut bytes = vec![7];
                push(numbers[..count].iter().copied(), width, &mut bytes);
                assert_eq!(bytes.len(), 1 + byte_count(count, width));
                bytes.extend([0xff; 7]);
                for (place, &number) in numbers[..count].iter().enumerate() {
                    assert_eq!(get(&bytes[1..], width, place), number);
                }
            }
        }
    }
}
