//! The sinks of blocks: a stream, a folder, or a Parquet file.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use parquet::basic::{Compression as Codec, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use super::block::Block;
use super::format::id;
use crate::parquet_error::into_io;
use tokapi_storage::compress::{Compression, Effort};

/// Text in one row group of a Parquet file.
const ROW_GROUP_BYTES: usize = 64 << 20;

/// A stream that threads may hand to one another.
pub(super) type Stream<'a> = &'a mut (dyn Write + Send);

/// The work of a thread on its block, before its turn to write.
pub(super) enum Packing {
    /// Compression, if any. The fastest level is enough for made-up text.
    Stream(Compression),
    /// A file for every document, in this folder.
    Files(PathBuf),
}

impl Packing {
    pub(super) fn compresses(&self) -> bool {
        matches!(self, Self::Stream(Compression::Gzip | Compression::Zstd))
    }

    /// Packs the block, into `packed` if a sink is to write it.
    pub(super) fn pack(&self, block: &Block, packed: &mut Vec<u8>) -> io::Result<()> {
        packed.clear();
        match self {
            Self::Stream(Compression::None) => Ok(()),
            Self::Stream(compression) => compression.pack(block.text(), Effort::Fast, packed),
            Self::Files(folder) => {
                for (number, document) in (block.first..).zip(&block.documents) {
                    let path = folder.join(format!("{}.txt", id(number)));
                    std::fs::write(path, block.text_of(document))?;
                }
                Ok(())
            }
        }
    }
}

/// The sink that takes the blocks in order.
pub(super) enum Sink<'a> {
    /// The text, unchanged.
    Text(Stream<'a>),
    /// The packed bytes.
    Packed(Stream<'a>),
    /// Nothing: packing wrote the files.
    Files,
    /// Rows of a Parquet file.
    Parquet(Box<Rows<'a>>),
}

impl Sink<'_> {
    pub(super) fn write(&mut self, block: &Block, packed: &[u8]) -> io::Result<()> {
        match self {
            Self::Text(stream) => stream.write_all(block.text()),
            Self::Packed(stream) => stream.write_all(packed),
            Self::Files => Ok(()),
            Self::Parquet(rows) => rows.push(block),
        }
    }

    /// Writes the buffered rows.
    pub(super) fn finish(self) -> io::Result<()> {
        match self {
            Self::Text(stream) | Self::Packed(stream) => stream.flush(),
            Self::Files => Ok(()),
            Self::Parquet(rows) => rows.finish(),
        }
    }
}

/// The rows of a Parquet file, written a row group at a time.
pub(super) struct Rows<'a> {
    writer: SerializedFileWriter<Stream<'a>>,
    ids: Vec<ByteArray>,
    contents: Vec<ByteArray>,
    held_bytes: usize,
}

impl<'a> Rows<'a> {
    pub(super) fn new(stream: Stream<'a>) -> io::Result<Self> {
        let schema =
            "message collection { required binary id (UTF8); required binary contents (UTF8); }";
        let schema = parse_message_type(schema).map_err(into_io)?;
        let properties = WriterProperties::builder()
            .set_compression(Codec::ZSTD(ZstdLevel::default()))
            .set_dictionary_enabled(false)
            // The minimum and maximum of random texts help no reader.
            .set_statistics_enabled(parquet::file::properties::EnabledStatistics::None)
            .build();
        let writer = SerializedFileWriter::new(stream, Arc::new(schema), Arc::new(properties));
        let writer = writer.map_err(into_io)?;
        Ok(Self {
            writer,
            ids: Vec::new(),
            contents: Vec::new(),
            held_bytes: 0,
        })
    }

    fn push(&mut self, block: &Block) -> io::Result<()> {
        for (number, document) in (block.first..).zip(&block.documents) {
            let text = block.text_of(document);
            self.ids.push(ByteArray::from(id(number).into_bytes()));
            self.contents.push(ByteArray::from(text.to_vec()));
            self.held_bytes += text.len();
        }
        if self.held_bytes >= ROW_GROUP_BYTES {
            self.write_group().map_err(into_io)?;
        }
        Ok(())
    }

    fn write_group(&mut self) -> parquet::errors::Result<()> {
        let mut group = self.writer.next_row_group()?;
        for values in [&mut self.ids, &mut self.contents] {
            if let Some(mut column) = group.next_column()? {
                column
                    .typed::<ByteArrayType>()
                    .write_batch(values, None, None)?;
                column.close()?;
            }
            values.clear();
        }
        group.close()?;
        self.held_bytes = 0;
        Ok(())
    }

    fn finish(mut self) -> io::Result<()> {
        if !self.ids.is_empty() {
            self.write_group().map_err(into_io)?;
        }
        let stream = self.writer.into_inner().map_err(into_io)?;
        stream.flush()
    }
}
