//! The encodings of Parquet pages (parquet-format, Encodings.md) that the writer needs.

use tokapi_storage::bits;
use tokapi_storage::varint;

/// PLAIN: every string after its length.
pub(super) fn strings<'a>(strings: impl Iterator<Item = &'a [u8]> + Clone) -> Vec<u8> {
    let size = strings.clone().map(|string| 4 + string.len()).sum();
    let mut bytes = Vec::with_capacity(size);
    for string in strings {
        // A page of over 2^31 bytes is refused, so a longer string never gets into a file.
        bytes.extend_from_slice(&(string.len() as u32).to_le_bytes());
        bytes.extend_from_slice(string);
    }
    bytes
}

/// DELTA_LENGTH_BYTE_ARRAY: the lengths of all strings, then all strings.
pub(super) fn strings_behind_lengths<'a>(
    strings: impl ExactSizeIterator<Item = &'a [u8]> + Clone,
) -> Vec<u8> {
    // As in `strings`, a string longer than 2^31 never gets into a file.
    let lengths: Vec<u32> = strings.clone().map(|string| string.len() as u32).collect();
    let mut bytes = delta_packed(&lengths);
    bytes.reserve(lengths.iter().map(|&length| length as usize).sum());
    strings.for_each(|string| bytes.extend_from_slice(string));
    bytes
}

/// DELTA_BINARY_PACKED: the first value, then the differences in blocks. Each difference is reduced by the least one of
/// its block, and stored in as few bits as its quarter of the block needs. Values are below 2^31.
fn delta_packed(values: &[u32]) -> Vec<u8> {
    const BLOCK: usize = 128;
    const QUARTER: usize = BLOCK / 4;
    let zigzag = |value: i64| (value << 1 ^ value >> 63) as u64;
    let mut bytes = Vec::new();
    let first = values.first().copied().unwrap_or(0);
    for number in [BLOCK as u64, 4, values.len() as u64, zigzag(first.into())] {
        varint::push(number, &mut bytes);
    }
    let deltas: Vec<i64> = values
        .windows(2)
        .map(|pair| i64::from(pair[1]) - i64::from(pair[0]))
        .collect();
    for block in deltas.chunks(BLOCK) {
        let least = block.iter().copied().min().unwrap_or(0);
        varint::push(zigzag(least), &mut bytes);
        let widths_at = bytes.len();
        bytes.extend_from_slice(&[0; 4]);
        for (place, quarter) in block.chunks(QUARTER).enumerate() {
            // Differences of values below 2^31.
            let mut rest = [0; QUARTER];
            for (rest, delta) in rest.iter_mut().zip(quarter) {
                *rest = (delta - least) as u32;
            }
            let most = rest.iter().copied().max().unwrap_or(0);
            if most > 0 {
                let width = bits::width(most);
                bytes[widths_at + place] = width as u8;
                bits::push(rest.into_iter(), width, &mut bytes);
            }
        }
    }
    bytes
}

/// BYTE_STREAM_SPLIT: the first bytes of all values, then all second bytes, and so on.
pub(super) fn byte_stream_split(values: &[f32]) -> Vec<u8> {
    let count = values.len();
    let mut bytes = vec![0; 4 * count];
    let (first, rest) = bytes.split_at_mut(count);
    let (second, rest) = rest.split_at_mut(count);
    let (third, fourth) = rest.split_at_mut(count);
    let streams = first.iter_mut().zip(second).zip(third).zip(fourth);
    for (value, (((a, b), c), d)) in values.iter().zip(streams) {
        [*a, *b, *c, *d] = value.to_le_bytes();
    }
    bytes
}

/// The bit width of an index into a dictionary of `entries` entries.
pub(super) fn width(entries: usize) -> u32 {
    // Indices are numbers of documents or terms, all below 2^32.
    bits::width(entries.saturating_sub(1) as u32)
}

/// RLE_DICTIONARY as one bit-packed run: `indices` with `width` bits each.
pub(super) fn bit_packed(indices: impl ExactSizeIterator<Item = u32>, width: u32) -> Vec<u8> {
    let groups = indices.len().div_ceil(8);
    let mut bytes = Vec::with_capacity(16 + groups * width as usize);
    // The width is at most 32.
    bytes.push(width as u8);
    varint::push((groups as u64) << 1 | 1, &mut bytes);
    let end = bytes.len() + groups * width as usize;
    bits::push(indices, width, &mut bytes);
    bytes.resize(end, 0);
    bytes
}

/// RLE_DICTIONARY of a sorted column: value `t` repeats `offsets[t + 1] - offsets[t]` times.
pub(super) struct Runs<'a> {
    offsets: &'a [u64],
    first: usize,
    value: usize,
    row: u64,
}

impl<'a> Runs<'a> {
    /// The rows from `row` on, with value `first` as index 0.
    pub(super) fn new(offsets: &'a [u64], first: usize, row: usize) -> Self {
        Runs {
            offsets,
            first,
            value: first,
            row: row as u64,
        }
    }

    /// The next `rows` rows, `width` bits a value.
    pub(super) fn take(&mut self, rows: usize, width: u32) -> Vec<u8> {
        let end = self.row + rows as u64;
        let mut bytes = vec![width as u8];
        while self.row < end {
            let run_end = self.offsets[self.value + 1].min(end);
            if run_end > self.row {
                varint::push((run_end - self.row) << 1, &mut bytes);
                let index = (self.value - self.first) as u64;
                bytes.extend_from_slice(&index.to_le_bytes()[..width.div_ceil(8) as usize]);
                self.row = run_end;
            }
            self.value += usize::from(self.offsets[self.value + 1] == run_end);
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths() {
        assert_eq!(
            [0, 1, 2, 3, 4, 5, 1 << 17].map(width),
            [1, 1, 1, 2, 2, 3, 17]
        );
    }

    #[test]
    fn bit_packing_as_in_the_specification() {
        // The example of Encodings.md: 0 to 7 in three bits.
        assert_eq!(
            bit_packed(0..8, 3),
            [3, 3, 0b1000_1000, 0b1100_0110, 0b1111_1010]
        );
        assert_eq!(bit_packed([1u32].into_iter(), 1), [1, 3, 1]);
        assert_eq!(
            bit_packed(std::iter::empty::<u32>().collect::<Vec<_>>().into_iter(), 5),
            [5, 1]
        );
    }

    #[test]
    fn deltas_as_in_the_specification() {
        // The examples of Encodings.md: equal differences take no bits; others take those of the largest.
        assert_eq!(
            delta_packed(&[1, 2, 3, 4, 5]),
            [128, 1, 4, 5, 2, 2, 0, 0, 0, 0]
        );
        let packed = delta_packed(&[7, 5, 3, 1, 2, 3, 4, 5]);
        assert_eq!(packed[..10], [128, 1, 4, 8, 14, 3, 2, 0, 0, 0]);
        assert_eq!(packed[10..], [0b1100_0000, 0b0011_1111, 0, 0, 0, 0, 0, 0]);
        assert_eq!(delta_packed(&[]), [128, 1, 4, 0, 0]);
    }

    #[test]
    fn runs_pass_over_empty_values_and_page_borders() {
        let offsets = [0, 2, 2, 5, 6];
        let mut runs = Runs::new(&offsets, 0, 1);
        assert_eq!(runs.take(2, 2), [2, 2, 0, 2, 2]);
        assert_eq!(runs.take(3, 2), [2, 4, 2, 2, 3]);
    }

    #[test]
    fn streams_are_split() {
        let values = [1.0f32, -2.5];
        let [a, b] = values.map(f32::to_le_bytes);
        assert_eq!(
            byte_stream_split(&values),
            [a[0], b[0], a[1], b[1], a[2], b[2], a[3], b[3]]
        );
    }
}
