//! Cutting a chunk's text into raw terms, 64 bytes at a time.
//!
//! A block of 64 bytes becomes a word of 64 bits, one bit per byte: whether the byte belongs to a term. Where
//! neighbouring bits differ, a term starts or ends. These positions, the *edges*, are the only output of this file;
//! they alternate start, end, start, end. The result equals splitting the text at every character that is not a term
//! character, and dropping empty pieces.

use super::word::Class;

/// Bytes classified at a time.
const BLOCK: usize = 64;

/// The class of characters beyond ASCII.
#[derive(Clone, Copy)]
pub(crate) enum High {
    /// They all belong to terms, so nothing is decoded.
    Term,
    /// Those of the class belong to terms.
    Told(&'static Class),
}

/// The classes of characters.
#[derive(Clone)]
pub struct Cutter {
    /// Whether an ASCII byte belongs to terms.
    ascii: [bool; 128],
    /// Bit h of entry l: whether byte h * 16 + l belongs to terms, for the vector unit.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    nibbles: [u8; 16],
    high: High,
}

/// The state of the classification between two segments.
#[derive(Clone, Copy, Default)]
pub struct State {
    /// Whether the last byte belonged to a term.
    inside: bool,
    /// The bytes at the start of the next block that belong to the last character of this one.
    spill: u64,
}

impl Cutter {
    pub(crate) fn new(is_term: impl Fn(char) -> bool, high: High) -> Self {
        let ascii = std::array::from_fn(|byte| is_term(char::from(byte as u8)));
        let mut nibbles = [0; 16];
        for byte in 0..128 {
            nibbles[byte % 16] |= u8::from(ascii[byte]) << (byte / 16);
        }
        Cutter {
            ascii,
            nibbles,
            high,
        }
    }

    /// Appends to `edges` every edge in `text[from..to]`, as offsets from `from`.
    ///
    /// `to - from` is a multiple of 64. If `text` ends within a character, at least 4 more bytes follow. A term that
    /// runs past `to` has its end among the edges of the next segment.
    pub fn edges(
        &self,
        text: &[u8],
        from: usize,
        to: usize,
        state: &mut State,
        edges: &mut Vec<u32>,
    ) {
        debug_assert_eq!((to - from) % BLOCK, 0);
        #[cfg(target_arch = "x86_64")]
        if has_vector_unit() {
            // SAFETY: the processor has all that the function asks for.
            return unsafe { self.edges_avx2(text, from, to, state, edges) };
        }
        self.edges_with(text, from, to, state, edges, |block| self.classify(block));
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn edges_avx2(
        &self,
        text: &[u8],
        from: usize,
        to: usize,
        state: &mut State,
        edges: &mut Vec<u32>,
    ) {
        self.edges_with(text, from, to, state, edges, |block| {
            self.classify_avx2(block)
        });
    }

    #[inline(always)]
    fn edges_with(
        &self,
        text: &[u8],
        from: usize,
        to: usize,
        state: &mut State,
        edges: &mut Vec<u32>,
        classify: impl Fn(&[u8; BLOCK]) -> (u64, u64),
    ) {
        let (blocks, _) = text[from..to].as_chunks::<BLOCK>();
        for (number, block) in blocks.iter().enumerate() {
            let offset = number * BLOCK;
            let (mut bits, high) = classify(block);
            match self.high {
                High::Term => bits |= high,
                High::Told(_) if high == 0 => bits |= std::mem::take(&mut state.spill),
                High::Told(class) => {
                    bits |= std::mem::take(&mut state.spill);
                    let (here, spill) = decode(text, from + offset, high, class);
                    bits |= here;
                    state.spill = spill;
                }
            }
            let changes = bits ^ (bits << 1 | u64::from(state.inside));
            state.inside = bits >> 63 == 1;
            // Segments are far below 4 GiB, so an offset within one fits.
            push_ones(changes, offset as u32, edges);
        }
    }

    /// The ASCII bytes of a block that belong to terms, and the bytes beyond ASCII.
    fn classify(&self, block: &[u8; BLOCK]) -> (u64, u64) {
        let (mut bits, mut high) = (0, 0);
        for (i, &byte) in block.iter().enumerate() {
            match self.ascii.get(usize::from(byte)) {
                Some(&is_term) => bits |= u64::from(is_term) << i,
                None => high |= 1 << i,
            }
        }
        (bits, high)
    }

    /// As [`Cutter::classify`]. The low nibble selects the set of high nibbles with which it forms a term byte; the
    /// high nibble selects its bit in that set. For bytes beyond ASCII the shuffle gives 0.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    #[inline]
    fn classify_avx2(&self, block: &[u8; BLOCK]) -> (u64, u64) {
        use std::arch::x86_64::*;
        // SAFETY: both tables and the two halves of the block are as long as what is loaded.
        let (low_table, high_table, halves) = unsafe {
            let low = _mm_loadu_si128(self.nibbles.as_ptr().cast());
            let high = _mm_loadu_si128(HIGH_NIBBLE.as_ptr().cast());
            let halves = [
                _mm256_loadu_si256(block.as_ptr().cast()),
                _mm256_loadu_si256(block.as_ptr().add(32).cast()),
            ];
            (
                _mm256_broadcastsi128_si256(low),
                _mm256_broadcastsi128_si256(high),
                halves,
            )
        };
        let (mut bits, mut high) = (0, 0);
        for (half, bytes) in halves.into_iter().enumerate() {
            let sets = _mm256_shuffle_epi8(low_table, bytes);
            let nibble = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), _mm256_set1_epi8(0x0f));
            let bit = _mm256_shuffle_epi8(high_table, nibble);
            let miss = _mm256_cmpeq_epi8(_mm256_and_si256(sets, bit), _mm256_setzero_si256());
            // A mask of 32 signs: the cast keeps the bits.
            bits |= u64::from(!_mm256_movemask_epi8(miss) as u32) << (32 * half);
            high |= u64::from(_mm256_movemask_epi8(bytes) as u32) << (32 * half);
        }
        (bits, high)
    }
}

/// Appends `offset` plus the position of every set bit of `bits`.
#[inline(always)]
fn push_ones(mut bits: u64, offset: u32, places: &mut Vec<u32>) {
    /// Positions found per step, needed or not. A loop that ends at the last set bit would be mispredicted in every
    /// block.
    const STEP: usize = 8;
    let count = bits.count_ones() as usize;
    let mut found = [0; BLOCK];
    for places in found.chunks_exact_mut(STEP).take(count.div_ceil(STEP)) {
        for place in places {
            *place = offset + bits.trailing_zeros();
            bits &= bits.wrapping_sub(1);
        }
    }
    places.extend_from_slice(&found[..count]);
}

/// Whether the processor has the features that [`Cutter::edges_avx2`] is compiled for.
#[cfg(target_arch = "x86_64")]
#[inline]
fn has_vector_unit() -> bool {
    use std::arch::is_x86_feature_detected as has;
    has!("avx2") && has!("bmi1") && has!("bmi2") && has!("lzcnt") && has!("popcnt")
}

/// Bit `n` for the high nibble `n` of an ASCII byte.
#[cfg(target_arch = "x86_64")]
const HIGH_NIBBLE: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 0, 0, 0, 0, 0, 0, 0, 0];

/// Decodes the characters beyond ASCII that start in the block at `at`. Returns the bytes of the block that belong to
/// terms, and the bytes of the next block that continue a term's character of this one.
#[cold]
fn decode(text: &[u8], at: usize, high: u64, class: &Class) -> (u64, u64) {
    let mut padded = [0; WINDOW];
    let window = text[at..].first_chunk().unwrap_or_else(|| {
        let end = text.len() - at;
        padded[..end].copy_from_slice(&text[at..]);
        &padded
    });
    let mut member: u128 = 0;
    let mut rest = high;
    while rest != 0 {
        // Below 64: the remainder tells the compiler so.
        let i = rest.trailing_zeros() % 64;
        let (code_point, length) = character(window, i as usize);
        let bytes = (1u128 << length) - 1;
        if class.has(code_point) {
            member |= bytes << i;
        }
        // The low half: `rest` holds no bits beyond the block.
        rest &= !((bytes << i) as u64);
    }
    // The low and the high half of the 128 bits.
    (member as u64, (member >> 64) as u64)
}

/// A block and the rest of its last character.
const WINDOW: usize = BLOCK + 3;

/// The code point of the character at byte `at` of a block, and its length; none and 1 within a character. The text is
/// valid UTF-8.
#[inline(always)]
fn character(window: &[u8; WINDOW], at: usize) -> (u32, u32) {
    let rest = |i: usize| u32::from(window[at + i] & 0x3f);
    match u32::from(window[at]) {
        lead @ 0xf0.. => {
            let code_point = (lead & 7) << 18 | rest(1) << 12 | rest(2) << 6 | rest(3);
            (code_point, 4)
        }
        lead @ 0xe0.. => ((lead & 0xf) << 12 | rest(1) << 6 | rest(2), 3),
        lead @ 0xc0.. => ((lead & 0x1f) << 6 | rest(1), 2),
        _ => (u32::MAX, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::{Analyzer, AnalyzerOptions, Cut};
    use proptest::prelude::*;

    /// Cuts `text` in segments of `segment` bytes.
    fn cut(analyzer: &Analyzer, text: &str, segment: usize, portable: bool) -> Vec<String> {
        let mut bytes = text.as_bytes().to_vec();
        bytes.push(b' ');
        bytes.resize(bytes.len().next_multiple_of(segment) + BLOCK, b' ');
        let cutter = analyzer.cutter();
        let (mut state, mut all, mut edges) = (State::default(), Vec::new(), Vec::new());
        for from in (0..bytes.len() - BLOCK).step_by(segment) {
            edges.clear();
            if portable {
                cutter.edges_with(&bytes, from, from + segment, &mut state, &mut edges, |b| {
                    cutter.classify(b)
                });
            } else {
                cutter.edges(&bytes, from, from + segment, &mut state, &mut edges);
            }
            all.extend(edges.iter().map(|&edge| from + edge as usize));
        }
        let terms = all
            .chunks(2)
            .map(|pair| String::from_utf8(bytes[pair[0]..pair[1]].to_vec()).unwrap());
        terms.collect()
    }

    proptest! {
        #[test]
        fn equals_splitting_by_character(
            text in "[a-cA-C0 ._é\u{301}語\u{2003}\u{1F600}\u{1D7D8}-]{0,300}",
            segment in 1usize..4,
        ) {
            for how in Cut::ALL {
                let analyzer = Analyzer::new(&AnalyzerOptions::default().cut(how)).unwrap();
                let expected: Vec<String> = text
                    .split(|c| !analyzer.is_term_char(c))
                    .filter(|raw| !raw.is_empty())
                    .map(str::to_owned)
                    .collect();
                for portable in [true, false] {
                    prop_assert_eq!(&cut(&analyzer, &text, segment * BLOCK, portable), &expected);
                }
            }
        }
    }
}
