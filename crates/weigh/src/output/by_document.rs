//! Entries by document, regrouped into groups of a fixed size.

use std::ops::Range;
use std::sync::Arc;

use crossbeam_channel::bounded;

use crate::collection::{ByDocument, Rows};
use tokapi_storage::error::Result;
use tokapi_storage::strings::Strings;

/// Consecutive entries, by document, then by term.
pub(super) struct Group {
    slices: Vec<(Arc<Rows>, Range<usize>)>,
}

/// Calls `take` with a source of groups of `entries` entries each, except the last. Other threads weigh the parts of
/// the groups meanwhile.
pub(super) fn in_groups<T>(
    rows: &impl ByDocument,
    entries: usize,
    take: impl FnOnce(&mut (dyn FnMut() -> Result<Option<Group>> + Send)) -> Result<T>,
) -> Result<T> {
    let (give, weighed) = bounded::<Arc<Rows>>(1);
    std::thread::scope(|scope| {
        let weighing = scope.spawn(move || {
            let mut parts = 0..rows.part_count();
            let worker = || |part: usize| Ok(Arc::new(rows.rows(part)?));
            let give = |rows| {
                // If the channel is closed, the receiver has failed.
                let _ = give.send(rows);
                Ok(())
            };
            rows.stages().run(|| Ok(parts.next()), worker, give)
        });
        let mut left: Option<(Arc<Rows>, Range<usize>)> = None;
        let mut next = || {
            let mut group = Group { slices: Vec::new() };
            let mut room = entries;
            while room > 0 {
                let part = left.take().or_else(|| {
                    let rows = weighed.recv().ok()?;
                    let all = 0..rows.terms.len();
                    Some((rows, all))
                });
                let Some((rows, range)) = part else { break };
                let taken = range.start..range.end.min(range.start + room);
                room -= taken.len();
                if taken.end < range.end {
                    left = Some((Arc::clone(&rows), taken.end..range.end));
                }
                if !taken.is_empty() {
                    group.slices.push((rows, taken));
                }
            }
            Ok((!group.slices.is_empty()).then_some(group))
        };
        let taken = take(&mut next);
        drop(weighed);
        match weighing.join() {
            Ok(weighing) => weighing?,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        taken
    })
}

impl Group {
    /// The number of entries.
    pub(super) fn len(&self) -> usize {
        self.slices.iter().map(|(_, range)| range.len()).sum()
    }

    /// The distinct terms, ascending by bytes, and for every entry the index of its term among them.
    pub(super) fn terms(&self) -> (Strings, Vec<u32>) {
        // The terms that occur in each slice, as indices into its list.
        let used: Vec<Vec<u32>> = self
            .slices
            .iter()
            .map(|(rows, range)| {
                let mut occurs = vec![false; rows.names.len()];
                for &term in &rows.terms[range.clone()] {
                    occurs[term as usize] = true;
                }
                let terms = (0..).zip(occurs);
                terms
                    .filter(|(_, occurs)| *occurs)
                    .map(|(term, _)| term)
                    .collect()
            })
            .collect();
        let name = |slice: usize, term: u32| self.slices[slice].0.names.get(term as usize);
        let mut names: Vec<&[u8]> = used
            .iter()
            .enumerate()
            .flat_map(|(slice, used)| used.iter().map(move |&term| name(slice, term)))
            .collect();
        names.sort_unstable();
        names.dedup();
        let mut places = Vec::with_capacity(self.len());
        for (slice, (rows, range)) in self.slices.iter().enumerate() {
            let mut place_of = vec![0; rows.names.len()];
            let mut place = 0;
            for &term in &used[slice] {
                // Both lists ascend, and every used name is in the other list.
                while names[place] != name(slice, term) {
                    place += 1;
                }
                // A group has fewer than 2^32 entries.
                place_of[term as usize] = place as u32;
            }
            let terms = rows.terms[range.clone()].iter();
            places.extend(terms.map(|&term| place_of[term as usize]));
        }
        (names.into_iter().collect(), places)
    }

    /// The ids of the documents with entries here, and the offsets of their entries; one more offset than documents.
    pub(super) fn documents(&self) -> (Strings, Vec<u64>) {
        let (mut ids, mut offsets) = (Strings::default(), vec![0]);
        let mut end = 0;
        for (rows, range) in &self.slices {
            let first = rows.starts.partition_point(|&start| start <= range.start) - 1;
            for document in first..rows.len() {
                let entries = rows.starts[document].max(range.start)
                    ..rows.starts[document + 1].min(range.end);
                if entries.start >= range.end {
                    break;
                }
                if !entries.is_empty() {
                    ids.push(rows.ids.get(document));
                    end += entries.len() as u64;
                    offsets.push(end);
                }
            }
        }
        (ids, offsets)
    }

    /// The frequencies of all entries.
    pub(super) fn frequencies(&self) -> Vec<u32> {
        self.gather(|rows| &rows.frequencies)
    }

    /// The weights of all entries.
    pub(super) fn weights(&self) -> Vec<f32> {
        self.gather(|rows| &rows.weights)
    }

    /// A value of all entries, from the column `of`.
    fn gather<T: Copy>(&self, of: impl Fn(&Rows) -> &[T]) -> Vec<T> {
        let slices = self.slices.iter();
        let parts: Vec<&[T]> = slices
            .map(|(rows, range)| &of(rows)[range.clone()])
            .collect();
        parts.concat()
    }
}
