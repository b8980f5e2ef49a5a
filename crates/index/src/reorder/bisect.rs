//! Recursive graph bisection: documents that share terms become neighbours.
//!
//! The documents are split into two halves. Pairs of documents change sides as long as this makes
//! lists smaller, and each half is split in the same way (Dhulipala et al., "Compressing Graphs
//! and Indexes with Recursive Graph Bisection", KDD 2016). A list of d of n documents is estimated
//! at d log2(n / (d + 1)) bits. Each half has a graph of its own with renumbered terms. It leaves
//! out the terms that cannot distinguish its documents. So graphs shrink until they fit in the
//! cache, and halves share no data (after Mackenzie et al., "Faster Index Reordering with
//! Bipartite Graph Partitioning", SIGIR 2021).

use rayon::prelude::*;

use super::graph::Graph;
use tokapi_storage::error::Result;
use tokapi_storage::progress::{Progress, Stage};
use tokapi_storage::quicksort;

/// Maximum number of documents that are not split further. With 32, terms and lists have the same
/// size within 0.03% on the text of `benches/search/reorder`, and the processor time falls to
/// 91%.
const LEAF_DOCUMENTS: usize = 16;
/// Maximum number of rounds of swaps, as in the paper. With 10, terms and lists are 0.4% larger on
/// the same text, and the processor time falls to 61%.
const ROUNDS: usize = 20;
/// Minimum size of a graph whose terms several threads process.
const LARGE: usize = 1 << 16;
/// Number of terms between two tests for cancellation.
const CHECKED: usize = 1 << 16;

/// Computes the new order of the documents of `graph` on the current thread pool.
///
/// # Errors
/// It is cancelled.
pub(super) fn order(graph: Graph, progress: &Progress) -> Result<Vec<u32>> {
    let count = graph.documents.len();
    let leaves = count.div_ceil(LEAF_DOCUMENTS).max(1);
    let levels = u64::from(leaves.next_power_of_two().ilog2());
    progress.begin(Stage::Bisecting, levels * count as u64);
    let logs: Vec<f64> = (0..count + 3)
        .into_par_iter()
        .map(|n| libm::log2(n as f64))
        .collect();
    let mut order = vec![0; count];
    let bisection = Bisection {
        logs: &logs,
        progress,
    };
    bisection.order(graph, levels, &mut order);
    progress.check()?;
    Ok(order)
}

struct Bisection<'a> {
    /// The logarithm of every number.
    logs: &'a [f64],
    /// Counts documents whose side is final, on all levels.
    progress: &'a Progress,
}

impl Bisection<'_> {
    /// Writes the documents of `graph` in their new order; `levels` remain. After a cancellation,
    /// some are not written.
    fn order(&self, graph: Graph, levels: u64, order: &mut [u32]) {
        let count = graph.documents.len();
        if self.progress.is_cancelled() {
            return;
        }
        if count <= LEAF_DOCUMENTS || graph.terms.is_empty() {
            order.copy_from_slice(&graph.documents);
            self.progress.add(levels * count as u64);
            return;
        }
        let mut halves = Halves::new(&graph, self.progress);
        for _ in 0..ROUNDS {
            if !halves.exchange(&graph, self.logs, self.progress) {
                break;
            }
        }
        let (left, right) = rayon::join(
            || halves.graph(&graph, LEFT, self.progress),
            || halves.graph(&graph, RIGHT, self.progress),
        );
        if self.progress.is_cancelled() {
            return;
        }
        drop((graph, halves));
        self.progress.add(count as u64);
        let (first, second) = order.split_at_mut(left.documents.len());
        let levels = levels.saturating_sub(1);
        rayon::join(
            || self.order(left, levels, first),
            || self.order(right, levels, second),
        );
    }
}

const LEFT: usize = 0;
const RIGHT: usize = 1;

/// The bits saved in lists if the document at a place changes sides, and the place.
type Gain = (f32, u32);

/// The documents of a graph in two halves.
struct Halves {
    /// The side of the document at each place.
    sides: Vec<u8>,
    /// The number of documents on each side.
    counts: [usize; 2],
    /// For every term, the number of its documents on each side.
    degrees: Vec<[u32; 2]>,
    /// For every term, the bits saved if a document with the term moves from one side to the
    /// other, for both directions.
    gains: Vec<[f32; 2]>,
}

impl Halves {
    /// Splits the documents in their given order. After a cancellation, degrees are arbitrary.
    fn new(graph: &Graph, progress: &Progress) -> Self {
        let count = graph.documents.len();
        let left = count / 2;
        let mut degrees = vec![[0; 2]; graph.term_count];
        let (of_left, of_right) = graph.terms.split_at(graph.offsets[left]);
        for (side, terms) in [(LEFT, of_left), (RIGHT, of_right)] {
            let pieces = terms.chunks(CHECKED);
            for piece in pieces.take_while(|_| !progress.is_cancelled()) {
                piece
                    .iter()
                    .for_each(|&term| degrees[term as usize][side] += 1);
            }
        }
        let side = |place| if place < left { LEFT } else { RIGHT } as u8;
        Halves {
            sides: (0..count).map(side).collect(),
            counts: [left, count - left],
            degrees,
            gains: vec![[0.0; 2]; graph.term_count],
        }
    }

    /// Swaps pairs of documents between the sides, those with the highest gain first. Returns
    /// whether any pair was swapped; none after a cancellation.
    fn exchange(&mut self, graph: &Graph, logs: &[f64], progress: &Progress) -> bool {
        if progress.is_cancelled() {
            return false;
        }
        self.find_gains(graph, logs);
        let (mut left, mut right) = self.gains_of_documents(graph, progress);
        if progress.is_cancelled() {
            return false;
        }
        let by_gain = |a: &Gain, b: &Gain| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        let sorted = match graph.terms.len() > LARGE {
            true => {
                let (left, right) = rayon::join(
                    || quicksort::par_sort_by(&mut left, &by_gain, progress),
                    || quicksort::par_sort_by(&mut right, &by_gain, progress),
                );
                left.and(right)
            }
            false => {
                left.sort_unstable_by(by_gain);
                right.sort_unstable_by(by_gain);
                Ok(())
            }
        };
        if sorted.is_err() {
            return false;
        }
        let pairs = left.iter().zip(&right);
        let pairs = pairs.take_while(|(left, right)| left.0 + right.0 > 0.0);
        let mut any = false;
        for (&(_, left), &(_, right)) in pairs {
            if progress.is_cancelled() {
                return false;
            }
            self.change_side(graph, left as usize);
            self.change_side(graph, right as usize);
            any = true;
        }
        any
    }

    fn change_side(&mut self, graph: &Graph, place: usize) {
        let from = usize::from(self.sides[place]);
        let to = 1 - from;
        // 0 or 1.
        self.sides[place] = to as u8;
        for &term in graph.terms_of(place) {
            let degrees = &mut self.degrees[term as usize];
            degrees[from] -= 1;
            degrees[to] += 1;
        }
    }

    /// Computes the gains of all terms.
    fn find_gains(&mut self, graph: &Graph, logs: &[f64]) {
        let counts = self.counts.map(|count| logs[count]);
        let cost = |side: usize, degree: usize| degree as f64 * (counts[side] - logs[degree + 1]);
        let gains = |&degrees: &[u32; 2]| {
            let degrees = degrees.map(|degree| degree as usize);
            let now = cost(LEFT, degrees[LEFT]) + cost(RIGHT, degrees[RIGHT]);
            [LEFT, RIGHT].map(|from| match degrees[from] {
                0 => 0.0,
                degree => {
                    let to = 1 - from;
                    (now - cost(from, degree - 1) - cost(to, degrees[to] + 1)) as f32
                }
            })
        };
        let (into, degrees) = (&mut self.gains, &self.degrees);
        match graph.terms.len() > LARGE {
            true => degrees.par_iter().map(gains).collect_into_vec(into),
            false => {
                into.clear();
                into.extend(degrees.iter().map(gains));
            }
        }
    }

    /// The gain and the place of every document, left and right; arbitrary gains after a
    /// cancellation.
    fn gains_of_documents(&self, graph: &Graph, progress: &Progress) -> (Vec<Gain>, Vec<Gain>) {
        let gain = |place: u32| {
            if progress.is_cancelled() {
                return (0.0, place);
            }
            let side = usize::from(self.sides[place as usize]);
            let terms = graph.terms_of(place as usize).iter();
            let gain = terms.map(|&term| self.gains[term as usize][side]).sum();
            (gain, place)
        };
        let is_left = |&(_, place): &Gain| usize::from(self.sides[place as usize]) == LEFT;
        // Documents are fewer than 2^32.
        let places = 0..self.sides.len() as u32;
        match graph.terms.len() > LARGE {
            true => places.into_par_iter().map(gain).partition(is_left),
            false => places.map(gain).partition(is_left),
        }
    }

    /// The graph of a half. It leaves out terms that occur in fewer than two of its documents, or
    /// in all of them. After a cancellation, it lacks documents.
    fn graph(&self, graph: &Graph, side: usize, progress: &Progress) -> Graph {
        let count = self.counts[side];
        let (mut term_count, mut edges) = (0, 0);
        let number = |degrees: &[u32; 2]| {
            let degree = degrees[side] as usize;
            if degree < 2 || degree == count {
                return NONE;
            }
            edges += degree;
            // At most the number of terms of the graph.
            let number = term_count as u32;
            term_count += 1;
            number
        };
        let numbers: Vec<u32> = self.degrees.iter().map(number).collect();
        let mut half = Graph {
            documents: Vec::with_capacity(count),
            offsets: Vec::with_capacity(count + 1),
            terms: Vec::with_capacity(edges),
            term_count,
        };
        half.offsets.push(0);
        for (place, &document) in graph.documents.iter().enumerate() {
            if progress.is_cancelled() {
                break;
            }
            if usize::from(self.sides[place]) == side {
                let terms = graph.terms_of(place).iter();
                let numbers = terms.map(|&term| numbers[term as usize]);
                half.terms.extend(numbers.filter(|&number| number != NONE));
                half.documents.push(document);
                half.offsets.push(half.terms.len());
            }
        }
        half
    }
}

/// The number of an omitted term.
const NONE: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    /// A graph of documents with the given terms.
    fn graph(documents: &[Vec<u32>]) -> Graph {
        let mut offsets = vec![0];
        let mut terms = Vec::new();
        for document in documents {
            terms.extend(document);
            offsets.push(terms.len());
        }
        Graph {
            documents: (0..documents.len() as u32).collect(),
            offsets,
            term_count: terms.iter().max().map_or(0, |&term| term as usize + 1),
            terms,
        }
    }

    #[test]
    fn topics_are_told_apart() {
        // Eight topics of 20 terms each.
        let mut random = 1u32;
        let mut below = |end: u32| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 8) % end
        };
        let topics: Vec<u32> = (0..800).map(|_| below(8)).collect();
        let document = |topic: &u32| {
            let mut terms: Vec<u32> = (0..10).map(|_| topic * 20 + below(20)).collect();
            terms.sort_unstable();
            terms.dedup();
            terms
        };
        let documents: Vec<Vec<u32>> = topics.iter().map(document).collect();
        let order = order(graph(&documents), &Progress::new()).unwrap();
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..800));
        let topic = |document: u32| topics[document as usize];
        let borders = order
            .windows(2)
            .filter(|pair| topic(pair[0]) != topic(pair[1]));
        assert!(borders.count() < 40);
    }

    #[test]
    fn documents_without_terms_stay() {
        for count in [0, 1, 100] {
            let documents = vec![Vec::new(); count];
            let order = order(graph(&documents), &Progress::new()).unwrap();
            assert!(order.into_iter().eq(0..count as u32));
        }
    }
}
