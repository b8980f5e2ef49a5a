//! Export of an index as a CIFF file.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use super::{VERSION, document, header, list, posting, wire};
use crate::Index;
use crate::exchange::live::{Exported, Live};
use tokapi_storage::compress::{Compression, Effort};
use tokapi_storage::error::{Error, Result};
use tokapi_storage::progress::{Progress, Stage};
use tokapi_storage::whole::Staged;

/// Bytes that are compressed together and written at a time.
const PIECE_BYTES: usize = 1 << 20;

impl Index {
    /// Exports the whole index to a file in the Common Index File Format, compressed if its name
    /// ends in `.gz` or `.zst`. Deleted documents are left out. `progress` counts postings.
    ///
    /// An index of impacts exports them as tfs, for engines that add them up; the header says so.
    /// The format stores the size of a list before the list, which takes 6 to 9 bytes a posting.
    /// So a large list goes first to an unnamed file beside the output.
    ///
    /// # Errors
    /// The index is damaged; the file cannot be written; a number exceeds the 31 bits that the
    /// format has for it.
    pub fn export_ciff(&self, path: &Path, progress: &Progress) -> Result<Exported> {
        let live = Live::new(self, "CIFF", progress)?;
        let mut file = Pieces::create(path)?;
        progress.begin(Stage::Writing, self.info().postings);
        let terms = live.count_terms()?;
        file.write_message(&self.header(terms)?)?;
        let postings = write_lists(&live, &mut file, progress)?;
        let mut number = 0;
        let mut record = Vec::new();
        live.each_document(|id, length| {
            record.clear();
            wire::push_number(document::NUMBER, number, &mut record);
            wire::push_bytes(document::ID, id, &mut record);
            let length = narrow(length.into(), || "the length of a document".into())?;
            wire::push_number(document::LENGTH, length, &mut record);
            number += 1;
            file.write_message(&record)
        })?;
        file.commit()?;
        Ok(Exported {
            documents: number,
            terms,
            postings,
        })
    }

    fn header(&self, terms: u64) -> Result<Vec<u8>> {
        let statistics = self.statistics();
        let terms = narrow(terms, || "the number of terms".into())?;
        let mut bytes = Vec::new();
        for (field, number) in [
            (header::VERSION, VERSION),
            (header::LISTS, terms),
            (header::DOCUMENTS, statistics.documents),
            (header::ALL_LISTS, terms),
            (header::ALL_DOCUMENTS, statistics.documents),
            (header::TOTAL_LENGTH, statistics.total_length),
        ] {
            wire::push_number(field, number, &mut bytes);
        }
        let average = statistics.average_length();
        if average.is_finite() {
            wire::push_double(header::AVERAGE_LENGTH, average, &mut bytes);
        }
        let (version, analyzer) = (env!("CARGO_PKG_VERSION"), self.analyzer().description());
        let mut description = format!("tokapi {version}: {analyzer}");
        if let Some(impacts) = self.impacts() {
            description += &format!("; tfs are impacts by {}", impacts.bm25);
        }
        wire::push_bytes(header::DESCRIPTION, description.as_bytes(), &mut bytes);
        Ok(bytes)
    }
}

/// Bytes of a list that are held in memory. This is a multiple of the piece size, so the
/// compressed pieces do not depend on it.
const HELD_BYTES: usize = 16 * PIECE_BYTES;

/// Writes every list. Returns the number of postings.
fn write_lists(live: &Live<'_>, file: &mut Pieces, progress: &Progress) -> Result<u64> {
    let mut lists = live.lists()?;
    let (mut term, mut front) = (Vec::new(), Vec::new());
    let path = file.file.path().to_path_buf();
    let mut list = List {
        path: &path,
        file: None,
        file_bytes: 0,
        bytes: Vec::new(),
    };
    let mut count = 0;
    while let Some(df) = lists.next_term(&mut term)? {
        let (mut cf, mut before) = (0, 0);
        while let Some((documents, tfs)) = lists.next_postings()? {
            for (&document, &tf) in documents.iter().zip(tfs) {
                push_posting(document - before, tf, &mut list.bytes);
                before = document;
                cf += u64::from(tf);
            }
            if let Some(&tf) = tfs.iter().find(|&&tf| i32::try_from(tf).is_err()) {
                narrow(tf.into(), || format!("a tf of {}", text(&term)))?;
            }
            list.spill().map_err(|source| file.file.failed(source))?;
        }
        front.clear();
        wire::push_bytes(list::TERM, &term, &mut front);
        wire::push_number(list::DF, df, &mut front);
        wire::push_number(list::CF, cf, &mut front);
        let bytes = narrow(front.len() as u64 + list.len(), || {
            format!("the size of the list of {}", text(&term))
        })?;
        // Numbers have at most 31 bits.
        wire::push_length_of(bytes as usize, &mut file.bytes);
        file.write(&front)?;
        list.move_to(file)?;
        count += df;
        progress.add(df);
    }
    Ok(count)
}

/// A list that is held until its size is known.
struct List<'a> {
    /// The total size in bytes.
    path: &'a Path,
    /// The first part of a large list, in a file, and its size in bytes.
    file: Option<File>,
    file_bytes: u64,
    /// The remaining bytes, in memory.
    bytes: Vec<u8>,
}

impl List<'_> {
    fn len(&self) -> u64 {
        self.file_bytes + self.bytes.len() as u64
    }

    /// Moves the bytes in memory to the file if there are many.
    fn spill(&mut self) -> io::Result<()> {
        if self.bytes.len() < HELD_BYTES {
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(match self.path.parent() {
                Some(folder) if folder.is_dir() => tempfile::tempfile_in(folder)?,
                _ => tempfile::tempfile_in(".")?,
            }),
        };
        file.write_all(&self.bytes[..HELD_BYTES])?;
        self.file_bytes += HELD_BYTES as u64;
        self.bytes.drain(..HELD_BYTES);
        Ok(())
    }

    /// Moves the whole list to `to`.
    fn move_to(&mut self, to: &mut Pieces) -> Result<()> {
        if let Some(mut file) = self.file.take() {
            file.rewind().map_err(|source| to.file.failed(source))?;
            let mut left = std::mem::take(&mut self.file_bytes);
            while left > 0 {
                // At most a piece.
                let mut piece = vec![0; left.min(PIECE_BYTES as u64) as usize];
                let read = file.read_exact(&mut piece);
                read.map_err(|source| to.file.failed(source))?;
                to.write(&piece)?;
                left -= piece.len() as u64;
            }
        }
        to.write(&self.bytes)?;
        self.bytes.clear();
        Ok(())
    }
}

/// Adds a posting as a field of its list.
#[inline]
fn push_posting(gap: u32, tf: u32, list: &mut Vec<u8>) {
    // Most numbers are small: all bytes are written at once.
    if let (1..0x80, 1..0x80) = (gap, tf) {
        list.extend_from_slice(&[
            posting::TAG,
            posting::USUAL_BYTES,
            posting::DOCUMENT_TAG,
            gap as u8,
            posting::TF_TAG,
            tf as u8,
        ]);
        return;
    }
    let (gap, tf) = (u64::from(gap), u64::from(tf));
    let bytes = wire::number_bytes(gap) + wire::number_bytes(tf);
    wire::push_length(list::POSTING, bytes, list);
    wire::push_number(posting::DOCUMENT, gap, list);
    wire::push_number(posting::TF, tf, list);
}

/// Checks that the number has at most 31 bits, and returns it.
fn narrow(number: u64, what: impl FnOnce() -> String) -> Result<u64> {
    match i32::try_from(number) {
        Ok(_) => Ok(number),
        Err(_) => Err(Error::Limit(format!(
            "{} is {number}, and CIFF has room for 31 bits",
            what()
        ))),
    }
}

fn text(term: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(term)
}

/// A file that is compressed and written piece by piece.
struct Pieces {
    file: Staged,
    compression: Compression,
    /// The bytes that are not written yet.
    bytes: Vec<u8>,
    packed: Vec<u8>,
}

impl Pieces {
    fn create(path: &Path) -> Result<Self> {
        Ok(Pieces {
            file: Staged::create(path)?,
            compression: Compression::of_name(path),
            bytes: Vec::new(),
            packed: Vec::new(),
        })
    }

    /// Adds a message, after its length.
    fn write_message(&mut self, message: &[u8]) -> Result<()> {
        wire::push_length_of(message.len(), &mut self.bytes);
        self.write(message)
    }

    /// Adds bytes.
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        for piece in bytes.chunks(PIECE_BYTES) {
            self.bytes.extend_from_slice(piece);
            self.write_piece(PIECE_BYTES)?;
        }
        Ok(())
    }

    /// Writes the buffered bytes if there are at least this many.
    fn write_piece(&mut self, least: usize) -> Result<()> {
        if self.bytes.len() < least {
            return Ok(());
        }
        let mut write = || match self.compression {
            Compression::None => self.file.write_all(&self.bytes),
            compression => {
                self.packed.clear();
                compression.pack(&self.bytes, Effort::Usual, &mut self.packed)?;
                self.file.write_all(&self.packed)
            }
        };
        write().map_err(|source| self.file.failed(source))?;
        self.bytes.clear();
        Ok(())
    }

    fn commit(mut self) -> Result<()> {
        self.write_piece(1)?;
        self.file.commit()
    }
}
