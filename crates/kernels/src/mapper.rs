//! MapReduce on one device: it maps chunks of records to pairs, and reduces them to groups by key.

use crate::owned::{Owned, filled};
use crate::{Algorithm, Build, MapperTimes, Result, boundary, slice};

/// The map function; see `cpp/functors.hpp`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum MapFunction {
    /// (term, record) for every term; each term is followed by a blank.
    Terms,
    /// (the whole record, record).
    Whole,
    /// (0, 2^32 + the number of terms).
    Lengths,
    /// (term, none), and (term, other) for every other term of the record.
    Cooccurrences,
    /// (first, second) and (second, none) for a line of two names; other lines are left to the
    /// host.
    Edges,
    /// (the text before the first tab, record).
    FirstField,
    /// (term, record) for a line `term<TAB>document<TAB>tf`; the note is 2^32 document + tf. Other
    /// lines are left to the host.
    Postings,
    /// The bands of a MinHash signature; the signature is the note.
    Bands,
    /// (node, 0), and (other, share of the rank) for every other node that it links to.
    Ranks,
    /// A pair of three words, the first two of which are the key.
    Words,
}

/// The reduce function of a key's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum ReduceFunction {
    /// All of them.
    Nothing,
    /// Their number.
    Count,
    /// Their sum.
    Sum,
    /// 2^32 value + the number of its occurrences.
    Runs,
    /// The minimum.
    First,
}

/// Options of a [`Mapper`].
#[derive(Debug, Clone)]
pub struct MapperOptions {
    /// The device, counted from 0.
    pub device: u32,
    /// Device memory for pairs.
    pub memory_bytes: u64,
    /// The sort algorithm for pairs.
    pub sort: Algorithm,
    /// For tests: calls after which the device is lost.
    #[doc(hidden)]
    pub fail_after: Option<u64>,
    /// Whether to wait after every stage, so that stages can be timed.
    pub timed: bool,
}

/// Maps and reduces on one device, and reuses its memory between calls. Several mappers, each on
/// its own thread, overlap.
pub struct Mapper {
    raw: Owned<boundary::Mapper>,
    sort: Algorithm,
}

/// The groups of a chunk, in the order of their keys.
#[derive(Debug, Clone, Copy)]
pub struct Groups<'a> {
    /// Pairs that were emitted.
    pub pairs: u64,
    /// Two words a group. They are the key, or, for a text, its first 8 bytes and its position in
    /// the chunk, 2^32 start + length.
    pub keys: &'a [[u64; 2]],
    /// The start of each group's values; one entry more than there are groups.
    pub value_starts: &'a [u32],
    /// The values of all groups.
    pub values: &'a [u64],
    /// Words about the records, the same number for each record.
    pub notes: &'a [u64],
    /// Records left to the host, ascending.
    pub left: &'a [u32],
}

impl Mapper {
    /// A mapper on a device.
    ///
    /// # Errors
    /// The device does not exist, or has too little memory.
    pub fn new(build: Build, options: &MapperOptions) -> Result<Self> {
        let raw_options = boundary::MapperOptions {
            device: options.device,
            timed: u32::from(options.timed),
            memory_bytes: options.memory_bytes,
            fail_after: options.fail_after.map_or(0, |calls| calls + 1),
        };
        let api = build.api();
        // SAFETY: the options hold no pointers.
        let raw = unsafe { Owned::by_options(build, api.drop_mapper, api.mapper, &raw_options) }?;
        Ok(Mapper {
            raw,
            sort: options.sort,
        })
    }

    /// Maps and reduces the records of a chunk: record r is `bytes[starts[r]..starts[r + 1]]`.
    ///
    /// # Errors
    /// [`Error::TooLarge`](crate::Error::TooLarge) if the pairs exceed the device memory; there is
    /// too little memory; the device failed.
    ///
    /// # Panics
    /// Panics if `starts` is empty, does not ascend or exceeds the bytes, or if a record is too
    /// short for `map`.
    pub fn map(
        &mut self,
        map: MapFunction,
        reduce: ReduceFunction,
        bytes: &[u8],
        starts: &[u32],
    ) -> Result<Groups<'_>> {
        assert!(starts.is_sorted(), "records ascend");
        let end = starts.last().expect("there is one more than records");
        assert!(*end as usize <= bytes.len(), "records lie within the chunk");
        let least = match map {
            MapFunction::Ranks => 16,
            MapFunction::Words => 24,
            _ => 0,
        };
        assert!(
            least == 0 || starts.windows(2).all(|pair| pair[1] - pair[0] >= least),
            "records have all their words"
        );
        let records = boundary::Records {
            map: map as u32,
            reduce: reduce as u32,
            sort: self.sort as u32,
            bytes: bytes.as_ptr(),
            length: bytes.len() as u64,
            starts: starts.as_ptr(),
            count: starts.len() as u64 - 1,
        };
        let groups: boundary::Groups = filled(|groups, error| {
            // SAFETY: the records are borrowed for the duration of the call.
            unsafe { (self.raw.api().map)(self.raw.as_ptr(), &raw const records, groups, error) }
        })?;
        // SAFETY: the boundary returns arrays of these lengths, valid until the next call, which
        // the borrow of `self` prevents.
        unsafe {
            Ok(Groups {
                pairs: groups.pairs,
                keys: slice(groups.keys.cast(), groups.groups),
                value_starts: slice(groups.value_starts, groups.groups + 1),
                values: slice(groups.value_list, groups.values),
                notes: slice(groups.notes, records.count * groups.note_words),
                left: slice(groups.left, groups.left_count),
            })
        }
    }

    /// Milliseconds of the last call's stages, if they were timed.
    pub fn times(&self) -> MapperTimes {
        self.raw.times(self.raw.api().mapper_times)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const SORTS: [Algorithm; 3] = [Algorithm::Radix, Algorithm::Merge, Algorithm::Bitonic];

    fn mapper(sort: Algorithm) -> Mapper {
        let options = MapperOptions {
            device: 0,
            memory_bytes: u64::MAX,
            sort,
            fail_after: None,
            timed: false,
        };
        Mapper::new(Build::Host, &options).unwrap()
    }

    fn chunk(records: &[&[u8]]) -> (Vec<u8>, Vec<u32>) {
        let (mut bytes, mut starts) = (Vec::new(), vec![0]);
        for record in records {
            bytes.extend_from_slice(record);
            starts.push(bytes.len() as u32);
        }
        (bytes, starts)
    }

    fn text(bytes: &[u8], slice: u64) -> String {
        let (start, length) = ((slice >> 32) as usize, slice as u32 as usize);
        String::from_utf8(bytes[start..start + length].to_vec()).unwrap()
    }

    type Texts = Vec<(String, Vec<u64>)>;

    fn texts(bytes: &[u8], groups: &Groups<'_>) -> Texts {
        let values = |g: usize| {
            let range = groups.value_starts[g] as usize..groups.value_starts[g + 1] as usize;
            groups.values[range].to_vec()
        };
        let keys = groups.keys.iter().enumerate();
        keys.map(|(g, key)| (text(bytes, key[1]), values(g)))
            .collect()
    }

    /// Documents over a small alphabet: terms of many lengths share prefixes.
    fn documents() -> Vec<Vec<u8>> {
        let mut state = 7_u64;
        let mut below = |most: u64| {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 33) % most
        };
        let mut documents = Vec::new();
        for _ in 0..300 {
            let mut text = Vec::new();
            for _ in 0..below(60) {
                let length = [1, 2, 7, 8, 9, 16, 17, 40][below(8) as usize];
                let letters = below(3);
                text.extend((0..length).map(|_| b'a' + (below(2) * letters) as u8));
                text.push(b' ');
            }
            documents.push(text);
        }
        documents
    }

    #[test]
    fn terms_are_grouped_in_order_by_every_sort() {
        let documents = documents();
        let records: Vec<&[u8]> = documents.iter().map(|document| &document[..]).collect();
        let (bytes, starts) = chunk(&records);
        let mut plain: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for (number, document) in documents.iter().enumerate() {
            let text = std::str::from_utf8(document).unwrap();
            for term in text.split_terminator(' ') {
                plain.entry(term.into()).or_default().push(number as u64);
            }
        }
        let counted = |values: &[u64]| vec![values.len() as u64];
        let runs = |values: &[u64]| {
            let equal = values.chunk_by(|a, b| a == b);
            equal.map(|run| run[0] << 32 | run.len() as u64).collect()
        };
        for sort in SORTS {
            let mut mapper = mapper(sort);
            let mut check = |reduce, by: &dyn Fn(&[u64]) -> Vec<u64>| {
                let groups = mapper
                    .map(MapFunction::Terms, reduce, &bytes, &starts)
                    .unwrap();
                let expected: Texts = plain
                    .iter()
                    .map(|(term, values)| (term.clone(), by(values)))
                    .collect();
                assert_eq!(texts(&bytes, &groups), expected, "{sort:?} {reduce:?}");
                assert_eq!(groups.left.len(), 0);
            };
            check(ReduceFunction::Nothing, &|values| values.to_vec());
            check(ReduceFunction::Count, &counted);
            check(ReduceFunction::Sum, &|values| vec![values.iter().sum()]);
            check(ReduceFunction::Runs, &runs);
            check(ReduceFunction::First, &|values| vec![values[0]]);
        }
    }

    #[test]
    fn whole_records_of_any_length_are_sorted() {
        // Terms too long for radix sort, empty terms, and trailing zeros.
        let long = vec![b'x'; 700];
        let records: [&[u8]; 8] = [b"b", b"", &long, b"a\0", b"a", b"a\0\0", &long[1..], b"a\0"];
        let (bytes, starts) = chunk(&records);
        let mut sorted: Vec<String> = records
            .iter()
            .map(|record| String::from_utf8(record.to_vec()).unwrap())
            .collect();
        sorted.sort();
        sorted.dedup();
        for sort in SORTS {
            let mut mapper = mapper(sort);
            let groups = mapper.map(MapFunction::Whole, ReduceFunction::Nothing, &bytes, &starts);
            let found = texts(&bytes, &groups.unwrap());
            let keys: Vec<&String> = found.iter().map(|(key, _)| key).collect();
            assert_eq!(keys, sorted.iter().collect::<Vec<_>>());
            assert_eq!(found[2].1, [3, 7]);
        }
    }

    #[test]
    fn values_are_ordered_by_text() {
        let (bytes, starts) = chunk(&[b"a c", b"# no", b" a\xc2\xa0b ", b"only", b"", b"c a"]);
        for sort in SORTS {
            let mut mapper = mapper(sort);
            let groups = mapper
                .map(MapFunction::Edges, ReduceFunction::Nothing, &bytes, &starts)
                .unwrap();
            let found: Vec<(String, Vec<String>)> = texts(&bytes, &groups)
                .into_iter()
                .map(|(key, values)| {
                    (
                        key,
                        values
                            .into_iter()
                            .map(|value| text(&bytes, value))
                            .collect(),
                    )
                })
                .collect();
            let of = |key: &str, values: &[&str]| {
                (
                    key.to_owned(),
                    values
                        .iter()
                        .map(|&value| value.to_owned())
                        .collect::<Vec<_>>(),
                )
            };
            assert_eq!(
                found,
                [
                    of("a", &["", "b", "c"]),
                    of("b", &[""]),
                    of("c", &["", "a"])
                ]
            );
            assert_eq!(groups.left, [3]);
        }
    }

    #[test]
    fn postings_are_read() {
        let lines: [&[u8]; 7] = [
            b"b\t7\t2",
            b"a\t4294967295\t1",
            b"b\t+0003\t9",
            b"b\t4294967296\t1",
            b"b\t3",
            b"b\tx\t1",
            b"\t1\t1\tmore",
        ];
        let (bytes, starts) = chunk(&lines);
        for sort in SORTS {
            let mut mapper = mapper(sort);
            let groups = mapper
                .map(
                    MapFunction::Postings,
                    ReduceFunction::Nothing,
                    &bytes,
                    &starts,
                )
                .unwrap();
            let expected = [
                (String::new(), vec![6]),
                ("a".into(), vec![1]),
                ("b".into(), vec![0, 2]),
            ];
            assert_eq!(texts(&bytes, &groups), expected);
            let at = |document: u64, tf: u64| document << 32 | tf;
            let notes = [
                at(7, 2),
                at(u32::MAX.into(), 1),
                at(3, 9),
                0,
                0,
                0,
                at(1, 1),
            ];
            assert_eq!(groups.notes, notes);
            assert_eq!(groups.left, [3, 4, 5]);
        }
    }

    #[test]
    fn words_are_keys() {
        let items: [[u64; 3]; 4] = [[2, 1, 5], [1, 9, 4], [2, 1, 5], [1, 8, 7]];
        let records: Vec<Vec<u8>> = items
            .iter()
            .map(|item| item.iter().flat_map(|word| word.to_le_bytes()).collect())
            .collect();
        let records: Vec<&[u8]> = records.iter().map(|record| &record[..]).collect();
        let (bytes, starts) = chunk(&records);
        for sort in SORTS {
            let mut mapper = mapper(sort);
            let groups = mapper.map(MapFunction::Words, ReduceFunction::First, &bytes, &starts);
            let groups = groups.unwrap();
            assert_eq!(groups.keys, [[1, 8], [1, 9], [2, 1]]);
            assert_eq!(groups.values, [7, 4, 5]);
        }
    }

    #[test]
    fn too_many_pairs_are_refused() {
        let options = MapperOptions {
            device: 0,
            memory_bytes: 1000,
            sort: Algorithm::Radix,
            fail_after: None,
            timed: true,
        };
        let mut mapper = Mapper::new(Build::Host, &options).unwrap();
        let text = "a ".repeat(100);
        let (bytes, starts) = chunk(&[text.as_bytes()]);
        let refused = mapper.map(MapFunction::Terms, ReduceFunction::Count, &bytes, &starts);
        assert!(matches!(refused, Err(crate::Error::TooLarge(_))));
        let none = mapper
            .map(MapFunction::Terms, ReduceFunction::Count, &[], &[0])
            .unwrap();
        assert_eq!((none.keys.len(), none.value_starts), (0, &[0][..]));
        assert!(mapper.times().upload >= 0.0);
    }
}
