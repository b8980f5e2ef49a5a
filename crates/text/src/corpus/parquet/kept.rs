//! The columns of kept fields: values, or lists of values.

use std::path::Path;

use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{
    BoolType, ByteArrayType, DataType, DoubleType, FixedLenByteArrayType, FloatType, Int32Type,
    Int64Type, Int96Type,
};
use parquet::errors::ParquetError;
use parquet::file::reader::FileReader;
use parquet::schema::types::ColumnDescriptor;

use super::spell::Spelling;
use crate::corpus::CorpusOptions;
use crate::corpus::columns::{self, KEEP};
use tokapi_storage::error::{Error, Place, Position, Result};

/// The columns of the kept fields. The column of a list is that of its elements.
pub(super) fn find(
    path: &Path,
    reader: &dyn FileReader,
    options: &CorpusOptions,
) -> Result<Vec<usize>> {
    let schema = reader.metadata().file_metadata().schema_descr();
    let wrong = |what: String| Error::Input {
        place: Place {
            path: path.to_path_buf(),
            position: Position::Whole,
        },
        what,
    };
    let names: Vec<String> = schema
        .columns()
        .iter()
        .map(|column| column.path().string())
        .collect();
    let mut kept = Vec::with_capacity(options.fields.len());
    for field in &options.fields {
        let is_below = |name: &String| {
            name.strip_prefix(field.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let below: Vec<usize> = (0..names.len())
            .filter(|&column| is_below(&names[column]))
            .collect();
        let [column] = below[..] else {
            let what = match below.is_empty() {
                true => columns::missing(&format!("column `{field}`"), &names, KEEP),
                false => format!("column `{field}` holds neither values nor lists of values"),
            };
            return Err(wrong(what));
        };
        let descriptor = schema.column(column);
        let physical = descriptor.physical_type();
        if !Spelling::of(&descriptor).reads(physical) {
            let what = format!("column `{field}` holds no strings, numbers or booleans");
            return Err(wrong(what));
        }
        kept.push(column);
    }
    Ok(kept)
}

/// The values of a column in each of the next `rows` rows, as text.
pub(super) fn read(
    column: &mut ColumnReader,
    rows: usize,
    descriptor: &ColumnDescriptor,
) -> std::result::Result<Vec<Vec<Vec<u8>>>, ParquetError> {
    fn of<T: DataType>(
        reader: &mut ColumnReaderImpl<T>,
        rows: usize,
        descriptor: &ColumnDescriptor,
        text: impl Fn(&T::T) -> Vec<u8>,
    ) -> std::result::Result<Vec<Vec<Vec<u8>>>, ParquetError> {
        let (mut values, mut present, mut repeated) = (Vec::new(), Vec::new(), Vec::new());
        let (records, _, _) =
            reader.read_records(rows, Some(&mut present), Some(&mut repeated), &mut values)?;
        let mut values = values.iter().map(text);
        let mut of_rows = Vec::with_capacity(rows);
        // Columns without nulls have no definition levels, and columns without lists no repetition levels.
        let levels = match (descriptor.max_def_level(), descriptor.max_rep_level()) {
            (0, 0) => records,
            (0, _) => repeated.len(),
            _ => present.len(),
        };
        for place in 0..levels {
            if repeated.get(place).is_none_or(|&level| level == 0) {
                of_rows.push(Vec::new());
            }
            let level = present.get(place).copied();
            if level.is_none_or(|level| level == descriptor.max_def_level())
                && let (Some(row), Some(value)) = (of_rows.last_mut(), values.next())
            {
                row.push(value);
            }
        }
        match of_rows.len() == rows {
            true => Ok(of_rows),
            false => Err(ParquetError::General(format!(
                "{} of {rows} rows found",
                of_rows.len()
            ))),
        }
    }
    let spelling = Spelling::of(descriptor);
    match column {
        ColumnReader::ByteArrayColumnReader(reader) => {
            of::<ByteArrayType>(reader, rows, descriptor, |value| {
                spelling.bytes(value.data())
            })
        }
        ColumnReader::FixedLenByteArrayColumnReader(reader) => {
            of::<FixedLenByteArrayType>(reader, rows, descriptor, |value| {
                spelling.bytes(value.data())
            })
        }
        ColumnReader::BoolColumnReader(reader) => {
            of::<BoolType>(reader, rows, descriptor, |value| value.to_string().into())
        }
        ColumnReader::Int32ColumnReader(reader) => {
            of::<Int32Type>(reader, rows, descriptor, |&value| spelling.int32(value))
        }
        ColumnReader::Int64ColumnReader(reader) => {
            of::<Int64Type>(reader, rows, descriptor, |&value| spelling.int64(value))
        }
        // Adding zero turns negative zero into zero.
        ColumnReader::FloatColumnReader(reader) => {
            of::<FloatType>(reader, rows, descriptor, |value| {
                (value + 0.0).to_string().into()
            })
        }
        ColumnReader::DoubleColumnReader(reader) => {
            of::<DoubleType>(reader, rows, descriptor, |value| {
                (value + 0.0).to_string().into()
            })
        }
        // Timestamps of older writers: nanoseconds, without a time zone.
        ColumnReader::Int96ColumnReader(reader) => {
            let spelling = Spelling::Timestamp {
                per_second: 1_000_000_000,
                utc: false,
            };
            of::<Int96Type>(reader, rows, descriptor, |value| {
                spelling.int64(value.to_nanos())
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parquet::data_type::ByteArray;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    use crate::corpus::{Corpus, CorpusOptions};

    /// Three rows with nulls, empty lists and lists of nulls.
    fn file() -> Vec<u8> {
        let schema = "message m {
            required binary id (UTF8);
            required binary text (UTF8);
            optional group tags (LIST) { repeated group list { optional binary element (UTF8); } }
            optional boolean ok;
            required double size;
            repeated int32 year;
            required int32 day (DATE);
            required fixed_len_byte_array(2) price (DECIMAL(4, 2));
            required fixed_len_byte_array(16) key (UUID);
            required int64 seen (TIMESTAMP(MICROS, true));
            required int96 old;
        }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let mut writer = SerializedFileWriter::new(Vec::new(), schema, Default::default()).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let text = |values: &[&str]| -> Vec<ByteArray> {
            values.iter().map(|&value| ByteArray::from(value)).collect()
        };
        macro_rules! write {
            ($type:ty, $values:expr, $present:expr, $repeated:expr) => {{
                let mut column = group.next_column().unwrap().unwrap();
                let typed = column.typed::<$type>();
                typed.write_batch($values, $present, $repeated).unwrap();
                column.close().unwrap();
            }};
        }
        use parquet::data_type::{
            BoolType, ByteArrayType, DoubleType, FixedLenByteArray, FixedLenByteArrayType,
            Int32Type, Int64Type, Int96, Int96Type,
        };
        write!(ByteArrayType, &text(&["a", "b", "c"]), None, None);
        write!(ByteArrayType, &text(&["x", "y", "z"]), None, None);
        // [p, null, q], null, []
        let levels = (Some(&[3, 2, 3, 0, 1][..]), Some(&[0, 1, 1, 0, 0][..]));
        write!(ByteArrayType, &text(&["p", "q"]), levels.0, levels.1);
        write!(BoolType, &[true, false], Some(&[1, 0, 1]), None);
        write!(DoubleType, &[1.0, 0.5, -2e9], None, None);
        let levels = (Some(&[0, 1, 1, 1][..]), Some(&[0, 0, 1, 0][..]));
        write!(Int32Type, &[1999, 2000, 7], levels.0, levels.1);
        write!(Int32Type, &[0, 1, 2], None, None);
        let fixed = |bytes: Vec<u8>| FixedLenByteArray::from(bytes);
        let prices = [vec![0, 250], vec![0xff, 0xff], vec![0, 0]].map(fixed);
        write!(FixedLenByteArrayType, &prices, None, None);
        let keys = [1, 2, 3].map(|byte| fixed(vec![byte; 16]));
        write!(FixedLenByteArrayType, &keys, None, None);
        write!(Int64Type, &[0, 1_500_000, 2_000_000], None, None);
        // Nanoseconds of the day, low word first, and the Julian day.
        let old = [2_440_588, 2_440_589, 2_440_590].map(|day| Int96::from(vec![0, 0, day]));
        write!(Int96Type, &old, None, None);
        group.close().unwrap();
        writer.into_inner().unwrap()
    }

    #[test]
    fn values_nulls_and_lists() {
        let fields = ["tags", "ok", "size", "year"].map(String::from);
        let options = |fields: &[String]| CorpusOptions::default().fields(fields.to_vec());
        let mut corpus = Corpus::from_bytes("x.parquet", file(), options(&fields));
        let (chunk, _) = corpus.next_chunk().unwrap().unwrap();
        let values = |document: usize| -> Vec<(usize, &str)> {
            let values = chunk.values(document);
            values
                .map(|value| (value.field, std::str::from_utf8(value.text).unwrap()))
                .collect()
        };
        assert_eq!(values(0), [(0, "p"), (0, "q"), (1, "true"), (2, "1")]);
        assert_eq!(values(1), [(2, "0.5"), (3, "1999"), (3, "2000")]);
        assert_eq!(values(2), [(1, "false"), (2, "-2000000000"), (3, "7")]);
        let fields = ["day", "price", "key", "seen", "old"].map(String::from);
        let mut corpus = Corpus::from_bytes("x.parquet", file(), options(&fields));
        let (chunk, _) = corpus.next_chunk().unwrap().unwrap();
        let values = chunk
            .values(1)
            .map(|value| std::str::from_utf8(value.text).unwrap());
        let expected = [
            "1970-01-02",
            "-0.01",
            "02020202-0202-0202-0202-020202020202",
            "1970-01-01T00:00:01.500Z",
            "1970-01-02T00:00:00",
        ];
        assert_eq!(values.collect::<Vec<_>>(), expected);
        let lists = CorpusOptions::default().text_fields(["text", "tags"]);
        let mut corpus = Corpus::from_bytes("x.parquet", file(), lists);
        let (joined, _) = corpus.next_chunk().unwrap().unwrap();
        let text = |document: usize| std::str::from_utf8(joined.text(document)).unwrap();
        assert_eq!([0, 1, 2].map(text), ["x p q", "y ", "z "]);
        for unknown in ["tag", "none"] {
            let mut corpus = Corpus::from_bytes("x.parquet", file(), options(&[unknown.into()]));
            let error = corpus.next_chunk().unwrap_err().to_string();
            assert!(error.contains("tags.list.element"), "{error}");
        }
    }
}
