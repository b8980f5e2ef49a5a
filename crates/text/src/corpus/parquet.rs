//! Parquet: the columns of id and text, by given names or by the default names of JSONL.
//!
//! Columns are decoded row group by row group as the corpus is read. A block carries the rows as length-prefixed ids
//! and texts. The decoder may panic on a damaged file; the panic is caught here and becomes an error like any other.

mod kept;
mod spell;

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::Type as PhysicalType;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArrayType, DataType, FixedLenByteArrayType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescPtr;

use super::columns;
use super::decode::{self, Decoded};
use super::inputs::Input;
use super::options::CorpusOptions;
use super::records::Records;
use super::rows::{put, put_count};
use super::segment::{First, Layout, Origin};
use super::value::ValueType;
use spell::Spelling;
use tokapi_storage::error::{Error, Place, Position, Result};
use tokapi_storage::guard;

/// Rows decoded at a time.
const BATCH_ROWS: usize = 1024;

/// A Parquet file that is being read.
pub(super) struct ParquetSource {
    path: Arc<Path>,
    reader: Box<dyn FileReader + Send>,
    /// The id's column, then those of the text.
    columns: Vec<usize>,
    /// The columns of the kept fields.
    kept: Vec<usize>,
    row_group: usize,
    /// The columns of the current row group, and the number of its remaining rows.
    open: Vec<ColumnReader>,
    open_kept: Vec<ColumnReader>,
    rows_left: usize,
    next_row: u64,
}

impl ParquetSource {
    pub(super) fn open(
        input: &Input,
        mut decoded: Decoded,
        options: &CorpusOptions,
    ) -> Result<Self> {
        let path: Arc<Path> = Arc::from(input.path.as_path());
        let reader: Box<dyn FileReader + Send> = if decoded.compressed || !input.is_seekable() {
            // Parquet is read from its end, so an input that cannot seek is held in memory.
            let mut bytes = Vec::new();
            if let Err(source) = decoded.reader.read_to_end(&mut bytes) {
                let at = bytes.len() as u64;
                return Err(decode::failed(&path, decoded.compressed, at, source));
            }
            guarded(&path, || {
                SerializedFileReader::new(bytes::Bytes::from(bytes))
            })
            .map(|reader| Box::new(reader) as Box<dyn FileReader + Send>)?
        } else {
            let file = File::open(input.file())
                .map_err(|source| decode::failed(&path, false, 0, source))?;
            Box::new(guarded(&path, || SerializedFileReader::new(file))?)
        };
        let columns = find_columns(&path, &*reader, options)?;
        let kept = kept::find(&path, &*reader, options)?;
        Ok(ParquetSource {
            path,
            reader,
            columns,
            kept,
            row_group: 0,
            open: Vec::new(),
            open_kept: Vec::new(),
            rows_left: 0,
            next_row: 1,
        })
    }

    pub(super) fn read_into(&mut self, records: &mut Records) -> Result<bool> {
        let (start, first) = (records.bytes.len(), self.next_row);
        let path = Arc::clone(&self.path);
        let result = guarded(&path, || self.read_rows(records));
        let origin = Origin {
            path,
            layout: Layout::Rows,
        };
        records.add(&origin, start, First::Number(first), first == 1);
        result
    }

    fn read_rows(&mut self, records: &mut Records) -> std::result::Result<bool, ParquetError> {
        while records.room() > 0 {
            if self.rows_left == 0 {
                if self.row_group == self.reader.num_row_groups() {
                    return Ok(false);
                }
                let group = self.reader.get_row_group(self.row_group)?;
                self.rows_left = usize::try_from(group.metadata().num_rows())?;
                let open = |columns: &[usize]| -> std::result::Result<_, ParquetError> {
                    let columns = columns.iter();
                    columns
                        .map(|&column| group.get_column_reader(column))
                        .collect()
                };
                self.open = open(&self.columns)?;
                self.open_kept = open(&self.kept)?;
                self.row_group += 1;
                continue;
            }
            let rows = self.rows_left.min(BATCH_ROWS);
            let mut values = Vec::with_capacity(self.open.len());
            for (column, &number) in self.open.iter_mut().zip(&self.columns) {
                let schema = self.reader.metadata().file_metadata().schema_descr();
                let descriptor = schema.column(number);
                values.push(match descriptor.max_rep_level() {
                    0 => read_texts(column, rows, Spelling::of(&descriptor))?,
                    // The strings of a list, joined by spaces.
                    _ => {
                        let lists = kept::read(column, rows, &descriptor)?.into_iter();
                        lists.map(|list| Some(list.join(&b' '))).collect()
                    }
                });
            }
            let mut kept = Vec::with_capacity(self.open_kept.len());
            for (column, &number) in self.open_kept.iter_mut().zip(&self.kept) {
                let schema = self.reader.metadata().file_metadata().schema_descr();
                let descriptor = schema.column(number);
                let mut values = kept::read(column, rows, &descriptor)?;
                let kind = Spelling::of(&descriptor).value_type(descriptor.physical_type());
                if kind != ValueType::Text {
                    for value in values.iter_mut().flatten() {
                        *value = kind.mark(value).into_owned();
                    }
                }
                kept.push(values);
            }
            for row in 0..rows {
                let texts = &mut values.iter_mut().map(|column| column[row].take());
                put(texts.next().flatten().as_deref(), &mut records.bytes)?;
                let texts: Vec<_> = texts.flatten().collect();
                put(Some(&texts.join(&b' ')), &mut records.bytes)?;
                for column in &kept {
                    let values = &column[row];
                    put_count(values.len(), &mut records.bytes)?;
                    for value in values {
                        put(Some(value), &mut records.bytes)?;
                    }
                }
            }
            self.rows_left -= rows;
            self.next_row += rows as u64;
        }
        Ok(true)
    }
}

/// Runs a step of the decoder; its errors and panics become errors of the file `path`.
fn guarded<T>(
    path: &Path,
    step: impl FnOnce() -> std::result::Result<T, ParquetError>,
) -> Result<T> {
    let problem = match guard::guarded(step) {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(error)) => error.to_string().replace('\n', " "),
        Err(_) => "its pages contradict each other".to_owned(),
    };
    Err(Error::Input {
        place: Place {
            path: path.to_path_buf(),
            position: Position::Whole,
        },
        what: format!("not a whole Parquet file ({problem}); write or fetch it again"),
    })
}

/// The id's column and those of the text.
fn find_columns(
    path: &Path,
    reader: &dyn FileReader,
    options: &CorpusOptions,
) -> Result<Vec<usize>> {
    let schema = reader.metadata().file_metadata().schema_descr();
    // The elements of a list have the name of the list.
    let name = |column: &ColumnDescPtr| match column.max_rep_level() {
        0 => column.path().string(),
        _ => column.path().parts()[0].clone(),
    };
    let names: Vec<String> = schema.columns().iter().map(name).collect();
    let found = columns::find(&names, options);
    let columns::Columns { id, texts } = found.map_err(|what| Error::Input {
        place: Place {
            path: path.to_path_buf(),
            position: Position::Whole,
        },
        what,
    })?;
    let columns: Vec<usize> = [id].into_iter().chain(texts).collect();
    for (place, &column) in columns.iter().enumerate() {
        let column = schema.column(column);
        let root = &column.path().parts()[0];
        let below = schema
            .columns()
            .iter()
            .filter(|other| other.path().parts()[0] == *root);
        // The first column is the id.
        let is_list = column.max_rep_level() > 0;
        let is_nested = is_list && (place == 0 || below.count() > 1);
        let readable = matches!(
            column.physical_type(),
            PhysicalType::BYTE_ARRAY
                | PhysicalType::FIXED_LEN_BYTE_ARRAY
                | PhysicalType::INT32
                | PhysicalType::INT64
        ) && Spelling::of(&column).reads(column.physical_type());
        if !readable || is_nested {
            return Err(Error::Input {
                place: Place {
                    path: path.to_path_buf(),
                    position: Position::Whole,
                },
                what: format!(
                    "column `{}` holds neither strings nor integers",
                    column.path().string()
                ),
            });
        }
    }
    Ok(columns)
}

/// The next `rows` values of a column as text.
fn read_texts(
    column: &mut ColumnReader,
    rows: usize,
    spelling: Spelling,
) -> std::result::Result<Vec<Option<Vec<u8>>>, ParquetError> {
    match column {
        ColumnReader::ByteArrayColumnReader(reader) => {
            read::<ByteArrayType>(reader, rows, |value| spelling.bytes(value.data()))
        }
        ColumnReader::FixedLenByteArrayColumnReader(reader) => {
            read::<FixedLenByteArrayType>(reader, rows, |value| spelling.bytes(value.data()))
        }
        ColumnReader::Int32ColumnReader(reader) => {
            read::<Int32Type>(reader, rows, |&value| spelling.int32(value))
        }
        ColumnReader::Int64ColumnReader(reader) => {
            read::<Int64Type>(reader, rows, |&value| spelling.int64(value))
        }
        _ => Err(ParquetError::General("a column changed its type".into())),
    }
}

fn read<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    text: impl Fn(&T::T) -> Vec<u8>,
) -> std::result::Result<Vec<Option<Vec<u8>>>, ParquetError> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    let (records, _, _) = reader.read_records(rows, Some(&mut levels), None, &mut values)?;
    if records != rows {
        return Err(ParquetError::General(format!(
            "{records} of {rows} rows found"
        )));
    }
    let mut present = values.iter().map(text);
    if levels.is_empty() {
        return Ok(present.map(Some).collect());
    }
    // A value is present exactly at the highest level.
    let highest = if values.len() == rows {
        i16::MIN
    } else {
        levels.iter().copied().max().unwrap_or(0)
    };
    let all_null = values.is_empty();
    Ok(levels
        .iter()
        .map(|&level| {
            if !all_null && level >= highest {
                present.next()
            } else {
                None
            }
        })
        .collect())
}
