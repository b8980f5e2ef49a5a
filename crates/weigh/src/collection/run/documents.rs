//! The documents of a run: lengths and ids, several thousand per frame.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use tokapi_storage::scratch::frames;
use tokapi_storage::strings::Strings;
use tokapi_storage::varint;

/// A frame is full at this number of documents, or of bytes.
const FRAME_DOCUMENTS: usize = 4 << 10;
const FRAME_BYTES: usize = 64 << 10;

/// Consecutive documents of a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct DocumentFrame {
    /// The lengths, in terms.
    pub lengths: Vec<u32>,
    /// The ids. An empty id stands for the document's number.
    pub ids: Strings,
}

/// Adds the frame of the documents' files, each with its first document.
pub(super) fn encode_files(stamp: u64, files: &[(usize, Arc<Path>)], bytes: &mut Vec<u8>) {
    frames::push(stamp, 0, bytes, |bytes| write_files(files, bytes));
}

pub(super) fn write_files(files: &[(usize, Arc<Path>)], bytes: &mut Vec<u8>) {
    for (first, path) in files {
        let path = path.as_os_str().as_encoded_bytes();
        varint::push(*first as u64, bytes);
        varint::push(path.len() as u64, bytes);
        bytes.extend_from_slice(path);
    }
}

/// Decodes the frame of [`encode_files`]; none for any other bytes.
pub(super) fn decode_files(mut bytes: &[u8]) -> Option<Vec<(usize, Arc<Path>)>> {
    let mut files = Vec::new();
    while !bytes.is_empty() {
        let first = usize::try_from(varint::take(&mut bytes)?).ok()?;
        let length = usize::try_from(varint::take(&mut bytes)?).ok()?;
        let path = Path::new(OsStr::from_bytes(bytes.get(..length)?));
        files.push((first, Arc::from(path)));
        bytes = &bytes[length..];
    }
    Some(files)
}

/// Appends the frames of all documents to the file in `bytes`.
pub(super) fn encode(stamp: u64, lengths: &[u32], ids: &Strings, bytes: &mut Vec<u8>) {
    let mut from = 0;
    while from < lengths.len() {
        let mut to = from;
        let mut size = 0;
        while to < lengths.len() && to - from < FRAME_DOCUMENTS && size < FRAME_BYTES {
            size += ids.get(to).len();
            to += 1;
        }
        frames::push(stamp, 0, bytes, |bytes| {
            varint::push((to - from) as u64, bytes);
            for (document, &length) in (from..).zip(&lengths[from..to]) {
                varint::push(u64::from(length), bytes);
                let id = ids.get(document);
                varint::push(id.len() as u64, bytes);
                bytes.extend_from_slice(id);
            }
        });
        from = to;
    }
}

impl DocumentFrame {
    /// Decodes a frame; none if it is invalid.
    pub(crate) fn decode(mut bytes: &[u8]) -> Option<DocumentFrame> {
        let bytes = &mut bytes;
        let count = varint::take(bytes)?;
        let mut frame = DocumentFrame::default();
        for _ in 0..count {
            frame
                .lengths
                .push(u32::try_from(varint::take(bytes)?).ok()?);
            let length = usize::try_from(varint::take(bytes)?).ok()?;
            frame.ids.push(bytes.get(..length)?);
            *bytes = &bytes[length..];
        }
        bytes.is_empty().then_some(frame)
    }
}
