//! The two tables beside weights: documents with their lengths, and terms with their df.
//!
//! In tab-separated text, fields escape a backslash, a tab, a line feed and a carriage return as `\\`, `\t`, `\n` and
//! `\r`. So a line is a row and a tab ends a field, whatever an id holds.

use std::ops::Range;
use std::path::Path;

use super::Output;
use super::pieces::{self, Text};
use crate::collection::Documents;
use crate::collection::external::{External, TermReader};
use crate::lexicon::Lexicon;
use tokapi_storage::error::Result;
use tokapi_storage::pipeline::Stages;
use tokapi_storage::progress::Progress;
use tokapi_storage::strings::Strings;
use tokapi_storage::whole::Staged;

/// Rows that one thread formats at a time: about a megabyte.
const UNIT_ROWS: usize = 1 << 16;

/// Writes `id<TAB>length`, one document per line, beside `output`.
///
/// # Errors
/// A file that cannot be written.
pub(super) fn documents(
    documents: &Documents,
    output: &Output,
    progress: &Progress,
) -> Result<Staged> {
    let lengths = &documents.lengths;
    write(
        &output.beside("docs.tsv"),
        progress,
        &documents.ids,
        |row| u64::from(lengths[row]),
    )
}

/// Writes `term<TAB>df`, one term per line, beside `output`.
///
/// # Errors
/// A file that cannot be written.
pub(super) fn terms(lexicon: &Lexicon, output: &Output, progress: &Progress) -> Result<Staged> {
    write(
        &output.beside("terms.tsv"),
        progress,
        &lexicon.terms,
        |row| lexicon.df[row],
    )
}

fn write(
    path: &Path,
    progress: &Progress,
    names: &Strings,
    number: impl Fn(usize) -> u64 + Sync,
) -> Result<Staged> {
    let rows = names.len();
    let units = pieces::units(rows.div_ceil(UNIT_ROWS));
    let text = |unit: usize| {
        let rows = unit * UNIT_ROWS..rows.min((unit + 1) * UNIT_ROWS);
        Ok((lines(names, &number, rows), ()))
    };
    pieces::write(path, progress, Stages::of_pool(), units, text, Ok)
}

/// As [`documents`], from scratch.
pub(super) fn external_documents(external: &External, output: &Output) -> Result<Staged> {
    let text = |documents: Documents| {
        let length = |row: usize| u64::from(documents.lengths[row]);
        Ok((lines(&documents.ids, length, 0..documents.len()), ()))
    };
    let next = external.document_batches(UNIT_ROWS);
    pieces::write(
        &output.beside("docs.tsv"),
        external.progress(),
        external.stages(),
        next,
        text,
        Ok,
    )
}

/// As [`terms`], from scratch.
pub(super) fn external_terms(
    mut terms: TermReader,
    external: &External,
    output: &Output,
) -> Result<Staged> {
    let text = |lexicon: Lexicon| {
        let df = |row: usize| lexicon.df[row];
        Ok((lines(&lexicon.terms, df, 0..lexicon.df.len()), ()))
    };
    let next = || terms.next(UNIT_ROWS);
    pieces::write(
        &output.beside("terms.tsv"),
        external.progress(),
        external.stages(),
        next,
        text,
        Ok,
    )
}

fn lines(names: &Strings, number: impl Fn(usize) -> u64, rows: Range<usize>) -> Text {
    let mut text = Vec::new();
    let mut digits = itoa::Buffer::new();
    for row in rows {
        push_field(&mut text, names.get(row));
        text.push(b'\t');
        text.extend_from_slice(digits.format(number(row)).as_bytes());
        text.push(b'\n');
    }
    Text::whole(text)
}

/// Adds a field of tab-separated text, escaped.
pub fn push_field(text: &mut Vec<u8>, field: &[u8]) {
    if !needs_escape(field) {
        text.extend_from_slice(field);
        return;
    }
    for &byte in field {
        match byte {
            b'\\' => text.extend_from_slice(b"\\\\"),
            b'\t' => text.extend_from_slice(b"\\t"),
            b'\n' => text.extend_from_slice(b"\\n"),
            b'\r' => text.extend_from_slice(b"\\r"),
            byte => text.push(byte),
        }
    }
}

/// Whether a field has a byte that needs escaping.
pub(super) fn needs_escape(field: &[u8]) -> bool {
    let escaped = |byte: &u8| matches!(byte, b'\\' | b'\t' | b'\n' | b'\r');
    field.iter().any(escaped)
}

#[cfg(test)]
mod tests {
    use super::super::Target;
    use super::super::sample::{ODD, collection, committed};
    use super::*;

    #[test]
    fn rows_in_order_with_ids_escaped() {
        let dir = tempfile::tempdir().unwrap();
        let output = Output::new(dir.path().join("w.tsv.gz"), Target::Tsv).tables(true);
        let odd = collection(&ODD, Default::default());
        let docs = documents(odd.documents(), &output, odd.progress()).unwrap();
        assert_eq!(docs.path(), dir.path().join("w.docs.tsv"));
        let expected = "plain\t4\ntab\\there\t1\nnone\t0\nline\\nbreak\\r\t4\n\
             quote\"back\\\\slash\t1\nünï\u{1}\u{2028}\t3\nnone again\t0\n";
        assert_eq!(String::from_utf8(committed(docs)).unwrap(), expected);
        let terms = terms(odd.lexicon(), &output, odd.progress()).unwrap();
        assert_eq!(terms.path(), dir.path().join("w.terms.tsv"));
        let expected = "cat\t2\ndog\t3\nthe\t3\nzebra\t1\nété\t1\n";
        assert_eq!(String::from_utf8(committed(terms)).unwrap(), expected);
    }

    #[test]
    fn more_rows_than_a_unit() {
        let dir = tempfile::tempdir().unwrap();
        for rows in [0, 1, UNIT_ROWS - 1, UNIT_ROWS, UNIT_ROWS + 1] {
            let names: Strings = (0..rows).map(|row| row.to_string()).collect();
            let table = committed(
                write(&dir.path().join("t"), &Progress::new(), &names, |row| {
                    row as u64
                })
                .unwrap(),
            );
            let expected: String = (0..rows).map(|row| format!("{row}\t{row}\n")).collect();
            assert_eq!(table, expected.as_bytes(), "{rows} rows");
        }
    }
}
