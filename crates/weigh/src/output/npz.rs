//! Weights as a SciPy matrix: a zip of NumPy arrays for `scipy.sparse.load_npz`.
//!
//! The matrix has compressed sparse rows, a row per document and a column per term. Weights of zero are stored like all
//! others, so the entries are the postings. Nothing is compressed, and every array is dated 1980, so the bytes depend
//! on the weights alone.

use std::io::{self, Read, Seek, Write};
use std::path::Path;

use super::Output;
use super::arrays::Arrays;
use crate::collection::{ByDocument, Rows};
use tokapi_storage::error::{Error, Result};
use tokapi_storage::whole::Staged;

/// Writes the matrix.
///
/// Each of the two long arrays takes a pass over the parts. The parts are weighed again for the second pass, not held:
/// at most one part per thread is in memory.
///
/// # Errors
/// A file cannot be written, or is a pipe, which cannot seek; scratch cannot be read.
pub(super) fn write(rows: &impl ByDocument, output: &Output) -> Result<Staged> {
    let mut staged = Staged::create(&output.path)?;
    write_matrix(rows, &mut staged, &output.path)?;
    Ok(staged)
}

/// The bytes of row ends that are held in memory; more go to a temporary file.
const ENDS_BYTES: usize = 16 << 20;

fn write_matrix<W: Write + Seek>(rows: &impl ByDocument, file: W, path: &Path) -> Result<()> {
    let failed = Error::writing(path);
    let [documents, terms, entries] = rows.shape();
    let index = Index::of(entries, terms);
    let mut arrays = Arrays::new(file);

    let shape = [entries];
    arrays
        .start("indices", index.descr(), index.bytes(), &shape)
        .map_err(failed)?;
    let mut ends = tempfile::spooled_tempfile(ENDS_BYTES);
    let mut end = 0;
    ends.write_all(&index.encode([0].into_iter()))
        .map_err(failed)?;
    let each = |rows: Rows| {
        let lengths: Vec<usize> = rows.starts.windows(2).map(|row| row[1] - row[0]).collect();
        let terms = (0..rows.terms.len()).map(|entry| u64::from(rows.term_id(entry)));
        (lengths, index.encode(terms))
    };
    each_part(rows, each, |(lengths, terms)| {
        let of_part = lengths.iter().map(|&length| {
            end += length as u64;
            end
        });
        ends.write_all(&index.encode(of_part)).map_err(failed)?;
        arrays.write(&terms).map_err(failed)
    })?;

    let mut rest = || -> io::Result<()> {
        arrays.start("indptr", index.descr(), index.bytes(), &[documents + 1])?;
        ends.rewind()?;
        let mut buffer = vec![0; 1 << 20];
        loop {
            match ends.read(&mut buffer)? {
                0 => break,
                read => arrays.write(&buffer[..read])?,
            }
        }
        arrays.start("format", "|S3", 3, &[])?;
        arrays.write(b"csr")?;
        arrays.start("shape", "<i8", 8, &[2])?;
        arrays.write(&Index::Wide.encode([documents, terms].into_iter()))?;
        arrays.start("data", "<f4", 4, &shape)
    };
    rest().map_err(failed)?;
    let each = |rows: Rows| -> Vec<u8> {
        let weights = rows.weights.iter();
        weights.flat_map(|weight| weight.to_le_bytes()).collect()
    };
    each_part(rows, each, |weights| arrays.write(&weights).map_err(failed))?;
    arrays.finish().map_err(failed)
}

/// Passes the result of `make` for each part to `take`, in order.
fn each_part<T: Send>(
    rows: &impl ByDocument,
    make: impl Fn(Rows) -> T + Sync,
    take: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    let mut parts = 0..rows.part_count();
    let worker = || |part: usize| Ok(make(rows.rows(part)?));
    rows.stages()
        .run(|| Ok(parts.next()), worker, take)
        .map(drop)
}

/// The type of row ends and column numbers; SciPy wants one type for both.
#[derive(Clone, Copy)]
enum Index {
    Narrow,
    Wide,
}

impl Index {
    /// 32 bits if both the number of entries and that of columns fit.
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
            // None exceeds the limits that `of` checked, so the low bytes are the number.
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
    use crate::formula::Bm25;
    use std::collections::HashMap;

    /// The arrays of a zip: from name to type, shape and bytes.
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
            let output = Output::new(dir.path().join("m.npz"), Target::Npz);
            let bm25 = Bm25::default();
            let files = output.write(collection(documents, Default::default()), &bm25);
            let names = ["m.npz", "m.docs.tsv", "m.terms.tsv"];
            assert_eq!(
                files.unwrap().files,
                names.map(|name| dir.path().join(name))
            );
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

    /// A disk with a limited number of free bytes.
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
        let rows = odd.by_document(&bm25).unwrap();
        let write = |file: Full| write_matrix(&rows, file, Path::new("m.npz"));
        let mut whole = Vec::new();
        write_matrix(&rows, io::Cursor::new(&mut whole), Path::new("m.npz")).unwrap();
        for room in 0..whole.len() as u64 {
            let error = write(Full(Default::default(), room)).unwrap_err();
            assert!(error.to_string().contains("storage"), "{room}: {error}");
        }
        let room = whole.len() as u64;
        assert!(write(Full(Default::default(), room)).is_ok());
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
