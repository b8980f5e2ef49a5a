//! Headers of tables: the first row names the columns, every other row is a document (`cells.rs`).
//!
//! CSV always has a header. TSV has one if its first line names a column of ids and one of texts; otherwise its lines
//! are `id<TAB>text` (`tsv.rs`).

use serde::{Deserialize, Serialize};

use super::format::Format;
use super::options::CorpusOptions;
use super::{columns, csv};

/// The content of a table's header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Table {
    pub id: usize,
    pub texts: Vec<usize>,
    /// The columns of the kept fields.
    pub kept: Vec<usize>,
    /// The number of columns.
    pub width: usize,
    /// The bytes of the header, line end included.
    pub header_bytes: usize,
}

/// Whether a first row is JSON or markup.
fn is_other(names: &[String]) -> bool {
    let first = names.first();
    first.is_some_and(|name| name.starts_with(['{', '[', '<']))
}

impl Table {
    /// The table of `format` with first bytes `start`; none if documents of this format have no columns.
    ///
    /// # Errors
    /// The header is invalid.
    pub fn of(
        format: Format,
        start: &[u8],
        options: &CorpusOptions,
    ) -> Result<Option<Table>, String> {
        match format {
            Format::Csv => Table::of_csv(start, options).map(Some),
            Format::Tsv => Table::of_tsv(start, options),
            _ => Ok(None),
        }
    }

    fn of_csv(start: &[u8], options: &CorpusOptions) -> Result<Table, String> {
        let (names, header_bytes) = csv::header(start)
            .ok_or("the first row, which names the columns, does not end; quote its names")?;
        let table = Table::new(&names, header_bytes, options);
        table.map_err(|problem| match is_other(&names) {
            true => format!(
                "the first row must name the columns, but it begins with {}: is this really CSV?",
                columns::cut(String::from_utf8_lossy(&start[..header_bytes]).trim_end())
            ),
            false => format!("the first row must name the columns: {problem}"),
        })
    }

    fn of_tsv(start: &[u8], options: &CorpusOptions) -> Result<Option<Table>, String> {
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
    ) -> Result<Table, String> {
        let columns::Columns { id, texts } = columns::find(names, options)?;
        let kept = options.fields.iter().map(|field| {
            let found = names.iter().position(|name| name == field);
            found
                .ok_or_else(|| columns::missing(&format!("column `{field}`"), names, columns::KEEP))
        });
        Ok(Table {
            id,
            texts,
            kept: kept.collect::<Result<_, _>>()?,
            width: names.len(),
            header_bytes,
        })
    }
}
