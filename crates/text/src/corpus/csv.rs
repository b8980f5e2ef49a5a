//! CSV by RFC 4180: cells may be quoted, and quoted cells may hold commas, quotes and line ends.
//!
//! `csv-core` cuts rows into cells, on any thread. [`State`] finds the ends of rows front to back, by the same rules:
//! whether a line end is quoted depends on all bytes before it.

use csv_core::ReadRecordResult;

use super::format::PEEK_BYTES;

/// The state of a row at a byte.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum State {
    /// At the beginning of a cell.
    #[default]
    Start,
    /// In a cell without quotes.
    Bare,
    /// Between quotes.
    Quoted,
    /// After a quote that ends a cell, or that is the first of an escaped pair.
    Quote,
}

impl State {
    /// Scans `bytes`. Returns one past the last end of a row in them.
    pub fn last_end(&mut self, bytes: &[u8]) -> Option<usize> {
        let (mut at, mut last) = (0, None);
        while at < bytes.len() {
            let rest = &bytes[at..];
            let skipped = match self {
                State::Quoted => memchr::memchr(b'"', rest),
                State::Bare => memchr::memchr3(b',', b'\n', b'\r', rest),
                State::Start | State::Quote => Some(0),
            };
            let Some(skipped) = skipped else {
                break;
            };
            at += skipped + 1;
            *self = match (*self, bytes[at - 1]) {
                (State::Quoted, _) => State::Quote,
                (State::Start | State::Quote, b'"') => State::Quoted,
                (_, b',') => State::Start,
                (_, b'\n' | b'\r') => {
                    last = Some(at);
                    State::Start
                }
                _ => State::Bare,
            };
        }
        last
    }
}

/// Cuts rows into cells.
pub(super) struct Rows<'a> {
    reader: csv_core::Reader,
    bytes: &'a [u8],
    /// The beginning of the next row.
    pub at: usize,
    cells: Vec<u8>,
    ends: Vec<usize>,
}

impl<'a> Rows<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        let mut reader = csv_core::Reader::new();
        let (mut cells, mut ends) = (vec![0; 1 << 12], vec![0; 64]);
        // A byte order mark is part of a row here. The reader drops it at the very beginning of a file.
        reader.read_record(b"\n", &mut cells, &mut ends);
        Rows {
            reader,
            bytes,
            at: 0,
            cells,
            ends,
        }
    }

    /// The beginning of the next row, and the number of its cells.
    pub fn next(&mut self) -> Option<(usize, usize)> {
        while let Some(b'\n' | b'\r') = self.bytes.get(self.at) {
            self.at += 1;
        }
        let (start, mut written, mut ended) = (self.at, 0, 0);
        loop {
            let rest = &self.bytes[self.at..];
            let (cells, ends) = (&mut self.cells[written..], &mut self.ends[ended..]);
            let (result, read, more, ends) = self.reader.read_record(rest, cells, ends);
            self.at += read;
            written += more;
            ended += ends;
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => self.cells.resize(2 * self.cells.len(), 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(2 * self.ends.len(), 0),
                ReadRecordResult::Record => return Some((start, ended)),
                ReadRecordResult::End => return None,
            }
        }
    }

    /// The `count` cells of the row that [`Rows::next`] found.
    pub fn cells(&self, count: usize) -> impl Iterator<Item = &[u8]> {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        let spans = starts.zip(&self.ends[..count]);
        spans.map(|(start, &end)| &self.cells[start..end])
    }
}

/// The names in the first row, and the bytes up to its end; none if the row is incomplete or not text.
pub(super) fn header(start: &[u8]) -> Option<(Vec<String>, usize)> {
    let mut rows = Rows::new(start);
    let (_, count) = rows.next()?;
    let name = |cell: &[u8]| Some(std::str::from_utf8(cell).ok()?.trim().to_owned());
    let names = rows.cells(count).map(name).collect::<Option<_>>()?;
    let mut state = State::default();
    let ends_line = state.last_end(&start[..rows.at]).is_some();
    // A row that ends with the file is whole. A row that goes on beyond the peeked bytes is not.
    let ends_file = (start.len() as u64) < PEEK_BYTES && state != State::Quoted;
    (ends_line || ends_file).then_some((names, rows.at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_end_where_no_quote_is_open() {
        for (text, end, state) in [
            ("a,b\nc,d", Some(4), State::Bare),
            ("a,\"b\nc\"\nd", Some(8), State::Bare),
            ("a,\"b\nc\"\"\nd", None, State::Quoted),
            ("a\"b\nc", Some(4), State::Bare),
            ("\"a\"b\"\nc\r\n", Some(9), State::Start),
            ("", None, State::Start),
        ] {
            for cut in 0..=text.len() {
                let mut found = State::default();
                let (before, behind) = text.as_bytes().split_at(cut);
                let first = found.last_end(before);
                let last = found.last_end(behind).map(|at| cut + at);
                assert_eq!(last.or(first), end, "{text:?} at {cut}");
                assert_eq!(found, state, "{text:?} at {cut}");
            }
        }
    }
}
