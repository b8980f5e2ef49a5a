//! What every fuzz target checks, as laws: nothing panics, the size of chunks changes nothing,
//! and the engines agree.

mod index;
/// The laws of the server's requests and settings, which its tests check too.
#[path = "../../serve/tests/all/laws.rs"]
mod serve;

pub use index::index;
pub use serve::{bulk, change, cursor, definition, elastic, request, settings, token};

use std::fmt::Debug;
use std::path::Path;

use tokapi::eval::{Evaluation, Judgments, Run};
use tokapi::sort::KeyType;
use tokapi::{Analyzer, AnalyzerOptions, Cut};
use tokapi::{Clause, Occur, Query};
use tokapi::{Corpus, CorpusOptions, Dictionary, Index};
use tokapi::{Format, OnError, Result};
use tokapi_sort::text::{Lines, write_key32, write_key64};
use tokapi_text::corpus::Chunk;
use tokapi_weigh::invert::{CpuInverter, Invert, ReferenceInverter};

/// More than an input has; the memory of a chunk is asked for ahead, and a larger one is slow.
const WHOLE: usize = 1 << 16;

/// The texts of all documents, read in chunks of about `chunk_bytes`, bad ones left out.
fn texts(name: &str, bytes: &[u8], format: Option<Format>, chunk_bytes: usize) -> Vec<Vec<u8>> {
    let options = CorpusOptions::default()
        .format(format)
        .fields(match format {
            Some(Format::Jsonl | Format::Json | Format::Trec) => vec!["title"],
            _ => Vec::new(),
        })
        .chunk_bytes(Some(chunk_bytes))
        .on_error(OnError::Skip);
    let mut corpus = Corpus::from_bytes(name, bytes, options);
    let mut texts = Vec::new();
    while let Some((chunk, _)) = corpus.next_chunk().expect("errors are skipped") {
        for document in 0..chunk.len() {
            let text = chunk.text(document).to_vec();
            assert!(std::str::from_utf8(&text).is_ok());
            texts.push(text);
            for value in chunk.values(document) {
                assert!(std::str::from_utf8(value.text).is_ok());
                texts.push(value.text.to_vec());
            }
        }
    }
    texts
}

/// Reads `bytes` as records of `format`, in one chunk and in small ones.
pub fn records(format: Format, bytes: &[u8]) {
    let whole = texts("bytes", bytes, Some(format), WHOLE);
    assert_eq!(whole, texts("bytes", bytes, Some(format), 1));
    let stop = CorpusOptions::default()
        .format(Some(format))
        .chunk_bytes(Some(WHOLE));
    let _ = Corpus::from_bytes("bytes", bytes, stop).next_chunk();
}

/// Reads `bytes` as Parquet.
pub fn parquet(bytes: &[u8]) {
    texts("bytes", bytes, Some(Format::Parquet), 1 << 16);
}

/// Reads `bytes` in the format, and with the compression, that they seem to have.
pub fn sniff(bytes: &[u8]) {
    texts("bytes", bytes, None, 1 << 16);
}

/// Inverts documents, which the byte 0xff ends, by the fast engine and by its definition.
pub fn cut(bytes: &[u8]) {
    let texts: Vec<_> = bytes
        .split(|&byte| byte == 0xff)
        .map(String::from_utf8_lossy)
        .collect();
    for cut in Cut::ALL {
        let options = AnalyzerOptions::default().cut(cut);
        let analyzer = Analyzer::new(&options).expect("no stop word file to be read");
        let chunk = || Chunk::from_documents(texts.iter().map(|text| ("", &**text)));
        let by_definition = ReferenceInverter::new(&analyzer).invert(&mut chunk());
        let fast = CpuInverter::new(&analyzer).invert(&mut chunk());
        assert_eq!(fast.expect("small"), by_definition.expect("small"));
    }
}

/// Opens `bytes` as a dictionary, as they are and with the checksum that they ought to have, and
/// walks what is accepted. Their lines make a dictionary that is opened again.
pub fn dictionary(bytes: &[u8]) {
    let mut sealed = bytes.to_vec();
    if let Some((second, rest)) = sealed
        .get_mut(8..)
        .and_then(|b| b.split_first_chunk_mut::<8>())
    {
        second[4..].copy_from_slice(&crc32fast::hash(rest).to_le_bytes());
    }
    for bytes in [bytes, &sealed] {
        if let Ok(dictionary) = Dictionary::from_bytes("bytes", bytes) {
            for id in (0..dictionary.len()).take(1000) {
                let term = dictionary.term(id as u32).expect("an id");
                dictionary.lookup(&term);
            }
            for end in 0..bytes.len().min(100) {
                let id = dictionary.lookup(&bytes[..end]);
                assert!(id.is_none_or(|id| u64::from(id) < dictionary.len()));
            }
        }
    }
    let terms: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
    let dictionary = Dictionary::build(&terms).expect("small");
    for term in terms {
        let id = dictionary.lookup(term).expect("a member");
        assert_eq!(dictionary.term(id).as_deref(), Some(term));
    }
}

/// Makes an index of `bytes` as CIFF. What is accepted is whole, and comes back from CIFF as the same.
pub fn ciff(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let import = |file: &str, index: &str| -> tokapi::Result<Index> {
        let options = tokapi::ImportOptions::default().threads(1);
        Index::import_ciff(&path(file), &Analyzer::default(), &path(index), options)?;
        Index::open(path(index))
    };
    std::fs::write(path("a.ciff"), bytes).expect("room");
    if let Ok(index) = import("a.ciff", "index") {
        let checked = index.check().expect("whole");
        let exported = index
            .export_ciff(&path("b.ciff"), &tokapi::Progress::new())
            .expect("room");
        assert_eq!(exported.postings, checked.postings);
        let again = import("b.ciff", "again").expect("written so");
        assert_eq!(again.check().expect("whole"), checked);
    }
}

/// Cuts `bytes` as a query that a person wrote.
pub fn query(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for cut in Cut::ALL {
        let options = AnalyzerOptions::default().cut(cut);
        let analyzer = Analyzer::new(&options).expect("no stop word file to be read");
        for usual in [Occur::Should, Occur::Must] {
            let query = Query::parse(&text, &analyzer, usual);
            assert!(query.clauses.iter().all(|clause| !clause.term.is_empty()));
            for phrase in &query.phrases {
                assert!(phrase.terms.len() > 1);
                let is_must = |term: &String| {
                    let of_term = |clause: &Clause| clause.term == *term;
                    let must = |clause: &Clause| of_term(clause) && clause.occur == Occur::Must;
                    query.clauses.iter().any(must)
                };
                assert!(phrase.not || phrase.terms.iter().all(is_must));
            }
        }
    }
}

/// Reads `bytes` as a run and, behind the byte 0xff, the judgments of it.
pub fn eval(bytes: &[u8]) {
    let mut files = bytes.splitn(2, |&byte| byte == 0xff).map(|bytes| {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), bytes).expect("room");
        file
    });
    let (Some(run), Some(judgments)) = (files.next(), files.next()) else {
        return;
    };
    if let (Ok(run), Ok(judgments)) = (Run::read(run.path()), Judgments::read(judgments.path())) {
        for all in [false, true] {
            let mean = Evaluation::new(&run, &judgments, all).mean;
            let is_share = |(_, value): (_, f64)| (0.0..=1.0).contains(&value);
            assert!(mean.named().into_iter().all(is_share), "{mean:?}");
        }
    }
}

/// Reads `bytes` as lines of numbers of every type; what is accepted is written, and reads back as the same.
pub fn numbers(bytes: &[u8]) {
    for key_type in KeyType::ALL {
        let path = Path::new("numbers");
        let lines = Lines { key_type, path };
        match key_type.bytes() {
            8 => read_back(
                bytes,
                |text, keys| lines.keys64(text, 1, keys),
                |key, text| write_key64(key_type, key, text),
            ),
            4 => read_back(
                bytes,
                |text, keys| lines.keys32(text, 1, keys),
                |key, text| write_key32(key_type, key, text),
            ),
            _ => {}
        }
    }
}

/// Writes the keys that are read from `bytes`, if they are keys, and reads them again.
fn read_back<W: Copy + PartialEq + Debug>(
    bytes: &[u8],
    read: impl Fn(&[u8], &mut Vec<W>) -> Result<()>,
    write: impl Fn(W, &mut Vec<u8>),
) {
    let (mut keys, mut again, mut text) = (Vec::new(), Vec::new(), Vec::new());
    if read(bytes, &mut keys).is_ok() {
        for &key in &keys {
            write(key, &mut text);
            text.push(b'\n');
        }
        read(&text, &mut again).expect("written so");
        assert_eq!(keys, again);
    }
}
