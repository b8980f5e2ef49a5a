//! Whole collections, in every format.

use std::io::Read;
use std::path::Path;
use tokapi_storage::progress::Progress;

use super::*;
use tokapi_storage::error::Error;

fn options(extent: Extent, format: Format) -> Options {
    Options::new(extent, format)
        .vocabulary(Vocabulary::default())
        .threads(2)
}

fn bytes(options: &Options) -> (Summary, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("collection");
    let progress = Progress::new();
    let summary = to_path(options, &path, &progress).unwrap();
    assert_eq!(progress.snapshot().done, summary.bytes);
    assert_eq!(
        std::fs::read_dir(&folder).unwrap().count(),
        1,
        "no temporary file is left"
    );
    (summary, std::fs::read(path).unwrap())
}

fn text(options: &Options) -> (Summary, String) {
    let (summary, bytes) = bytes(options);
    (summary, String::from_utf8(bytes).unwrap())
}

/// The documents of a `.terms` collection: the definition that all other formats are compared with.
fn documents(extent: Extent) -> Vec<String> {
    let (_, text) = text(&options(extent, Format::Terms));
    let documents = text.strip_suffix('\n').unwrap_or("").split("\n\n");
    documents
        .map(|document| document.replace('\n', " "))
        .collect()
}

#[test]
fn threads_do_not_matter() {
    for (format, compression) in [
        (Format::Terms, Compression::None),
        (Format::Jsonl, Compression::Gzip),
        (Format::Tsv, Compression::Zstd),
        (Format::Parquet, Compression::None),
    ] {
        for extent in [Extent::Bytes(3_000_000), Extent::Documents(700)] {
            let mut options = options(extent, format);
            options.compression = compression;
            let results = [1, 2, 7].map(|threads| {
                options.threads = threads;
                bytes(&options)
            });
            assert!(
                results[0] == results[1] && results[1] == results[2],
                "{format:?} {extent:?}"
            );
            options.seed = 2;
            assert!(
                results[0] != bytes(&options),
                "{format:?} {extent:?}: the seed matters"
            );
        }
    }
}

#[test]
fn sizes_are_respected() {
    for size in [1, 1000, 65_536, 2_000_000] {
        let (summary, text) = text(&options(Extent::Bytes(size), Format::Terms));
        assert_eq!(summary.bytes, text.len() as u64);
        let last = text.rfind("\n\n").map_or(0, |at| at as u64 + 1);
        assert!(
            last < size && size <= summary.bytes,
            "{size}: {last} {}",
            summary.bytes
        );
        assert_eq!(
            summary.words,
            text.lines().filter(|line| !line.is_empty()).count() as u64
        );
        assert_eq!(summary.documents, text.split("\n\n").count() as u64);
    }
    for count in [0, 1, 63, 64, 65, 300] {
        let (summary, text) = text(&options(Extent::Documents(count), Format::Terms));
        assert_eq!(summary.documents, count);
        assert_eq!(text.is_empty(), count == 0);
    }
}

#[test]
fn a_larger_collection_begins_with_the_smaller() {
    let (_, small) = text(&options(Extent::Documents(100), Format::Terms));
    let (_, large) = text(&options(Extent::Bytes(5_000_000), Format::Terms));
    assert!(large.starts_with(&small));
}

#[test]
fn line_formats() {
    let extent = Extent::Documents(130);
    let expected = documents(extent);
    assert_eq!(expected.len(), 130);

    let (_, jsonl) = text(&options(extent, Format::Jsonl));
    let (_, tsv) = text(&options(extent, Format::Tsv));
    let (_, trec) = text(&options(extent, Format::Trec));
    let mut expected_trec = String::new();
    for (number, document) in expected.iter().enumerate() {
        let id = format!("{:08}", number + 1);
        let value: serde_json::Value =
            serde_json::from_str(jsonl.lines().nth(number).unwrap()).unwrap();
        assert_eq!(value, serde_json::json!({"id": id, "contents": document}));
        assert_eq!(
            tsv.lines().nth(number).unwrap(),
            format!("{id}\t{document}")
        );
        expected_trec +=
            &format!("<DOC>\n<DOCNO>{id}</DOCNO>\n<TEXT>\n{document}\n</TEXT>\n</DOC>\n");
    }
    assert_eq!(jsonl.lines().count(), 130);
    assert!(jsonl.ends_with('\n') && tsv.ends_with('\n'));
    assert_eq!(trec, expected_trec);
}

#[test]
fn compressed_streams() {
    let mut options = options(Extent::Bytes(3_000_000), Format::Terms);
    let (_, plain) = bytes(&options);
    options.compression = Compression::Gzip;
    let mut unpacked = Vec::new();
    flate2::read::MultiGzDecoder::new(&bytes(&options).1[..])
        .read_to_end(&mut unpacked)
        .unwrap();
    assert!(unpacked == plain);
    options.compression = Compression::Zstd;
    assert!(zstd::decode_all(&bytes(&options).1[..]).unwrap() == plain);
}

#[test]
fn folder_of_plain_text() {
    let extent = Extent::Documents(70);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("texts");
    let progress = Progress::new();
    let summary = to_path(&options(extent, Format::Text), &path, &progress).unwrap();
    let expected = documents(extent);
    for (number, document) in expected.iter().enumerate() {
        let file = path.join(format!("{:08}.txt", number + 1));
        assert_eq!(
            std::fs::read_to_string(file).unwrap(),
            format!("{document}\n")
        );
    }
    assert_eq!(std::fs::read_dir(&path).unwrap().count(), 70);
    assert_eq!(
        summary.bytes,
        expected.iter().map(|d| d.len() as u64 + 1).sum::<u64>()
    );
    let again = to_path(&options(extent, Format::Text), &path, &progress).unwrap_err();
    assert!(again.to_string().contains("exists already"), "{again}");
}

#[test]
fn parquet_columns() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;
    let extent = Extent::Documents(70);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("collection.parquet");
    let summary = to_path(&options(extent, Format::Parquet), &path, &Progress::new()).unwrap();
    let reader = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
    let mut bytes = 0;
    let expected = documents(extent);
    let rows: Vec<_> = reader
        .get_row_iter(None)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(rows.len(), expected.len());
    for (number, (row, document)) in rows.iter().zip(&expected).enumerate() {
        assert_eq!(*row.get_string(0).unwrap(), format!("{:08}", number + 1));
        assert_eq!(row.get_string(1).unwrap(), document);
        bytes += 8 + document.len() as u64;
    }
    assert_eq!(summary.bytes, bytes);
}

#[test]
fn listed_terms() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("list.tsv");
    let long = "x".repeat(1000);
    std::fs::write(
        &list,
        format!("say\"so\\\t5\n{long}\t3\n<b>\t2\nfifteen-letters\t1\n"),
    )
    .unwrap();
    let mut options = options(Extent::Documents(100), Format::Jsonl);
    options.vocabulary = Vocabulary::read(&list, None).unwrap();
    let (summary, jsonl) = text(&options);
    let mut counts = std::collections::BTreeMap::<String, u64>::new();
    for line in jsonl.lines() {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        for word in value["contents"].as_str().unwrap().split(' ') {
            *counts.entry(word.to_owned()).or_default() += 1;
        }
    }
    assert_eq!(counts.len(), 4);
    for (term, weight) in [
        ("say\"so\\", 5),
        (long.as_str(), 3),
        ("<b>", 2),
        ("fifteen-letters", 1),
    ] {
        let expected = summary.words as f64 * f64::from(weight) / 11.0;
        assert!(
            (counts[term] as f64 - expected).abs() < 5.0 * expected.sqrt(),
            "{term}"
        );
    }
    options.format = Format::Trec;
    let error = to_path(&options, &folder.path().join("x"), &Progress::new()).unwrap_err();
    assert!(
        matches!(&error, Error::Usage(what) if what.contains("`<b>`")),
        "{error}"
    );
}

#[test]
fn failures_leave_nothing() {
    let progress = Progress::new();
    let terms = options(Extent::Documents(10), Format::Terms);
    let nowhere = to_path(&terms, Path::new("/no/such/folder/x.terms"), &progress).unwrap_err();
    assert!(matches!(nowhere, Error::Write { .. }));
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(
        to_path(&terms, folder.path(), &progress),
        Err(Error::Usage(_))
    ));

    for threads in [1, 7] {
        let mut terms = options(Extent::Bytes(u64::MAX), Format::Terms);
        terms.threads = threads;
        let error = to_stream(
            &terms,
            &mut Limited(5_000_000, || Err(std::io::ErrorKind::StorageFull.into())),
            Path::new("-"),
            &progress,
        )
        .unwrap_err();
        assert!(matches!(error, Error::Write { .. }));
    }
    assert!(progress.snapshot().done < 20_000_000);
}

/// A stream that takes a limited number of bytes, and then calls a function.
struct Limited<F>(u64, F);

impl<F: Fn() -> std::io::Result<usize>> std::io::Write for Limited<F> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 = self.0.saturating_sub(bytes.len() as u64);
        match self.0 {
            0 => self.1(),
            _ => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A thread that panics ends the others with an error; none waits for its turn forever.
#[test]
fn a_panic_ends_all_threads() {
    for threads in [1, 7] {
        let mut terms = options(Extent::Bytes(u64::MAX), Format::Terms);
        terms.threads = threads;
        let run = || {
            let mut output = Limited(5_000_000, || panic!("on purpose"));
            to_stream(&terms, &mut output, Path::new("-"), &Progress::new())
        };
        assert!(std::panic::catch_unwind(run).is_err());
    }
}

/// The published collection of 100 MB: words, documents, distinct pairs, distinct terms.
#[test]
fn resembles_the_published_collection() {
    let (summary, text) = bytes(&options(Extent::Bytes(100_000_000), Format::Terms));
    let (mut document, mut pairs) = (1u32, 0u64);
    let mut last_seen = hashbrown::HashMap::<&[u8], u32>::new();
    let lines = text.strip_suffix(b"\n").unwrap_or(&text);
    for line in lines.split(|&byte| byte == b'\n') {
        if line.is_empty() {
            document += 1;
        } else if last_seen.insert(line, document) != Some(document) {
            pairs += 1;
        }
    }
    assert_eq!(u64::from(document), summary.documents);
    for (value, published) in [
        (summary.words, 17_881_505.0),
        (summary.documents, 24_411.0),
        (pairs, 11_029_756.0),
        (last_seen.len() as u64, 447_663.0),
    ] {
        let ratio = value as f64 / published;
        assert!((ratio - 1.0).abs() < 0.03, "{value} against {published}");
    }
}

#[test]
fn a_cancelled_collection_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    for (name, format) in [("x.terms", Format::Terms), ("x", Format::Text)] {
        let progress = Progress::new();
        let canceller = progress.clone();
        let endless = options(Extent::Documents(u64::MAX), format);
        let waiting = std::thread::spawn(move || {
            while canceller.snapshot().documents == 0 {
                std::thread::yield_now();
            }
            canceller.cancel();
        });
        let made = to_path(&endless, &folder.path().join(name), &progress);
        waiting.join().unwrap();
        assert!(matches!(made, Err(Error::Cancelled)));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
