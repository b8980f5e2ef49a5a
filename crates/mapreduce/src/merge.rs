//! Merges runs: every key comes once, with its values one by one from all runs that have it.

use super::codec;
use super::cuts::Boundary;
use super::job::{Job, compare};
use super::run::{Run, RunReader, RunWriter};
use super::values::Order;
use tokapi_storage::error::{Error, Result};
use tokapi_storage::progress::Progress;

/// The groups of several runs between two cuts, in order.
pub(crate) struct Merge<'a, J: Job> {
    readers: Vec<RunReader>,
    /// The current key of each reader, if it fits in a word: this decides most comparisons.
    words: Vec<Option<u128>>,
    /// The current groups of the readers, as a heap with the least on top.
    heap: Vec<Head>,
    /// The final cut, with its [`Boundary::least`].
    until: Option<(&'a Boundary, (u32, u64))>,
    order: Option<Order<J::Value>>,
    /// The current group: its key, and the readers with values of it, in the order of runs.
    part: u32,
    key: Vec<u8>,
    group: Vec<usize>,
    /// The next value of each reader in `group`, if values are ordered.
    heads: Vec<J::Value>,
    /// The error that ended the values of the group early.
    failed: Option<Error>,
}

/// The current group of a reader, with the fields that decide most comparisons.
#[derive(Clone, Copy)]
struct Head {
    part: u32,
    reader: u32,
    prefix: u64,
}

impl<'a, J: Job> Merge<'a, J> {
    /// The groups from `from`, inclusive, to `until`, exclusive. The order of `runs` is the order
    /// of a key's values.
    pub(crate) fn new(
        runs: &[Run],
        from: Option<&Boundary>,
        until: Option<&'a Boundary>,
        order: Option<Order<J::Value>>,
    ) -> Result<Self> {
        let mut merge = Merge {
            readers: Vec::with_capacity(runs.len()),
            words: vec![None; runs.len()],
            heap: Vec::new(),
            until: until.map(|cut| (cut, cut.least::<J>())),
            order,
            part: 0,
            key: Vec::new(),
            group: Vec::new(),
            heads: Vec::new(),
            failed: None,
        };
        for run in runs {
            let mark = from.map_or(0, |from| from.last_mark_before::<J>(&run.marks));
            merge.readers.push(run.read_from(mark));
            let number = merge.readers.len() - 1;
            while let Some(head) = merge.advance(number)? {
                let reader = &mut merge.readers[number];
                if from.is_none_or(|from| from.is_at_or_before::<J>(reader.part, reader.key())) {
                    merge.push(head);
                    break;
                }
                while reader.values > 0 {
                    reader.value::<J::Value>()?;
                }
            }
        }
        Ok(merge)
    }

    /// Advances a reader to its next group; none at the cut.
    fn advance(&mut self, number: usize) -> Result<Option<Head>> {
        let reader = &mut self.readers[number];
        if !reader.advance()? {
            return Ok(None);
        }
        let key: J::Key<'_> = codec::decode(reader.key())?;
        let head = Head {
            part: reader.part,
            // There are fewer than 2^32 runs.
            reader: number as u32,
            prefix: J::prefix(&key),
        };
        self.words[number] = codec::word(reader.key());
        let ends = self.until.is_some_and(|(cut, least)| {
            (head.part, head.prefix) >= least && cut.is_at_or_before::<J>(head.part, reader.key())
        });
        Ok((!ends).then_some(head))
    }

    /// Advances to the next group; false at the end. Remaining values of the last group are
    /// skipped.
    ///
    /// # Errors
    /// A run cannot be read, or could not be while the values of the last group were read.
    pub(crate) fn next_group(&mut self) -> Result<bool> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        self.heads.clear();
        let mut group = std::mem::take(&mut self.group);
        for number in group.drain(..) {
            while self.readers[number].values > 0 {
                self.readers[number].value::<J::Value>()?;
            }
            if let Some(head) = self.advance(number)? {
                self.push(head);
            }
        }
        self.group = group;
        let Some(first) = self.pop() else {
            return Ok(false);
        };
        let key = self.readers[first.reader as usize].key();
        self.part = first.part;
        self.key.clear();
        self.key.extend_from_slice(key);
        self.group.push(first.reader as usize);
        while let Some(&next) = self.heap.first() {
            let same = (next.part, next.prefix) == (first.part, first.prefix)
                && self.same_key(next, first);
            if !same {
                break;
            }
            self.pop();
            self.group.push(next.reader as usize);
        }
        if self.order.is_some() {
            for &number in &self.group {
                self.heads.push(self.readers[number].value()?);
            }
        }
        Ok(true)
    }

    /// Number of remaining values of the group.
    pub(crate) fn pairs(&self) -> u64 {
        let left = |&number: &usize| self.readers[number].values;
        self.group.iter().map(left).sum::<u64>() + self.heads.len() as u64
    }

    /// Whether consecutive equal values of the group are stored once.
    fn repeats(&self) -> bool {
        self.group
            .iter()
            .any(|&number| self.readers[number].repeats)
    }

    /// The key of the group, and its values.
    pub(crate) fn group(&mut self) -> Result<(J::Key<'_>, GroupValues<'_, J>)> {
        let values = GroupValues {
            readers: &mut self.readers,
            group: &mut self.group,
            heads: &mut self.heads,
            order: self.order,
            at: 0,
            failed: &mut self.failed,
        };
        Ok((codec::decode(&self.key)?, values))
    }

    /// The error for a panic of `reduce` at this group, or for values that could not be read.
    pub(crate) fn failure(&mut self, what: String) -> Error {
        let key = self.key.escape_ascii().to_string();
        let panicked = Error::Reduce { key, what };
        self.failed.take().unwrap_or(panicked)
    }

    /// Whether two readers are at the same key.
    #[inline]
    fn same_key(&self, a: Head, b: Head) -> bool {
        let (a, b) = (a.reader as usize, b.reader as usize);
        match (self.words[a], self.words[b]) {
            (None, None) => self.readers[a].key() == self.readers[b].key(),
            (a, b) => a == b,
        }
    }

    /// The order of groups; of equal groups the one of the earlier run is less.
    #[inline]
    fn less(&self, a: Head, b: Head) -> bool {
        let order = (a.part, a.prefix).cmp(&(b.part, b.prefix));
        let order = order.then_with(|| match self.same_key(a, b) {
            true => a.reader.cmp(&b.reader),
            false => {
                let key = |head: Head| self.readers[head.reader as usize].key();
                compare::<J>(key(a), key(b))
            }
        });
        order.is_lt()
    }

    fn push(&mut self, head: Head) {
        self.heap.push(head);
        let mut at = self.heap.len() - 1;
        while at > 0 && self.less(head, self.heap[(at - 1) / 2]) {
            self.heap.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }

    fn pop(&mut self) -> Option<Head> {
        let last = self.heap.len().checked_sub(1)?;
        self.heap.swap(0, last);
        let least = self.heap.pop();
        let mut at = 0;
        loop {
            let child = 2 * at + 1;
            let children = child..(child + 2).min(self.heap.len());
            let less = children.reduce(|a, b| match self.less(self.heap[b], self.heap[a]) {
                true => b,
                false => a,
            });
            match less {
                Some(child) if self.less(self.heap[child], self.heap[at]) => {
                    self.heap.swap(at, child);
                    at = child;
                }
                _ => return least,
            }
        }
    }
}

/// The values of one key.
pub(crate) struct GroupValues<'m, J: Job> {
    readers: &'m mut [RunReader],
    group: &'m mut Vec<usize>,
    heads: &'m mut Vec<J::Value>,
    order: Option<Order<J::Value>>,
    /// The current reader of the group, if values are not ordered.
    at: usize,
    /// The error that ended the values.
    failed: &'m mut Option<Error>,
}

impl<J: Job> GroupValues<'_, J> {
    /// Returns a value, or ends the values at an error.
    #[inline]
    fn or_end<T>(&mut self, taken: Result<Option<T>>) -> Option<T> {
        taken.unwrap_or_else(|error| {
            self.at = self.group.len();
            self.heads.clear();
            self.failed.get_or_insert(error);
            None
        })
    }

    /// Applies `take` to the first run with values left.
    #[inline]
    fn next_of<T>(&mut self, take: impl Fn(&mut RunReader) -> Result<T>) -> Result<Option<T>> {
        while let Some(&number) = self.group.get(self.at) {
            let reader = &mut self.readers[number];
            if reader.values > 0 {
                return take(reader).map(Some);
            }
            self.at += 1;
        }
        Ok(None)
    }

    /// The least of the next values of all runs.
    fn next_by(&mut self, order: Order<J::Value>) -> Result<Option<J::Value>> {
        let places = 0..self.heads.len();
        let least = places.reduce(|a, b| match order(&self.heads[b], &self.heads[a]).is_lt() {
            true => b,
            false => a,
        });
        let Some(least) = least else {
            return Ok(None);
        };
        // Readers without values left are at the end, so that `heads` and the front of `group`
        // correspond.
        let reader = &mut self.readers[self.group[least]];
        if reader.values > 0 {
            let next = reader.value()?;
            return Ok(Some(std::mem::replace(&mut self.heads[least], next)));
        }
        let empty = self.group.remove(least);
        self.group.push(empty);
        Ok(Some(self.heads.remove(least)))
    }
}

impl<J: Job> Iterator for GroupValues<'_, J> {
    type Item = J::Value;

    #[inline]
    fn next(&mut self) -> Option<J::Value> {
        let next = match self.order {
            None => self.next_of(RunReader::value),
            Some(order) => self.next_by(order),
        };
        self.or_end(next)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = |&number: &usize| self.readers[number].values;
        let in_runs: u64 = self.group.iter().map(left).sum();
        let left = usize::try_from(in_runs).unwrap_or(usize::MAX);
        (left.saturating_add(self.heads.len()), None)
    }

    /// All remaining values; consecutive equal values are decoded once.
    #[inline]
    fn fold<B, F: FnMut(B, J::Value) -> B>(mut self, init: B, mut f: F) -> B {
        let mut folded = init;
        loop {
            let next = match self.order {
                None => self.next_of(RunReader::repeated),
                Some(order) => self.next_by(order).map(|next| Some((next?, 1))),
            };
            let Some((value, times)) = self.or_end(next) else {
                return folded;
            };
            // `f` is called in one place, so that it is inlined into the loop.
            for value in std::iter::repeat_n(value, times) {
                folded = f(folded, value);
            }
        }
    }
}

/// Merges neighbouring runs into one.
pub(crate) fn merge_runs<J: Job>(
    runs: &[Run],
    order: Option<Order<J::Value>>,
    mut into: RunWriter,
    progress: &Progress,
) -> Result<Run> {
    let mut merge = Merge::<J>::new(runs, None, None, order)?;
    let (mut last, mut next) = (Vec::new(), Vec::new());
    while merge.next_group()? {
        progress.check()?;
        let repeats = merge.repeats();
        into.group(merge.part, &merge.key, merge.pairs(), repeats)?;
        let (_, values) = merge.group()?;
        let mut times = 0;
        for value in values {
            if !repeats {
                into.encode(&value)?;
                continue;
            }
            next.clear();
            codec::encode(&value, &mut next)?;
            if times > 0 && next != last {
                into.repeat(&last, times)?;
                times = 0;
            }
            std::mem::swap(&mut last, &mut next);
            times += 1;
        }
        if times > 0 {
            into.repeat(&last, times)?;
        }
    }
    into.finish()
}
