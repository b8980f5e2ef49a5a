//! Rows of text tables, turned into documents.

use super::csv;
use super::segment::{NOT_UTF8, Sink, lines};
use super::table::Table;
use tokapi_storage::error::Result;

const OPEN_QUOTE: &str = "a quoted cell does not end: a quote is missing, or the file is cut off; mend or fetch it again";

impl Table {
    /// Adds the document of a row, or returns the reason why there is none.
    fn push(&self, cells: &[&[u8]], sink: &mut Sink<'_>) -> std::result::Result<(), String> {
        if cells.len() != self.width {
            return Err(format!(
                "a row of {} columns; the first row names {}",
                cells.len(),
                self.width
            ));
        }
        let used = [self.id].into_iter().chain(self.texts.iter().copied());
        for column in used.chain(self.kept.iter().copied()) {
            std::str::from_utf8(cells[column]).map_err(|_| NOT_UTF8)?;
        }
        if cells[self.id].is_empty() {
            return Err("the id is empty".into());
        }
        let document = sink.chunk.len();
        for (field, &column) in self.kept.iter().enumerate() {
            // An empty cell is no value.
            if !cells[column].is_empty() {
                sink.chunk.values.push(document, field, cells[column]);
            }
        }
        sink.chunk.ids.push(cells[self.id]);
        let start = sink.chunk.text.len();
        for (number, &column) in self.texts.iter().enumerate() {
            if number > 0 {
                sink.chunk.text.push(b' ');
            }
            sink.chunk.text.extend_from_slice(cells[column]);
        }
        sink.chunk.end_document(start);
        Ok(())
    }
}

/// Parses lines of tab-separated cells without quotes.
pub(super) fn parse_tsv(table: &Table, bytes: &[u8], sink: &mut Sink<'_>) -> Result<()> {
    let mut cells = Vec::new();
    for (at, line) in lines(bytes) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            continue;
        }
        cells.clear();
        cells.extend(line.split(|&byte| byte == b'\t'));
        if let Err(problem) = table.push(&cells, sink) {
            sink.skip_at(bytes, at, || problem)?;
        }
    }
    Ok(())
}

/// Parses whole rows of CSV.
pub(super) fn parse_csv(table: &Table, bytes: &[u8], sink: &mut Sink<'_>) -> Result<()> {
    let mut rows = csv::Rows::new(bytes);
    while let Some((at, count)) = rows.next() {
        let cells: Vec<&[u8]> = rows.cells(count).collect();
        let mut state = csv::State::default();
        let is_last = rows.at == bytes.len();
        let problem = match is_last && state.last_end(&bytes[at..]).is_none() {
            true if state == csv::State::Quoted => Some(OPEN_QUOTE.to_owned()),
            _ => table.push(&cells, sink).err(),
        };
        if let Some(problem) = problem {
            sink.skip_at(bytes, at, || problem)?;
        }
    }
    Ok(())
}
