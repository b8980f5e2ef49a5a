//! Made-up words: from a rank to a pronounceable word of a-z, and back.
//!
//! Consonants and vowels alternate. The words of one length are numbered in a mixed radix. A decade of ranks deals out
//! lengths in a fixed pattern, and the words of each length in turn. So a rank has one length and one number within it,
//! and no two ranks share both: words are unique by construction, and each is computed alone.

use std::sync::LazyLock;

const CONSONANTS: &[u8; 20] = b"bcdfghjklmnprstvwxyz";
const VOWELS: &[u8; 5] = b"aeiou";

/// The length of the longest word.
pub(super) const LONGEST: usize = 13;

/// The last rank with a word; the first is 1. Beyond it the words of 8 letters would run out.
pub(super) const LAST_RANK: u32 = 1_000_000_000;

/// The lengths of the words of ranks 1 to 9.
const FIRST_LENGTHS: [u8; 9] = [1, 2, 1, 2, 3, 1, 2, 1, 3];

/// The number of words of each length (1, 2, ... letters) among 90 consecutive ranks, by decade of ranks from 10-99 on.
///
/// The shape follows the word lengths of the English web at those ranks (on average 2.2, 3.5, 5.6, 6.7, 7.2 and 7.6
/// letters in the first six decades). The first three decades are shortened so that a drawn word has 4.589 letters.
/// With its line end, and the empty line after every 733rd word, that gives the 5.592 bytes a word of the published
/// collections. The shares of short words are bounded by their number.
const LENGTHS: [[u8; LONGEST]; 7] = [
    [0, 30, 30, 20, 7, 2, 1, 0, 0, 0, 0, 0, 0],
    [0, 5, 14, 23, 20, 12, 8, 6, 2, 0, 0, 0, 0],
    [0, 1, 8, 12, 13, 14, 13, 11, 8, 5, 3, 2, 0],
    [0, 0, 1, 9, 16, 16, 15, 12, 9, 6, 3, 2, 1],
    [0, 0, 0, 0, 12, 20, 18, 15, 11, 7, 4, 2, 1],
    [0, 0, 0, 0, 1, 12, 21, 19, 14, 10, 6, 4, 3],
    [0, 0, 0, 0, 0, 0, 1, 16, 22, 20, 15, 10, 6],
];

/// Coprime to 10, hence to the number of words of any length: its only prime factors are 2 and 5.
const STRIDE: u64 = 2_654_435_769;

/// Two digits of a word that begins with a consonant, or with a vowel. The first letter is the lower digit.
const CONSONANT_VOWEL: [[u8; 2]; 100] = pairs(CONSONANTS, VOWELS);
const VOWEL_CONSONANT: [[u8; 2]; 100] = pairs(VOWELS, CONSONANTS);

const fn pairs(first: &[u8], second: &[u8]) -> [[u8; 2]; 100] {
    let mut pairs = [[0; 2]; 100];
    let mut i = 0;
    while i < 100 {
        pairs[i] = [first[i % first.len()], second[i / first.len()]];
        i += 1;
    }
    pairs
}

/// A made-up word, followed by letters without meaning.
#[derive(Debug, Clone, Copy)]
pub(super) struct Word {
    pub(super) letters: [u8; 16],
    pub(super) length: usize,
}

impl Word {
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.letters[..self.length]
    }
}

/// A range of ranks that deals out lengths in one repeated pattern.
struct Band {
    first_rank: u32,
    /// For each position of the pattern: the length, and the number of earlier positions with the same length.
    pattern: Vec<(u8, u32)>,
    /// For each length: the number of words in earlier bands, and the number in one turn of the pattern.
    taken: [u64; LONGEST + 1],
    per_turn: [u64; LONGEST + 1],
}

static BANDS: LazyLock<Vec<Band>> = LazyLock::new(bands);

/// The word of a rank, counted from 1 and at most [`LAST_RANK`].
pub(super) fn word(rank: u32) -> Word {
    debug_assert!((1..=LAST_RANK).contains(&rank));
    let band = &BANDS[BANDS.partition_point(|band| band.first_rank <= rank) - 1];
    let offset = (rank - band.first_rank) as usize;
    let (turn, position) = (offset / band.pattern.len(), offset % band.pattern.len());
    let (length, before) = band.pattern[position];
    let length = usize::from(length);
    let number = band.taken[length] + turn as u64 * band.per_turn[length] + u64::from(before);
    spell(length, number)
}

/// The rank of this made-up word, if it is one.
pub(super) fn rank(word: &[u8]) -> Option<u32> {
    let (length, number) = (word.len(), unspell(word)?);
    let band = BANDS
        .iter()
        .rev()
        .find(|band| band.per_turn[length] > 0 && band.taken[length] <= number)?;
    let per_turn = band.per_turn[length];
    let number = number - band.taken[length];
    let (turn, before) = (number / per_turn, number % per_turn);
    let position = band
        .pattern
        .iter()
        .position(|&(l, b)| usize::from(l) == length && u64::from(b) == before)?;
    let rank = turn * band.pattern.len() as u64 + position as u64 + u64::from(band.first_rank);
    // A number beyond its band gives a rank with another word.
    u32::try_from(rank)
        .ok()
        .filter(|&rank| rank <= LAST_RANK && self::word(rank).as_bytes() == word)
}

/// The number of words of this length that begin with a consonant, and with a vowel. One letter is always a vowel.
fn capacity(length: usize) -> (u64, u64) {
    let (mut consonant_first, mut vowel_first) = (1, 1);
    for position in 0..length {
        let (c, v) = (CONSONANTS.len() as u64, VOWELS.len() as u64);
        consonant_first *= if position % 2 == 0 { c } else { v };
        vowel_first *= if position % 2 == 0 { v } else { c };
    }
    (if length == 1 { 0 } else { consonant_first }, vowel_first)
}

static CAPACITIES: LazyLock<[(u64, u64); LONGEST + 1]> =
    LazyLock::new(|| std::array::from_fn(capacity));

/// The `number`-th word of a length. Consecutive numbers are [`STRIDE`] apart, so neighbours look different.
fn spell(length: usize, number: u64) -> Word {
    let (consonant_first, vowel_first) = CAPACITIES[length];
    debug_assert!(number < consonant_first + vowel_first);
    let mut code = (number * STRIDE) % (consonant_first + vowel_first);
    let pairs = if code < consonant_first {
        &CONSONANT_VOWEL
    } else {
        code -= consonant_first;
        &VOWEL_CONSONANT
    };
    let mut letters = [0; 16];
    // The second letter of the last pair may be after the word's end.
    for pair in letters.chunks_exact_mut(2).take(length.div_ceil(2)) {
        pair.copy_from_slice(&pairs[(code % 100) as usize]);
        code /= 100;
    }
    Word { letters, length }
}

/// The inverse of [`spell`]: the number of a word within its length.
fn unspell(word: &[u8]) -> Option<u64> {
    if word.is_empty() || word.len() > LONGEST {
        return None;
    }
    let (consonant_first, vowel_first) = CAPACITIES[word.len()];
    let total = consonant_first + vowel_first;
    let starts_with_vowel = VOWELS.contains(&word[0]);
    let mut code = 0;
    for (position, letter) in word.iter().enumerate().rev() {
        let vowel = (position % 2 == 0) == starts_with_vowel;
        let alphabet: &[u8] = if vowel { VOWELS } else { CONSONANTS };
        let digit = alphabet.iter().position(|l| l == letter)? as u64;
        code = code * alphabet.len() as u64 + digit;
    }
    if starts_with_vowel {
        code += consonant_first;
    }
    if code >= total {
        return None;
    }
    let undone = u128::from(code) * u128::from(inverse(STRIDE % total, total)) % u128::from(total);
    u64::try_from(undone).ok()
}

/// The inverse of `a` modulo `modulus`, where the two are coprime (Euclid's algorithm).
fn inverse(a: u64, modulus: u64) -> u64 {
    let m = i128::from(modulus);
    let (mut r0, mut r1) = (m, i128::from(a));
    let (mut t0, mut t1) = (0, 1);
    while r1 != 0 {
        let quotient = r0 / r1;
        (r0, r1) = (r1, r0 - quotient * r1);
        (t0, t1) = (t1, t0 - quotient * t1);
    }
    // In 0..modulus, which is a u64.
    t0.rem_euclid(m) as u64
}

fn bands() -> Vec<Band> {
    let mut patterns = vec![FIRST_LENGTHS.to_vec()];
    for shares in &LENGTHS {
        let mut pattern = vec![0; 90];
        let lengths = (1u8..)
            .zip(shares)
            .flat_map(|(length, &share)| std::iter::repeat_n(length, usize::from(share)));
        for (i, length) in lengths.enumerate() {
            // 37 is coprime to 90: every position is filled once, and equal lengths lie apart.
            pattern[i * 37 % 90] = length;
        }
        patterns.push(pattern);
    }
    let mut taken = [0; LONGEST + 1];
    let mut first_rank = 1;
    let mut bands = Vec::new();
    for lengths in patterns {
        let mut per_turn = [0; LONGEST + 1];
        let mut pattern = Vec::new();
        for length in lengths {
            let before = &mut per_turn[usize::from(length)];
            pattern.push((length, *before as u32));
            *before += 1;
        }
        let band = Band {
            first_rank,
            pattern,
            taken,
            per_turn,
        };
        // A decade has 9, 90, 900, ... ranks: a whole number of turns.
        let turns = u64::from(first_rank) * 9 / band.pattern.len() as u64;
        for (taken, per_turn) in taken.iter_mut().zip(per_turn) {
            *taken += turns * per_turn;
        }
        first_rank *= 10;
        bands.push(band);
    }
    bands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unique_and_alphabetic() {
        let mut seen = std::collections::HashSet::new();
        for rank in 1..=400_000 {
            let word = word(rank);
            assert!(!word.as_bytes().is_empty());
            assert!(word.as_bytes().iter().all(u8::is_ascii_lowercase));
            assert!(seen.insert(word.as_bytes().to_vec()), "{word:?} twice");
        }
    }

    #[test]
    fn ranks_and_words_are_inverse() {
        let near_edges = (0..=9).flat_map(|k| {
            let edge = 10u32.pow(k);
            edge.saturating_sub(200).max(1)..=edge.saturating_add(200).min(LAST_RANK)
        });
        for r in near_edges.chain((1..10_000_000).step_by(997)) {
            assert_eq!(rank(word(r).as_bytes()), Some(r), "{:?}", word(r));
        }
        for other in ["", "b", "strength", "nn", "a1", "babababababababa", "é"] {
            assert_eq!(rank(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn no_length_runs_out() {
        let last = BANDS.last().unwrap();
        let turns = u64::from(LAST_RANK - last.first_rank) / 90 + 1;
        for length in 1..=LONGEST {
            let (c, v) = capacity(length);
            let needed = last.taken[length] + turns * last.per_turn[length];
            assert!(needed <= c + v, "{length} letters: {needed} of {}", c + v);
        }
        assert!(LENGTHS.iter().all(|shares| shares.iter().sum::<u8>() == 90));
    }
}
