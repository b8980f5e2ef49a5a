//! Draws ranks by their weights, in constant time and mostly from the nearest caches.
//!
//! Walker's alias method over two tables. The first holds the most frequent ranks, small enough for the second-level
//! cache, and one more entry for all other ranks. The second holds those other ranks, grouped into cells of equal
//! weight.

use super::random::Stream;

/// Ranks with their own entry in the first table (8 bytes each). With the built-in vocabulary they serve 91 % of the
/// draws, from 128 KiB.
pub(super) const HOT: usize = 16_384;

/// Consecutive ranks drawn with equal probability.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cell {
    /// The first rank, counted from 0.
    pub(super) first: u32,
    /// How many ranks.
    pub(super) width: u32,
    /// The weight of all of them together.
    pub(super) weight: f64,
}

/// The distribution of one vocabulary.
pub(super) struct Sampler {
    hot: Alias,
    /// The entry of `hot` for the cold cells; beyond the table if there are none.
    to_cold: u32,
    cold: Alias,
    cold_cells: Vec<(u32, u32)>,
}

impl Sampler {
    /// Builds the tables from the weights of ranks 0, 1, ... (at most [`HOT`]) and the cells of the ranks after them.
    ///
    /// The weights are positive, and there is at least one.
    pub(super) fn new(hot_weights: &[f64], cold_cells: &[Cell]) -> Self {
        debug_assert!(!hot_weights.is_empty() && hot_weights.len() <= HOT);
        let mut weights = hot_weights.to_vec();
        let cold_weights: Vec<f64> = cold_cells.iter().map(|cell| cell.weight).collect();
        if !cold_cells.is_empty() {
            weights.push(cold_weights.iter().sum());
        }
        Self {
            // HOT is far below 2^32.
            to_cold: hot_weights.len() as u32,
            hot: Alias::new(&weights),
            cold: Alias::new(&cold_weights),
            cold_cells: cold_cells.iter().map(|c| (c.first, c.width)).collect(),
        }
    }

    /// Fills `ranks`, counted from 0.
    ///
    /// All draws from the first table come before those from the second, so the processor overlaps them.
    #[inline(always)]
    pub(super) fn draw(&self, stream: &mut Stream, ranks: &mut [u32]) {
        for rank in ranks.iter_mut() {
            *rank = self.hot.draw(stream.next());
        }
        for rank in ranks {
            if *rank == self.to_cold {
                let (first, width) = self.cold_cells[self.cold.draw(stream.next()) as usize];
                *rank = first + ((u128::from(stream.next()) * u128::from(width)) >> 64) as u32;
            }
        }
    }
}

/// One alias table.
struct Alias {
    /// For each entry: the share of its draws that stay with it, in units of 2^-32, and the target of the others.
    entries: Vec<(u32, u32)>,
}

impl Alias {
    /// Vose's construction.
    fn new(weights: &[f64]) -> Self {
        let scale = weights.len() as f64 / weights.iter().sum::<f64>();
        let mut shares: Vec<f64> = weights.iter().map(|weight| weight * scale).collect();
        // The caller's cells are numbered by u32 ranks, so there are fewer than 2^32.
        let mut entries: Vec<(u32, u32)> =
            (0..weights.len() as u32).map(|i| (u32::MAX, i)).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..weights.len()).partition(|&i| shares[i] < 1.0);
        while let (Some(&below), Some(&above)) = (small.last(), large.last()) {
            small.pop();
            // A share below 1, so the product is below 2^32.
            entries[below] = ((shares[below] * 4_294_967_296.0) as u32, above as u32);
            shares[above] -= 1.0 - shares[below];
            if shares[above] < 1.0 {
                large.pop();
                small.push(above);
            }
        }
        Self { entries }
    }

    /// The high half of `bits` times the number of entries picks an entry; the low half decides whether to stay with
    /// it.
    #[inline(always)]
    fn draw(&self, bits: u64) -> u32 {
        let product = u128::from(bits) * self.entries.len() as u128;
        let index = (product >> 64) as usize;
        let (stay, other) = self.entries[index];
        let stays = ((product as u64) >> 32) as u32 <= stay;
        // No branch: it would be mispredicted half of the time. `index` is below the number of entries, so it fits.
        std::hint::select_unpredictable(stays, index as u32, other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_follow_the_weights() {
        let hot = [50.0, 20.0, 10.0];
        let cold = [
            Cell {
                first: 3,
                width: 4,
                weight: 16.0,
            },
            Cell {
                first: 7,
                width: 1,
                weight: 4.0,
            },
        ];
        let sampler = Sampler::new(&hot, &cold);
        let mut stream = Stream::new(1, 0);
        let mut counts = [0u32; 8];
        let draws = 1_000_000;
        let mut ranks = vec![0; draws as usize];
        sampler.draw(&mut stream, &mut ranks);
        for rank in ranks {
            counts[rank as usize] += 1;
        }
        for (count, percent) in counts
            .iter()
            .zip([50.0, 20.0, 10.0, 4.0, 4.0, 4.0, 4.0, 4.0])
        {
            let expected = f64::from(draws) * percent / 100.0;
            let error = (f64::from(*count) - expected).abs();
            assert!(error < 5.0 * expected.sqrt(), "{counts:?}");
        }
    }

    #[test]
    fn one_term_alone() {
        let sampler = Sampler::new(&[7.0], &[]);
        let mut stream = Stream::new(1, 0);
        let mut ranks = [1; 1000];
        sampler.draw(&mut stream, &mut ranks);
        assert_eq!(ranks, [0; 1000]);
    }
}
