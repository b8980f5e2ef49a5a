//! Tables of text: a header row names the columns, every further row is a document.
//!
//! CSV always has a header. TSV has one if its first line names the columns of an id and of the
//! text; otherwise its lines are `id<TAB>text` (`tsv.rs`).

use serde::{Deserialize, Serialize};

use super::block::{Segment, Sink};
use super::tsv::NOT_UTF8;
use super::{CorpusOptions, Format, columns, csv};
use tokapi_storage::error::Result;

/// What the header of a table says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Table {
    id: usize,
    texts: Vec<usize>,
    /// The columns of the fields that are kept.
    kept: Vec<usize>,
    /// The number of columns.
    width: usize,
    /// The bytes of the header, with its line's end.
    pub header_bytes: usize,
}

impl Table {
    /// The table of `format` whose first bytes are `start`; none where its documents have no columns.
    ///
    /// # Errors
    /// What is wrong with the header.
    pub fn of(
        format: Format,
        start: &[u8],
        options: &CorpusOptions,
    ) -> std::result::Result<Option<Table>, String> {
        match format {
            Format::Csv => Table::of_csv(start, options).map(Some),
            Format::Tsv => Table::of_tsv(start, options),
            _ => Ok(None),
        }
    }

    fn of_csv(start: &[u8], options: &CorpusOptions) -> std::result::Result<Table, String> {
        let (names, header_bytes) = csv::header(start)
            .ok_or("the first row, which names the columns, does not end; quote its names")?;
        let table = Table::new(&names, header_bytes, options);
        table.map_err(|problem| format!("the first row must name the columns: {problem}"))
    }

    fn of_tsv(start: &[u8], options: &CorpusOptions) -> std::result::Result<Option<Table>, String> {
        let Some(end) = memchr::memchr(b'\n', start) else {
            return Ok(None);
        };
        let Ok(line) = std::str::from_utf8(&start[..end]) else {
            return Ok(None);
        };
        let names: Vec<String> = line.split('\t').map(|name| name.trim().into()).collect();
        match names.len() > 1 && columns::find(&names, options).is_ok() {
            true => Table::new(&names, end + 1, options).map(Some),
            false => Ok(None),
        }
    }

    fn new(
        names: &[String],
        header_bytes: usize,
        options: &CorpusOptions,
    ) -> std::result::Result<Table, String> {
        let columns::Columns { id, texts } = columns::find(names, options)?;
        let kept = options.fields.iter().map(|field| {
            let found = names.iter().position(|name| name == field);
            found.ok_or_else(|| columns::missing(&format!("`{field}`"), names))
        });
        Ok(Table {
            id,
            texts,
            kept: kept.collect::<std::result::Result<_, _>>()?,
            width: names.len(),
            header_bytes,
        })
    }

    /// Adds the document that a row holds, or tells why there is none.
    pub fn push(&self, cells: &[&[u8]], sink: &mut Sink<'_>) -> std::result::Result<(), String> {
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

/// Parses lines of tab-separated cells: there are no quotes.
pub(super) fn parse_tsv(
    table: &Table,
    segment: &Segment,
    bytes: &[u8],
    sink: &mut Sink<'_>,
) -> Result<()> {
    let mut cells = Vec::new();
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', bytes).chain([bytes.len()]) {
        let line = &bytes[start..end];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let at = std::mem::replace(&mut start, end + 1);
        if line.is_empty() {
            continue;
        }
        cells.clear();
        cells.extend(line.split(|&byte| byte == b'\t'));
        if let Err(problem) = table.push(&cells, sink) {
            sink.skip(|| segment.error_at(bytes, at, problem))?;
        }
    }
    Ok(())
}
