//! Sets of document numbers.

/// A set of document numbers, and the rank of each in it.
pub struct Ranks {
    bits: Vec<u64>,
    /// The number of members before every word.
    before: Vec<u32>,
    count: usize,
}

impl Ranks {
    /// The set of `documents`, each below `limit`.
    pub fn new(documents: &[u32], limit: usize) -> Self {
        let mut bits = vec![0u64; limit.div_ceil(64)];
        for &document in documents {
            bits[document as usize / 64] |= 1 << (document % 64);
        }
        Ranks::of_bits(bits)
    }

    /// The set of all numbers below `limit` that are not in `documents`.
    pub fn without(documents: &[u32], limit: usize) -> Self {
        let mut bits = vec![u64::MAX; limit.div_ceil(64)];
        if let Some(last) = bits.last_mut().filter(|_| !limit.is_multiple_of(64)) {
            *last >>= 64 - limit % 64;
        }
        for &document in documents {
            bits[document as usize / 64] &= !(1 << (document % 64));
        }
        Ranks::of_bits(bits)
    }

    fn of_bits(bits: Vec<u64>) -> Self {
        let mut before = Vec::with_capacity(bits.len());
        let mut count = 0;
        for word in &bits {
            before.push(count);
            count += word.count_ones();
        }
        Ranks {
            bits,
            before,
            count: count as usize,
        }
    }

    /// The number of members.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The members, ascending.
    pub fn members(&self) -> impl Iterator<Item = usize> + Clone + '_ {
        self.bits.iter().enumerate().flat_map(|(place, &word)| {
            let next = |&rest: &u64| Some(rest & rest.wrapping_sub(1)).filter(|&rest| rest != 0);
            let rests = std::iter::successors(Some(word).filter(|&word| word != 0), next);
            rests.map(move |rest| place * 64 + rest.trailing_zeros() as usize)
        })
    }

    /// Whether `document` is a member.
    #[inline]
    pub fn contains(&self, document: u32) -> bool {
        self.bits[document as usize / 64] >> (document % 64) & 1 == 1
    }

    /// The number of members below member `document`.
    #[inline]
    pub fn rank(&self, document: u32) -> u32 {
        let word = document as usize / 64;
        let below = self.bits[word] & ((1 << (document % 64)) - 1);
        self.before[word] + below.count_ones()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_count_members_below() {
        let documents = [3, 200, 64, 3, 65];
        let ranks = Ranks::new(&documents, 300);
        assert_eq!(ranks.members().collect::<Vec<_>>(), [3, 64, 65, 200]);
        assert_eq!(documents.map(|d| ranks.rank(d)), [0, 3, 1, 0, 2]);
        assert_eq!(ranks.count(), 4);
        assert!(ranks.contains(64) && !ranks.contains(63));
        let others = Ranks::without(&[3, 64, 65], 70);
        assert_eq!(others.count(), 67);
        assert!(!others.contains(64) && others.contains(63));
        assert_eq!(others.rank(66), 63);
    }
}
