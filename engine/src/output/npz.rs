//! Weights as a SciPy matrix: a zip of NumPy arrays that `scipy.sparse.load_npz` opens.
//!
//! The matrix is in compressed sparse rows, a document a row and a term a column. Weights of zero
//! are stored like all others, so that the entries are the postings. Nothing is compressed and
//! every array is dated 1980, so that the bytes depend on the weights alone.

use std::io::{self, Seek, Write};

use rayon::prelude::*;

use super::arrays::Arrays;
use super::{Output, Staged, tables};
use crate::collection::{Collection, Rows};
use crate::error::Result;
use crate::weigh::Bm25;

/// Writes the matrix, and beside it the documents and the terms that its rows and columns are.
///
/// The two long arrays take a pass over the parts each, which are weighed again rather than held:
/// no more than one part a thread is in memory.
///
/// # Errors
/// Parameters out of range, a file that cannot be written or, being a pipe, not be gone back in.
pub(super) fn write(collection: &Collection, bm25: &Bm25, output: &Output) -> Result<Vec<Staged>> {
    let mut staged = Staged::create(&output.path)?;
    let rows = collection.rows(bm25)?;
    let shape = [
        collection.documents().len() as u64,
        collection.lexicon().terms.len() as u64,
    ];
    let matrix = Matrix {
        rows,
        parts: collection.part_count(),
        shape,
        entries: collection.postings_count(),
    };
    matrix
        .write(&mut staged)
        .map_err(|source| staged.failed(source))?;
    Ok(vec![
        staged,
        tables::documents(collection.documents(), output)?,
        tables::terms(collection.lexicon(), output)?,
    ])
}

/// A matrix whose rows come part by part.
struct Matrix<R> {
    rows: R,
    parts: usize,
    shape: [u64; 2],
    entries: u64,
}

impl<R: Fn(usize) -> Rows + Sync> Matrix<R> {
    fn write<W: Write + Seek>(&self, file: W) -> io::Result<()> {
        let index = Index::of(self.entries, self.shape[1]);
        let mut arrays = Arrays::new(file);

        arrays.start("indices", index.descr(), index.bytes(), &[self.entries])?;
        let mut ends = vec![0];
        let each = |rows: Rows| {
            let lengths: Vec<usize> = rows.starts.windows(2).map(|row| row[1] - row[0]).collect();
            let terms = rows.terms.iter().map(|&term| u64::from(term));
            (lengths, index.encode(terms))
        };
        self.each_part(each, |(lengths, terms)| {
            let mut end = ends[ends.len() - 1];
            ends.extend(lengths.iter().map(|&length| {
                end += length as u64;
                end
            }));
            arrays.write(&terms)
        })?;

        arrays.start("indptr", index.descr(), index.bytes(), &[ends.len() as u64])?;
        for ends in ends.chunks(1 << 16) {
            arrays.write(&index.encode(ends.iter().copied()))?;
        }
        arrays.start("format", "|S3", 3, &[])?;
        arrays.write(b"csr")?;
        arrays.start("shape", "<i8", 8, &[2])?;
        arrays.write(&Index::Wide.encode(self.shape.into_iter()))?;

        arrays.start("data", "<f4", 4, &[self.entries])?;
        let each = |rows: Rows| -> Vec<u8> {
            let weights = rows.weights.iter();
            weights.flat_map(|weight| weight.to_le_bytes()).collect()
        };
        self.each_part(each, |weights| arrays.write(&weights))?;
        arrays.finish()
    }

    /// Gives what `make` makes of each part to `take`, in order; as many parts as the pool has
    /// threads are made at a time.
    fn each_part<T: Send>(
        &self,
        make: impl Fn(Rows) -> T + Sync,
        mut take: impl FnMut(T) -> io::Result<()>,
    ) -> io::Result<()> {
        let batch_parts = rayon::current_num_threads();
        for first in (0..self.parts).step_by(batch_parts) {
            let batch = first..self.parts.min(first + batch_parts);
            let made = batch.into_par_iter().map(|part| make((self.rows)(part)));
            made.collect::<Vec<T>>()
                .into_iter()
                .try_for_each(&mut take)?;
        }
        Ok(())
    }
}

/// The type of row ends and column numbers; SciPy wants one for both.
#[derive(Clone, Copy)]
enum Index {
    Narrow,
    Wide,
}

impl Index {
    /// 32 bits where both the number of entries and that of columns fit.
    fn of(entries: u64, columns: u64) -> Self {
        match i32::try_from(entries.max(columns)) {
            Ok(_) => Index::Narrow,
            Err(_) => Index::Wide,
        }
    }

    fn descr(self) -> &'static str {
        match self {
            Index::Narrow => "<i4",
            Index::Wide => "<i8",
        }
    }

    fn bytes(self) -> u64 {
        match self {
            Index::Narrow => 4,
            Index::Wide => 8,
        }
    }

    fn encode(self, numbers: impl Iterator<Item = u64>) -> Vec<u8> {
        match self {
            // All are at most what `of` saw to fit: these are their low bytes.
            Index::Narrow => numbers.flat_map(|n| (n as u32).to_le_bytes()).collect(),
            Index::Wide => numbers.flat_map(u64::to_le_bytes).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Target;
    use super::super::sample::{ODD, collection, many, written_each_way};
    use super::*;
    use std::collections::HashMap;
    use std::io::Read;

    /// The arrays of a zip: name to type, shape and bytes.
    fn arrays(zip: &[u8]) -> HashMap<String, (String, Vec<u8>)> {
        let mut zip = zip::ZipArchive::new(io::Cursor::new(zip)).unwrap();
        let mut arrays = HashMap::new();
        for entry in 0..zip.len() {
            let mut entry = zip.by_index(entry).unwrap();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            assert_eq!(&bytes[..10], b"\x93NUMPY\x01\x00\x76\x00");
            let elements = bytes.split_off(128);
            let dictionary = String::from_utf8(bytes.split_off(10)).unwrap();
            assert!(dictionary.ends_with('\n'));
            let name = entry.name().unwrap().to_string();
            arrays.insert(name, (dictionary.trim_end().to_string(), elements));
        }
        arrays
    }

    fn numbers(bytes: &[u8]) -> Vec<i32> {
        let elements = bytes.chunks_exact(4);
        elements
            .map(|element| i32::from_le_bytes(element.try_into().unwrap()))
            .collect()
    }

    #[test]
    fn arrays_hold_every_posting() {
        for documents in [&ODD[..], &ODD[2..3], &[]] {
            let dir = tempfile::tempdir().unwrap();
            let output = Output {
                path: dir.path().join("m.npz"),
                target: Target::Npz,
                tables: false,
            };
            let bm25 = Bm25::default();
            let files = output.write(collection(documents, Default::default()), &bm25);
            let names = ["m.npz", "m.docs.tsv", "m.terms.tsv"];
            assert_eq!(files.unwrap(), names.map(|name| dir.path().join(name)));
            let arrays = arrays(&std::fs::read(&output.path).unwrap());

            let weights = collection(documents, Default::default())
                .weigh(&bm25)
                .unwrap();
            let mut expected = vec![vec![]; documents.len()];
            for term in 0..weights.lexicon.terms.len() {
                for posting in weights.range(term) {
                    let document = weights.posting_documents[posting] as usize;
                    expected[document].push((term as i32, weights.weights[posting].to_bits()));
                }
            }
            let (data, indices) = (&arrays["data.npy"], numbers(&arrays["indices.npy"].1));
            let data: Vec<u32> = numbers(&data.1).iter().map(|&bits| bits as u32).collect();
            let ends = numbers(&arrays["indptr.npy"].1);
            let row = |ends: &[i32]| {
                let row = ends[0] as usize..ends[1] as usize;
                row.map(|entry| (indices[entry], data[entry]))
                    .collect::<Vec<_>>()
            };
            assert_eq!(ends.windows(2).map(row).collect::<Vec<_>>(), expected);

            let shape = [documents.len() as u64, weights.lexicon.terms.len() as u64];
            assert_eq!(arrays["shape.npy"].1, shape.map(u64::to_le_bytes).concat());
            let (dictionary, text) = &arrays["format.npy"];
            assert_eq!(
                dictionary,
                "{'descr': '|S3', 'fortran_order': False, 'shape': (), }"
            );
            assert_eq!(text, b"csr");
            let shape = format!(
                "{{'descr': '<f4', 'fortran_order': False, 'shape': ({},), }}",
                data.len()
            );
            assert_eq!(arrays["data.npy"].0, shape);
        }
    }

    #[test]
    fn bytes_depend_neither_on_threads_nor_on_chunks() {
        assert!(!written_each_way("m.npz", Target::Npz, &many(2000)).is_empty());
    }

    /// A disk with room for so many bytes.
    struct Full(io::Cursor<Vec<u8>>, u64);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            match self.0.position() + bytes.len() as u64 > self.1 {
                true => Err(io::ErrorKind::StorageFull.into()),
                false => self.0.write(bytes),
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Seek for Full {
        fn seek(&mut self, position: io::SeekFrom) -> io::Result<u64> {
            self.0.seek(position)
        }
    }

    #[test]
    fn a_full_disk_is_an_error_wherever_it_fills() {
        let odd = collection(&ODD, Default::default());
        let bm25 = Bm25::default();
        let matrix = Matrix {
            rows: odd.rows(&bm25).unwrap(),
            parts: odd.part_count(),
            shape: [7, 5],
            entries: odd.postings_count(),
        };
        let mut whole = Vec::new();
        matrix.write(io::Cursor::new(&mut whole)).unwrap();
        for room in 0..whole.len() as u64 {
            let error = matrix.write(Full(Default::default(), room)).unwrap_err();
            assert!(error.to_string().contains("storage"), "{room}: {error}");
        }
        let room = whole.len() as u64;
        assert!(matrix.write(Full(Default::default(), room)).is_ok());
    }

    #[test]
    fn indices_widen_past_31_bits() {
        assert_eq!(Index::of(i32::MAX as u64, 5).descr(), "<i4");
        assert_eq!(Index::of(1 << 31, 5).descr(), "<i8");
        assert_eq!(Index::of(5, 1 << 31).descr(), "<i8");
        assert_eq!(
            Index::Wide.encode([1 << 40].into_iter()),
            (1_u64 << 40).to_le_bytes()
        );
    }
}
