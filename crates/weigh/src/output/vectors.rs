//! Weights as sparse vectors: one JSON object per document, in input order.

use super::Output;
use super::pieces::{self, Text};
use crate::collection::{ByDocument, Rows};
use tokapi_storage::error::Result;
use tokapi_storage::whole::Staged;

/// Documents in a piece, some 100 KB to 10 MB. The bytes of compressed files depend on it.
const PIECE_DOCUMENTS: usize = 1 << 10;

/// Bytes of an entry: the digits of its term and of its weight, and two commas.
const ENTRY_BYTES: usize = 18;

/// Writes `{"id":"...","indices":[...],"values":[...]}` for every document: the numbers of its terms, ascending, and
/// their weights. A weight is the shortest decimal that reads back as the same f32, or `null` if it is not finite. A
/// document without terms has two empty lists.
///
/// # Errors
/// A file cannot be written; scratch cannot be read.
pub(super) fn write(rows: &impl ByDocument, output: &Output) -> Result<Staged> {
    let units = pieces::units(rows.part_count());
    let lines = |part| Ok((lines(&rows.rows(part)?), ()));
    pieces::write(
        &output.path,
        rows.progress(),
        rows.stages(),
        units,
        lines,
        Ok,
    )
}

/// The lines of consecutive documents.
fn lines(rows: &Rows) -> Text {
    let mut text = Text {
        goes_on: !rows.first.is_multiple_of(PIECE_DOCUMENTS),
        ..Text::default()
    };
    let bytes = &mut text.bytes;
    bytes.reserve(rows.terms.len() * ENTRY_BYTES);
    let (mut digits, mut decimal) = (itoa::Buffer::new(), zmij::Buffer::new());
    for (number, bounds) in (rows.first..).zip(rows.starts.windows(2)) {
        let entries = bounds[0]..bounds[1];
        bytes.extend_from_slice(b"{\"id\":");
        let id = serde_json::Value::from(rows.ids.text(number - rows.first));
        bytes.extend_from_slice(id.to_string().as_bytes());
        bytes.extend_from_slice(b",\"indices\":[");
        for (place, entry) in entries.clone().enumerate() {
            if place > 0 {
                bytes.push(b',');
            }
            bytes.extend_from_slice(digits.format(rows.term_id(entry)).as_bytes());
        }
        bytes.extend_from_slice(b"],\"values\":[");
        for (place, &weight) in rows.weights[entries].iter().enumerate() {
            if place > 0 {
                bytes.push(b',');
            }
            let weight = match weight.is_finite() {
                true => decimal.format_finite(weight),
                false => "null",
            };
            bytes.extend_from_slice(weight.as_bytes());
        }
        bytes.extend_from_slice(b"]}\n");
        if (number + 1) % PIECE_DOCUMENTS == 0 {
            text.cuts.push(bytes.len());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::Target;
    use super::super::sample::{ODD, collection, many, unpacked, written_each_way};
    use super::*;
    use crate::formula::Bm25;
    use crate::formula::Formula;
    use std::path::Path;
    use tokapi_storage::error::Error;

    fn output(path: &Path, tables: bool) -> Output {
        Output::new(path.to_path_buf(), Target::Vectors).tables(tables)
    }

    /// Writes and parses again: id, indices and values of every line.
    fn written(documents: &[(&str, &str)], bm25: &Bm25) -> Vec<(String, Vec<u32>, Vec<f32>)> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("v.jsonl");
        let collection = collection(documents, Default::default());
        output(&path, false).write(collection, bm25).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let parse = |line| {
            let mut object: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(object.as_object().unwrap().len(), 3);
            let mut take = |key: &str| object[key].take();
            (
                serde_json::from_value(take("id")).unwrap(),
                serde_json::from_value(take("indices")).unwrap(),
                serde_json::from_value(take("values")).unwrap(),
            )
        };
        text.lines().map(parse).collect()
    }

    #[test]
    fn every_document_comes_back() {
        // Robertson's weights are negative for terms in more than half of the documents.
        for formula in [Formula::Lucene, Formula::Robertson] {
            let bm25 = Bm25::default().formula(formula);
            for documents in [&ODD[..], &ODD[..4], &ODD[2..3], &[]] {
                let weights = collection(documents, Default::default()).weigh(&bm25);
                let weights = weights.unwrap();
                let mut expected: Vec<_> = documents
                    .iter()
                    .map(|(id, _)| (id.to_string(), vec![], vec![]))
                    .collect();
                for term in 0..weights.lexicon.terms.len() {
                    for posting in weights.range(term) {
                        let vector = &mut expected[weights.posting_documents[posting] as usize];
                        vector.1.push(u32::try_from(term).unwrap());
                        vector.2.push(weights.weights[posting]);
                    }
                }
                assert_eq!(written(documents, &bm25), expected);
            }
        }
    }

    #[test]
    fn what_is_not_a_number_is_null() {
        let rows = Rows {
            first: 0,
            starts: vec![0, 3],
            ids: ["\""].into_iter().collect(),
            terms: vec![0, 1, 2],
            frequencies: vec![1; 3],
            weights: vec![f32::NAN, 0.5, f32::NEG_INFINITY],
            names: ["a", "b", "c"].into_iter().collect(),
            term_ids: vec![1, 2, 7],
        };
        let text = lines(&rows).bytes;
        let expected = r#"{"id":"\"","indices":[1,2,7],"values":[null,0.5,null]}"#;
        assert_eq!(String::from_utf8(text).unwrap(), format!("{expected}\n"));
    }

    #[test]
    fn bytes_depend_neither_on_threads_nor_on_chunks() {
        let documents = many(3 * PIECE_DOCUMENTS + 1);
        let plain = written_each_way("v.jsonl", Target::Vectors, &documents);
        for name in ["v.jsonl.gz", "v.jsonl.zst"] {
            let bytes = written_each_way(name, Target::Vectors, &documents);
            assert!(unpacked(Path::new(name), &bytes) == plain, "{name}");
        }
    }

    #[test]
    fn tables_beside() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, tables| {
            let odd = collection(&ODD, Default::default());
            output(&dir.path().join(name), tables).write(odd, &Bm25::default())
        };
        let beside = |name: &str| dir.path().join(name);
        let files = write("a.jsonl.gz", false).unwrap().files;
        assert_eq!(files, [beside("a.jsonl.gz"), beside("a.terms.tsv")]);
        let files = write("b.jsonl", true).unwrap().files;
        assert_eq!(files, ["b.jsonl", "b.docs.tsv", "b.terms.tsv"].map(beside));
        assert!(files.iter().all(|file| file.exists()));
        let odd = collection(&ODD, Default::default());
        let written = output(Path::new("-"), true).write(odd, &Bm25::default());
        assert!(matches!(written, Err(Error::Usage(_))));
    }
}
