//! A column of a row group: dictionary and compressed pages, with the footer's data about them.

use std::sync::Arc;

use parquet::basic::{Compression, Encoding, PageType, ZstdLevel};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, PageEncodingStats};
use parquet::file::statistics::Statistics as ColumnStatistics;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

/// The zstd level: 1 compresses the weights as well as 3 does, in half the time.
const ZSTD_LEVEL: i32 = 1;

/// An encoded column of a row group.
pub(super) struct Column {
    pub bytes: bytes::Bytes,
    pub close: ColumnCloseResult,
}

/// A column of a row group, page by page.
pub(super) struct ColumnBuilder {
    column: ColumnDescPtr,
    sink: TrackedWrite<Vec<u8>>,
    compressor: Option<zstd::bulk::Compressor<'static>>,
    uncompressed_bytes: usize,
    dictionary_end: Option<usize>,
    data_encoding: Encoding,
    data_pages: i32,
    pub statistics: Option<ColumnStatistics>,
}

impl ColumnBuilder {
    pub(super) fn new(column: &ColumnDescPtr) -> Self {
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

    /// Adds the dictionary, before all pages.
    pub(super) fn dictionary(
        &mut self,
        bytes: &[u8],
        values: usize,
    ) -> std::result::Result<(), ParquetError> {
        let size = bytes.len();
        let page = Page::DictionaryPage {
            buf: self.compress(bytes)?.into(),
            num_values: u32::try_from(values)?,
            encoding: Encoding::PLAIN,
            is_sorted: true,
        };
        self.add(page, size)?;
        self.dictionary_end = Some(self.sink.bytes_written());
        Ok(())
    }

    /// Adds a page of `rows` values. It is stored uncompressed if compression gains nothing.
    pub(super) fn page(
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

    pub(super) fn finish(self, rows: usize) -> std::result::Result<Column, ParquetError> {
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
