//! Small files, opened when their block is parsed. Opening one takes longer than reading it, so the parsing threads
//! open them in parallel.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::decode;
use super::inputs::Input;
use super::records::Records;
use super::source::Source;
use tokapi_storage::compress::Compression;
use tokapi_storage::error::{Error, Place, Position, Result};
use tokapi_storage::progress::Progress;

/// Larger files are read when the block is filled.
const SMALL_BYTES: u64 = 1 << 14;

/// The largest size after decompression of a small file whose name tells of no compression.
const MOST_BYTES: usize = 64 << 20;

/// A file that fits into one block.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct SmallFile {
    #[serde(with = "tokapi_storage::paths")]
    pub path: PathBuf,
    pub bytes: usize,
    #[serde(skip)]
    progress: Progress,
}

impl SmallFile {
    /// The file of `input`, if it is small and its name tells of no compression. Parquet does not count: it is
    /// compressed inside.
    pub fn of(input: &Input, progress: &Progress) -> Option<Self> {
        let is_small = input.is_seekable() && input.bytes <= SMALL_BYTES;
        let is_parquet = input.path.extension().is_some_and(|end| end == "parquet");
        let is_plain = Compression::of_name(&input.path) == Compression::None && !is_parquet;
        (is_small && is_plain && input.spooled.is_none()).then(|| SmallFile {
            path: input.path.clone(),
            // At most `SMALL_BYTES`.
            bytes: input.bytes as usize,
            progress: progress.clone(),
        })
    }

    /// Adds the content to `records`.
    ///
    /// # Errors
    /// The file cannot be read, or has no readable format.
    pub fn read_into(self, records: &mut Records) -> Result<()> {
        let read = std::fs::read(&self.path);
        let read = read.map_err(|source| decode::failed(&self.path, false, 0, source))?;
        let input = Input {
            path: self.path,
            bytes: read.len() as u64,
            memory: Some(read.into()),
            spooled: None,
            holds_documents: false,
        };
        let mut source = Source::open(&input, &records.options, &self.progress)?;
        let before = records.len();
        loop {
            let has_more = source.read_into(records, &self.progress)?;
            if records.len() - before > MOST_BYTES {
                return Err(Error::Input {
                    place: Place {
                        path: input.path,
                        position: Position::Whole,
                    },
                    what: "it is compressed, and its name does not say so; name it .gz, .zst or .parquet"
                        .into(),
                });
            }
            if !has_more {
                return Ok(());
            }
            records.widen();
        }
    }
}
