//! Damaged and arbitrary bytes: no panic, and laws that hold for whatever is read.

use std::sync::Arc;

use crate::random::Random;
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;
use tokapi::{Analyzer, AnalyzerOptions, Cut};
use tokapi::{Corpus, CorpusOptions};
use tokapi::{Format, OnError};
use tokapi_text::corpus::{Block, Chunk};
use tokapi_weigh::invert::{CpuInverter, Invert, ReferenceInverter};

/// The texts of all documents, and the reasons for which others were left out.
fn read(format: Option<Format>, bytes: &[u8], chunk_bytes: usize) -> (Vec<String>, Vec<String>) {
    let options = CorpusOptions::default()
        .format(format)
        .chunk_bytes(Some(chunk_bytes))
        .on_error(OnError::Skip);
    read_all(Corpus::from_bytes("bytes", bytes, options))
}

fn read_all(mut corpus: Corpus) -> (Vec<String>, Vec<String>) {
    let (mut block, mut chunk) = (Block::default(), Chunk::default());
    let (mut texts, mut reasons) = (Vec::new(), Vec::new());
    while corpus.fill(&mut block).unwrap() {
        reasons.extend(block.parse(&mut chunk).unwrap().reasons);
        let text = |document| String::from_utf8(chunk.text(document).to_vec()).unwrap();
        texts.extend((0..chunk.len()).map(text));
    }
    (texts, reasons)
}

/// Bytes that often are what a parser looks for.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        3 => prop::sample::select(vec![
            "\n", "\n\n", "\r\n", "\t", "<DOC>", "</DOC>", "<doc>", "</doc>", "<DOCNO>",
            "</DOCNO>", "<DO", "&amp;", "&#x41;", "&", ";", "{\"id\":\"", "\",\"contents\":\"",
            "\"}", "{\"id\":1,\"text\":\"x\"}\n", "[", "]", ",", "{", "}", "\"", "\\", "id,text\n", "a,b\n",
            "id\ttext\n", "\r", "a", "Term ", "é", "\u{feff}", "PAR1",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

const RECORDS: [Format; 7] = [
    Format::Jsonl,
    Format::Json,
    Format::Tsv,
    Format::Csv,
    Format::Trec,
    Format::Text,
    Format::Terms,
];

/// A format and bytes in it, behind the header without which CSV is not read.
fn records() -> impl Strategy<Value = (Format, Vec<u8>)> {
    let format = prop::sample::select(RECORDS.to_vec());
    (format, pieces()).prop_map(|(format, bytes)| match format {
        Format::Csv => (format, [b"id,text\n", &bytes[..]].concat()),
        _ => (format, bytes),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_size_of_chunks_changes_nothing((format, bytes) in records(), chunk_bytes in 1usize..64) {
        let whole = read(Some(format), &bytes, 1 << 20);
        let parts = read(Some(format), &bytes, chunk_bytes);
        prop_assert_eq!(&whole.0, &parts.0);
        prop_assert_eq!(whole.1.iter().take(10).collect::<Vec<_>>(), parts.1.iter().take(10).collect::<Vec<_>>());
    }

    #[test]
    fn a_file_is_read_as_memory_is((format, bytes) in records(), chunk_bytes in 1usize..64) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bytes");
        std::fs::write(&path, &bytes).unwrap();
        let options = CorpusOptions::default().format(Some(format)).chunk_bytes(Some(chunk_bytes)).on_error(OnError::Skip);
        let (texts, reasons) = read_all(Corpus::open(&[&path], options).unwrap());
        let name = path.display().to_string();
        let reasons: Vec<String> = reasons.iter().map(|reason| reason.replace(&name, "bytes")).collect();
        let expected = read(Some(format), &bytes, chunk_bytes);
        prop_assert_eq!(texts, expected.0);
        prop_assert_eq!(
            reasons.iter().take(10).collect::<Vec<_>>(),
            expected.1.iter().take(10).collect::<Vec<_>>()
        );
    }

    #[test]
    fn any_bytes_have_some_format(bytes in pieces()) {
        read(None, &bytes, 64);
        // Behind the marks of gzip and Zstandard.
        read(None, &[&[0x1f, 0x8b][..], &bytes].concat(), 64);
        read(None, &[&[0x28, 0xb5, 0x2f, 0xfd][..], &bytes].concat(), 64);
    }

    #[test]
    fn engines_agree_on_any_documents(bytes in prop::collection::vec(pieces(), 0..5)) {
        let texts: Vec<_> = bytes.iter().map(|bytes| String::from_utf8_lossy(bytes)).collect();
        for cut in Cut::ALL {
            let options = AnalyzerOptions::default().cut(cut);
            let analyzer = Analyzer::new(&options).unwrap();
            let chunk = || Chunk::from_documents(texts.iter().map(|text| ("", &**text)));
            let by_definition = ReferenceInverter::new(&analyzer).invert(&mut chunk()).unwrap();
            prop_assert_eq!(CpuInverter::new(&analyzer).invert(&mut chunk()).unwrap(), by_definition);
        }
    }

    #[test]
    fn what_is_written_is_read(
        texts in prop::collection::vec("[^\\p{C}<>&]{0,20}", 0..20),
        chunk_bytes in 1usize..200,
    ) {
        for format in [Format::Jsonl, Format::Json, Format::Tsv, Format::Csv, Format::Trec] {
            let record = |(id, text): (usize, &String)| match format {
                Format::Jsonl => serde_json::json!({ "id": id, "contents": text }).to_string() + "\n",
                Format::Json => {
                    let object = serde_json::json!({ "id": id, "contents": text });
                    let object = serde_json::to_string_pretty(&object).unwrap();
                    (if id == 0 { "[" } else { "," }).to_owned() + &object
                }
                Format::Tsv => format!("{id}\t{text}\n"),
                Format::Csv => format!("{id},\"{}\"\n", text.replace('"', "\"\"")),
                _ => format!("<DOC>\n<DOCNO>{id}</DOCNO>{text}</DOC>\n"),
            };
            let mut file: String = texts.iter().enumerate().map(record).collect();
            match format {
                Format::Json if !texts.is_empty() => file.push(']'),
                Format::Csv => file.insert_str(0, "id,contents\n"),
                _ => {}
            }
            let (found, reasons) = read(Some(format), file.as_bytes(), chunk_bytes);
            prop_assert_eq!(reasons.len(), 0);
            // Tags count as spaces.
            let trimmed = |texts: &[String]| -> Vec<String> {
                texts.iter().map(|text| text.trim().to_owned()).collect()
            };
            prop_assert_eq!(trimmed(&found), trimmed(&texts));
        }
    }
}

/// An id and a text, either of which may be null.
type Row<'a> = (Option<&'a [u8]>, Option<&'a [u8]>);

/// A Parquet file of the columns `id` and `contents`.
fn parquet_file(rows: &[Row<'_>]) -> Vec<u8> {
    let schema = "message docs { optional byte_array id; optional byte_array contents; }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, properties).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for column in [0, 1] {
        let values = rows
            .iter()
            .map(|row| if column == 0 { row.0 } else { row.1 });
        let levels: Vec<i16> = values.clone().map(|value| value.is_some().into()).collect();
        let values: Vec<ByteArray> = values.flatten().map(|v| v.to_vec().into()).collect();
        let mut writer = group.next_column().unwrap().unwrap();
        let typed = writer.typed::<ByteArrayType>();
        typed.write_batch(&values, Some(&levels), None).unwrap();
        writer.close().unwrap();
    }
    group.close().unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn parquet_rows_without_id_or_utf8_are_named_by_their_number() {
    let file = parquet_file(&[
        (Some(b"a"), Some(b"first")),
        (None, Some(b"no id")),
        (Some(b""), Some(b"empty id")),
        (Some(b"b"), None),
        (Some(b"c"), Some(b"caf\xe9")),
        (Some(b"\xff"), Some(b"text")),
        (Some(b"d"), Some(b"last")),
    ]);
    let (texts, reasons) = read(Some(Format::Parquet), &file, 1 << 20);
    assert_eq!(texts, ["first", "", "last"]);
    let empty = "the id is empty or null";
    let utf8 = "not valid UTF-8; convert the file to UTF-8";
    let expected = [(2, empty), (3, empty), (5, utf8), (6, utf8)];
    assert_eq!(
        reasons,
        expected.map(|(row, what)| format!("bytes, document {row}: {what}"))
    );
}

#[test]
fn damaged_parquet_never_panics() {
    let texts: Vec<String> = (0..300).map(|n| format!("text {} of it", n * n)).collect();
    let rows: Vec<_> = texts
        .iter()
        .map(|text| {
            (
                Some(text.as_bytes()),
                (text.len() > 11).then_some(text.as_bytes()),
            )
        })
        .collect();
    let whole = parquet_file(&rows);
    assert_eq!(read(Some(Format::Parquet), &whole, 1 << 20).0.len(), 300);
    for length in (0..whole.len()).step_by(7) {
        let (texts, reasons) = read(Some(Format::Parquet), &whole[..length], 1 << 20);
        assert_eq!(
            (texts.len(), reasons.len()),
            (0, 1),
            "cut to {length} bytes"
        );
    }
    // A fixed sequence of places and values; two at a time, most in headers and footer.
    let mut random = Random(1);
    let mut failures = 0;
    for round in 0..4000 {
        let mut damaged = whole.clone();
        for _ in 0..1 + round % 2 {
            let place = match round % 4 {
                0 => random.below(whole.len()),
                1 => random.below(100),
                _ => whole.len() - 1 - random.below(400),
            };
            damaged[place] = random.below(256) as u8;
        }
        let (texts, reasons) = read(Some(Format::Parquet), &damaged, 1 << 20);
        assert!(texts.len() <= 300, "{} documents", texts.len());
        assert!(
            reasons.iter().all(|reason| !reason.contains('\n')),
            "{reasons:?}"
        );
        failures += usize::from(!reasons.is_empty());
    }
    assert!(failures > 400, "{failures} of 4000 were found damaged");
}
