//! Weights as Parquet: `term`, `doc`, `tf`, `weight`, by term, then by document.
//!
//! The crate `parquet` writes headers and footer; the pages are encoded here, because a posting's
//! dictionary index is known beforehand (its term, its document) and need not be found again by
//! hashing its string, as a general writer must. Row groups are independent: all threads encode
//! them, one writes them out in order.

use std::io::Write;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use super::encode;
use super::{Output, Staged};
use crate::collection::{Documents, Weights};
use crate::error::{Error, Result};
use crate::external::External;
use crate::lexicon::Lexicon;
use crate::pipeline::Stages;
use crate::ranks::Ranks;
use crate::strings::Strings;
use crate::weigh::Bm25;
use parquet::basic::{Compression, Encoding, PageType, ZstdLevel};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, PageEncodingStats};
use parquet::file::properties::WriterProperties;
use parquet::file::statistics::Statistics as ColumnStatistics;
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnDescPtr, SchemaDescriptor, TypePtr};

/// Rows of a row group. Readers skip row groups by term; each repeats the ids it uses.
const ROW_GROUP_ROWS: usize = 1 << 20;
/// Rows of a page.
const PAGE_ROWS: usize = 1 << 17;
/// The zstd level: 1 packs the weights as well as 3 does, in half the time.
const ZSTD_LEVEL: i32 = 1;
/// A longer term is left out of the statistics.
const MAX_STATISTIC_BYTES: usize = 256;

const WEIGHTS: &str = "message weights {
    required byte_array term (STRING); required byte_array doc (STRING);
    required int32 tf (INTEGER(32, false)); required float weight; }";
const DOCUMENTS: &str = "message documents {
    required byte_array doc (STRING); required int32 length (INTEGER(32, false)); }";
const TERMS: &str = "message terms {
    required byte_array term (STRING); required int64 df (INTEGER(64, false)); }";

/// Writes the weights, and the tables where `output` asks for them.
pub(super) fn write(weights: &Weights, output: &Output) -> Result<Vec<Staged>> {
    let mut files = vec![
        File {
            path: output.path.clone(),
            schema: WEIGHTS,
        }
        .write_rows(weights.len(), |rows, columns| {
            weights_group(weights, rows, columns)
        })?,
    ];
    if output.tables {
        let Weights {
            documents, lexicon, ..
        } = weights;
        let file = File {
            path: output.beside("docs.parquet"),
            schema: DOCUMENTS,
        };
        files.push(file.write_rows(documents.len(), |rows, columns| {
            let length = |row: usize| documents.lengths[row].to_le_bytes();
            table_group(&documents.ids, length, rows, columns)
        })?);
        let file = File {
            path: output.beside("terms.parquet"),
            schema: TERMS,
        };
        files.push(file.write_rows(lexicon.terms.len(), |rows, columns| {
            let df = |row: usize| lexicon.df[row].to_le_bytes();
            table_group(&lexicon.terms, df, rows, columns)
        })?);
    }
    Ok(files)
}

/// As [`write`], from scratch. Gives also the number of terms.
pub(super) fn write_external(
    external: &External,
    bm25: &Bm25,
    output: &Output,
) -> Result<(Vec<Staged>, u64)> {
    let file = File {
        path: output.path.clone(),
        schema: WEIGHTS,
    };
    let stages = external.stages();
    let mut tasks = external.tasks(ROW_GROUP_ROWS)?;
    let mut terms = external.new_terms()?;
    let encode = |task, columns: &[ColumnDescPtr]| {
        let (weights, new_terms) = external.weigh(task, bm25)?;
        let group = match weights.is_empty() {
            true => Ok(Vec::new()),
            false => weights_group(&weights, 0..weights.len(), columns),
        };
        Ok((group, (weights.lexicon, new_terms)))
    };
    let mut files = vec![file.write(
        stages,
        || tasks.next(),
        encode,
        |(lexicon, new_terms)| terms.push(&lexicon, new_terms),
    )?];
    let count = terms.len();
    if output.tables {
        let file = File {
            path: output.beside("docs.parquet"),
            schema: DOCUMENTS,
        };
        let encode = |documents: Documents, columns: &[ColumnDescPtr]| {
            let length = |row: usize| documents.lengths[row].to_le_bytes();
            let group = table_group(&documents.ids, length, 0..documents.len(), columns);
            Ok((group, ()))
        };
        let next = external.document_batches(ROW_GROUP_ROWS);
        files.push(file.write(stages, next, encode, Ok)?);
        let file = File {
            path: output.beside("terms.parquet"),
            schema: TERMS,
        };
        let mut terms = terms.finish()?;
        let encode = |lexicon: Lexicon, columns: &[ColumnDescPtr]| {
            let df = |row: usize| lexicon.df[row].to_le_bytes();
            let group = table_group(&lexicon.terms, df, 0..lexicon.df.len(), columns);
            Ok((group, ()))
        };
        files.push(file.write(stages, || terms.next(ROW_GROUP_ROWS), encode, Ok)?);
    }
    Ok((files, count))
}

type Encoded = std::result::Result<Vec<Column>, ParquetError>;

/// The rows `0..rows`, a row group at a time.
fn groups(rows: usize) -> impl FnMut() -> Result<Option<Range<usize>>> + Send {
    let mut from = 0;
    move || {
        let group = from..rows.min(from + ROW_GROUP_ROWS);
        from = group.end;
        Ok((!group.is_empty()).then_some(group))
    }
}

/// A Parquet file on its way out.
struct File {
    path: PathBuf,
    schema: &'static str,
}

impl File {
    /// Writes the row groups that `encode` makes of what `next` gives; what it makes beside goes to
    /// `also`, in order.
    fn write<I: Send, E: Send>(
        &self,
        stages: Stages,
        next: impl FnMut() -> Result<Option<I>> + Send,
        encode: impl Fn(I, &[ColumnDescPtr]) -> Result<(Encoded, E)> + Sync,
        mut also: impl FnMut(E) -> Result<()>,
    ) -> Result<Staged> {
        let mut staged = Staged::create(&self.path)?;
        let failed = |error: ParquetError| Error::writing(&self.path)(into_io(error));
        let schema: TypePtr = Arc::new(parse_message_type(self.schema).map_err(failed)?);
        let columns = SchemaDescriptor::new(Arc::clone(&schema))
            .columns()
            .to_vec();
        let mut writer = SerializedFileWriter::new(&mut staged, schema, Arc::new(properties()))
            .map_err(failed)?;
        let worker = || {
            |group: I| {
                let (encoded, more) = encode(group, &columns)?;
                Ok((encoded.map_err(failed)?, more))
            }
        };
        let write = |(columns, more): (Vec<Column>, E)| {
            append(&mut writer, columns).map_err(failed)?;
            also(more)
        };
        stages.run(next, worker, write)?;
        writer.close().map_err(failed)?;
        Ok(staged)
    }

    /// Writes `rows` rows, which `encode` gives a row group at a time.
    fn write_rows(
        &self,
        rows: usize,
        encode: impl Fn(Range<usize>, &[ColumnDescPtr]) -> Encoded + Sync,
    ) -> Result<Staged> {
        let encode =
            |rows: Range<usize>, columns: &[ColumnDescPtr]| Ok((encode(rows, columns), ()));
        self.write(Stages::of_pool(), groups(rows), encode, Ok)
    }
}

/// The system's error behind that of the Parquet writer, where there is one.
pub(crate) fn into_io(error: ParquetError) -> std::io::Error {
    match error {
        ParquetError::External(source) => match source.downcast::<std::io::Error>() {
            Ok(source) => *source,
            Err(source) => std::io::Error::other(source),
        },
        other => std::io::Error::other(other),
    }
}

fn properties() -> WriterProperties {
    WriterProperties::builder()
        .set_created_by(concat!("tokapi ", env!("CARGO_PKG_VERSION")).to_owned())
        .build()
}

/// Appends an encoded row group to the file.
fn append<W: Write + Send>(
    writer: &mut SerializedFileWriter<W>,
    columns: Vec<Column>,
) -> std::result::Result<(), ParquetError> {
    if columns.is_empty() {
        return Ok(());
    }
    let mut group = writer.next_row_group()?;
    for column in columns {
        group.append_column(&column.bytes, column.close)?;
    }
    group.close()?;
    Ok(())
}

/// One row group of the weights.
fn weights_group(weights: &Weights, rows: Range<usize>, columns: &[ColumnDescPtr]) -> Encoded {
    let first_term = weights
        .offsets
        .partition_point(|&offset| offset <= rows.start as u64)
        - 1;
    let end_term = weights
        .offsets
        .partition_point(|&offset| offset < rows.end as u64);
    let documents = &weights.posting_documents[rows.clone()];
    let tfs = weights.frequencies.expand(rows.clone());

    let terms = &weights.lexicon.terms;
    let mut term = ColumnBuilder::new(&columns[0]);
    term.dictionary(
        encode::strings((first_term..end_term).map(|t| terms.get(t))),
        end_term - first_term,
    )?;
    let (low, high) = (terms.get(first_term), terms.get(end_term - 1));
    if low.len().max(high.len()) <= MAX_STATISTIC_BYTES {
        let (low, high) = (
            ByteArray::from(low.to_vec()),
            ByteArray::from(high.to_vec()),
        );
        term.statistics = Some(ColumnStatistics::byte_array(
            Some(low),
            Some(high),
            None,
            Some(0),
            false,
        ));
    }
    let mut runs = encode::Runs::new(&weights.offsets, first_term, rows.start);
    for page in pages(rows.len()) {
        let width = encode::width(end_term - first_term);
        term.page(
            runs.take(page.len(), width),
            page.len(),
            Encoding::RLE_DICTIONARY,
        )?;
    }

    let mut doc = ColumnBuilder::new(&columns[1]);
    let ranks = Ranks::new(documents, weights.documents.len());
    doc.dictionary(
        encode::strings(ranks.members().map(|d| weights.documents.ids.get(d))),
        ranks.len(),
    )?;
    for page in pages(rows.len()) {
        let indices = documents[page.clone()]
            .iter()
            .map(|&document| ranks.rank(document));
        doc.page(
            encode::bit_packed(indices, encode::width(ranks.len())),
            page.len(),
            Encoding::RLE_DICTIONARY,
        )?;
    }

    let mut tf = ColumnBuilder::new(&columns[2]);
    let mut distinct = tfs.clone();
    distinct.sort_unstable();
    distinct.dedup();
    tf.dictionary(
        distinct.iter().flat_map(|tf| tf.to_le_bytes()).collect(),
        distinct.len(),
    )?;
    // Nearly all frequencies are small: their place in the dictionary is looked up, not sought.
    let small: Vec<u32> = (0..256)
        .map(|tf| distinct.partition_point(|&known| known < tf) as u32)
        .collect();
    let place = |tf: u32| match small.get(tf as usize) {
        Some(&place) => place,
        None => distinct.partition_point(|&known| known < tf) as u32,
    };
    for page in pages(rows.len()) {
        let indices = tfs[page.clone()].iter().map(|&tf| place(tf));
        tf.page(
            encode::bit_packed(indices, encode::width(distinct.len())),
            page.len(),
            Encoding::RLE_DICTIONARY,
        )?;
    }

    let mut weight = ColumnBuilder::new(&columns[3]);
    let of_rows = &weights.weights[rows.clone()];
    for page in pages(rows.len()) {
        weight.page(
            encode::byte_stream_split(&of_rows[page.clone()]),
            page.len(),
            Encoding::BYTE_STREAM_SPLIT,
        )?;
    }
    [term, doc, tf, weight]
        .into_iter()
        .map(|column| column.finish(rows.len()))
        .collect()
}

/// One row group of a table: names, and a number for each as its bytes.
fn table_group<const N: usize>(
    names: &Strings,
    number: impl Fn(usize) -> [u8; N],
    rows: Range<usize>,
    columns: &[ColumnDescPtr],
) -> Encoded {
    let mut name = ColumnBuilder::new(&columns[0]);
    let mut numbers = ColumnBuilder::new(&columns[1]);
    for page in pages(rows.len()) {
        let page = rows.start + page.start..rows.start + page.end;
        let values = encode::strings(page.clone().map(|row| names.get(row)));
        name.page(values, page.len(), Encoding::PLAIN)?;
        let values = page.clone().flat_map(&number).collect();
        numbers.page(values, page.len(), Encoding::PLAIN)?;
    }
    [name, numbers]
        .into_iter()
        .map(|column| column.finish(rows.len()))
        .collect()
}

/// The rows of every page, counted from the start of the row group.
fn pages(rows: usize) -> impl Iterator<Item = Range<usize>> {
    (0..rows)
        .step_by(PAGE_ROWS)
        .map(move |from| from..rows.min(from + PAGE_ROWS))
}

/// An encoded column of a row group.
struct Column {
    bytes: bytes::Bytes,
    close: ColumnCloseResult,
}

/// A column of a row group, page by page.
struct ColumnBuilder {
    column: ColumnDescPtr,
    sink: TrackedWrite<Vec<u8>>,
    compressor: Option<zstd::bulk::Compressor<'static>>,
    uncompressed_bytes: usize,
    dictionary_end: Option<usize>,
    data_encoding: Encoding,
    data_pages: i32,
    statistics: Option<ColumnStatistics>,
}

impl ColumnBuilder {
    fn new(column: &ColumnDescPtr) -> Self {
        ColumnBuilder {
            column: Arc::clone(column),
            sink: TrackedWrite::new(Vec::new()),
            compressor: None,
            uncompressed_bytes: 0,
            dictionary_end: None,
            data_encoding: Encoding::PLAIN,
            data_pages: 0,
            statistics: None,
        }
    }

    /// Adds the dictionary; it comes before all pages.
    fn dictionary(
        &mut self,
        bytes: Vec<u8>,
        values: usize,
    ) -> std::result::Result<(), ParquetError> {
        let size = bytes.len();
        let page = Page::DictionaryPage {
            buf: self.compress(&bytes)?.into(),
            num_values: u32::try_from(values)?,
            encoding: Encoding::PLAIN,
            is_sorted: true,
        };
        self.add(page, size)?;
        self.dictionary_end = Some(self.sink.bytes_written());
        Ok(())
    }

    /// Adds a page of `rows` values; stored as it is where compression gains nothing.
    fn page(
        &mut self,
        bytes: Vec<u8>,
        rows: usize,
        encoding: Encoding,
    ) -> std::result::Result<(), ParquetError> {
        let size = bytes.len();
        let compressed = self.compress(&bytes)?;
        let is_compressed = compressed.len() < size - size / 32;
        let rows = u32::try_from(rows)?;
        let page = Page::DataPageV2 {
            buf: if is_compressed { compressed } else { bytes }.into(),
            num_values: rows,
            encoding,
            num_nulls: 0,
            num_rows: rows,
            def_levels_byte_len: 0,
            rep_levels_byte_len: 0,
            is_compressed,
            statistics: None,
        };
        self.data_encoding = encoding;
        self.data_pages += 1;
        self.add(page, size)
    }

    fn compress(&mut self, bytes: &[u8]) -> std::io::Result<Vec<u8>> {
        if self.compressor.is_none() {
            self.compressor = Some(zstd::bulk::Compressor::new(ZSTD_LEVEL)?);
        }
        match &mut self.compressor {
            Some(compressor) => compressor.compress(bytes),
            None => Ok(bytes.to_vec()),
        }
    }

    fn add(&mut self, page: Page, size: usize) -> std::result::Result<(), ParquetError> {
        // Headers count in 32 bits.
        i32::try_from(size)?;
        let spec = SerializedPageWriter::new(&mut self.sink)
            .write_page(CompressedPage::new(page, size))?;
        self.uncompressed_bytes += spec.uncompressed_size;
        Ok(())
    }

    fn finish(self, rows: usize) -> std::result::Result<Column, ParquetError> {
        let bytes = self.sink.into_inner()?;
        let mut encodings = vec![self.data_encoding];
        let mut pages = vec![PageEncodingStats {
            page_type: PageType::DATA_PAGE_V2,
            encoding: self.data_encoding,
            count: self.data_pages,
        }];
        if self.dictionary_end.is_some() {
            encodings.push(Encoding::PLAIN);
            pages.push(PageEncodingStats {
                page_type: PageType::DICTIONARY_PAGE,
                encoding: Encoding::PLAIN,
                count: 1,
            });
        }
        let mut metadata = ColumnChunkMetaData::builder(self.column)
            .set_encodings(encodings)
            .set_page_encoding_stats(pages)
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?))
            .set_num_values(i64::try_from(rows)?)
            .set_total_compressed_size(i64::try_from(bytes.len())?)
            .set_total_uncompressed_size(i64::try_from(self.uncompressed_bytes)?)
            .set_dictionary_page_offset(self.dictionary_end.map(|_| 0))
            .set_data_page_offset(i64::try_from(self.dictionary_end.unwrap_or(0))?);
        if let Some(statistics) = self.statistics {
            metadata = metadata.set_statistics(statistics);
        }
        Ok(Column {
            close: ColumnCloseResult {
                bytes_written: bytes.len() as u64,
                rows_written: rows as u64,
                metadata: metadata.build()?,
                bloom_filter: None,
                column_index: None,
                offset_index: None,
            },
            bytes: bytes.into(),
        })
    }
}
