//! Sorting that ends early if it is cancelled, for slices of any size.
//!
//! Quicksort in place: a pivot divides the items until few are left, which the standard library sorts. The pivot is the
//! median of a sample. The partition has no branches that depend on items.

use std::cmp::Ordering;

use crate::error::Result;
use crate::progress::Progress;

/// The number of items between two tests for cancellation, and the most that the standard library sorts.
const LEAF: usize = 1 << 16;
/// The number of items in a sample.
const SAMPLE: usize = 255;

/// Sorts `items`, on this thread. Equal items may change places.
///
/// # Errors
/// [`Error::Cancelled`](crate::error::Error::Cancelled); the items are then in any order.
pub fn sort_by<T: Copy>(
    mut items: &mut [T],
    compare: &impl Fn(&T, &T) -> Ordering,
    progress: &Progress,
) -> Result<()> {
    while items.len() > LEAF {
        let (left, right) = divide(items, compare, progress)?;
        sort_by(left, compare, progress)?;
        items = right;
    }
    progress.check()?;
    items.sort_unstable_by(compare);
    Ok(())
}

/// As [`sort_by`], on the threads of the current pool.
///
/// # Errors
/// As [`sort_by`].
pub fn par_sort_by<T: Copy + Send>(
    items: &mut [T],
    compare: &(impl Fn(&T, &T) -> Ordering + Sync),
    progress: &Progress,
) -> Result<()> {
    if items.len() <= LEAF {
        return sort_by(items, compare, progress);
    }
    let (left, right) = divide(items, compare, progress)?;
    let (left, right) = rayon::join(
        || par_sort_by(left, compare, progress),
        || par_sort_by(right, compare, progress),
    );
    left.and(right)
}

/// Divides more items than a sample has. No item of the left part is larger than one of the right part, and both parts
/// are shorter than `items`. Items between them are in their places.
fn divide<'a, T: Copy>(
    items: &'a mut [T],
    compare: &impl Fn(&T, &T) -> Ordering,
    progress: &Progress,
) -> Result<(&'a mut [T], &'a mut [T])> {
    let step = items.len() / SAMPLE;
    let mut sample: Vec<T> = items.iter().copied().step_by(step).collect();
    sample.sort_unstable_by(compare);
    let middle = sample.len() / 2;
    let pivot = sample[middle];
    let less = partition(items, |item| compare(item, &pivot).is_lt(), progress)?;
    let (left, right) = items.split_at_mut(less);
    // If the sample has no item twice, many are less than the pivot. So the right part is shorter already.
    let equal = match compare(&sample[middle - 1], &pivot).is_lt() {
        true => 0,
        false => partition(right, |item| compare(item, &pivot).is_eq(), progress)?,
    };
    Ok((left, &mut right[equal..]))
}

/// Moves the items that `belongs` holds for to the front. Returns their number.
fn partition<T: Copy>(
    items: &mut [T],
    belongs: impl Fn(&T) -> bool,
    progress: &Progress,
) -> Result<usize> {
    let mut front = 0;
    let mut from = 0;
    while from < items.len() {
        progress.check()?;
        let to = items.len().min(from + LEAF);
        for at in from..to {
            items.swap(front, at);
            front += usize::from(belongs(&items[front]));
        }
        from = to;
    }
    Ok(front)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering as Atomic};

    use super::*;
    use crate::error::Error;

    fn random(count: usize, distinct: u64) -> Vec<u64> {
        let mut state = 7u64;
        let next = |_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 20) % distinct
        };
        (0..count).map(next).collect()
    }

    #[test]
    fn items_are_sorted_as_by_the_standard_library() {
        for count in [0, 1, LEAF - 1, LEAF, LEAF + 1, 5 * LEAF + 3] {
            for distinct in [1, 2, 300, u64::MAX] {
                let items = random(count, distinct);
                let mut sorted = items.clone();
                sorted.sort_unstable();
                let descending: Vec<u64> = sorted.iter().rev().copied().collect();
                for mut items in [items, sorted.clone(), descending] {
                    let mut parallel = items.clone();
                    sort_by(&mut items, &u64::cmp, &Progress::new()).unwrap();
                    assert!(items == sorted, "{count} {distinct}");
                    par_sort_by(&mut parallel, &u64::cmp, &Progress::new()).unwrap();
                    assert!(parallel == sorted, "{count} {distinct}");
                }
            }
        }
    }

    #[test]
    fn little_is_compared_after_a_cancellation() {
        let threads = rayon::current_num_threads();
        for after in [0, 1000, 1 << 20, 1 << 23] {
            for parallel in [false, true] {
                let (progress, compared) = (Progress::new(), AtomicUsize::new(0));
                let compare = |a: &u64, b: &u64| {
                    if compared.fetch_add(1, Atomic::Relaxed) == after {
                        progress.cancel();
                    }
                    a.cmp(b)
                };
                let mut items = random(1 << 20, u64::MAX);
                let sorted = match parallel {
                    true => par_sort_by(&mut items, &compare, &progress),
                    false => sort_by(&mut items, &compare, &progress),
                };
                assert!(matches!(sorted, Err(Error::Cancelled)), "{after}");
                let more = compared.into_inner() - after;
                assert!(more < threads * 32 * LEAF, "{more} after {after}");
            }
        }
    }
}
