//! Writes ids, lengths and token sequences of a part in a new order of documents.

use std::path::Path;

use super::gather::{InOrder, Records, Visit};
use super::permutation::Permutation;
use crate::build::{self, BATCH_DOCUMENTS, CodedDocuments};
use crate::part::Part;
use crate::part::layout;
use crate::part::note::PartNote;
use crate::part::tokens::{TermRanks, Tokens, TokensWriter};
use crate::part::window::Window;
use tokapi_storage::error::{Error, Result};
use tokapi_storage::progress::Progress;
use tokapi_weigh::collection::Documents;

/// Documents between two tests for cancellation.
const CHECKED_DOCUMENTS: u32 = 1 << 12;

/// Writes ids and lengths, at most `most_bytes` of them at a time.
pub(super) fn write(
    part: &Part,
    permutation: &Permutation,
    most_bytes: u64,
    folder: &Path,
    note: &mut PartNote,
    progress: &Progress,
) -> Result<CodedDocuments> {
    build::write_documents(folder, 0, note, progress, || {
        let mut records = None;
        let mut order = permutation.order.iter();
        move || {
            let records = match &mut records {
                Some(records) => records,
                none => none.insert(InOrder::new(
                    LengthsAndIds(part),
                    &permutation.places,
                    most_bytes,
                    progress,
                )?),
            };
            progress.check()?;
            let mut documents = Documents::with_capacity(BATCH_DOCUMENTS.min(order.len()));
            for &document in order.by_ref().take(BATCH_DOCUMENTS) {
                let record = records.next()?.and_then(<[u8]>::split_first_chunk::<4>);
                let (length, id) = record.ok_or_else(|| LengthsAndIds(part).damaged())?;
                documents.push(document as usize, id, u32::from_le_bytes(*length));
            }
            Ok((!documents.is_empty()).then_some(documents))
        }
    })
}

/// Copies the token sequences of documents, if they are kept. Terms and their df do not change,
/// and so their ranks do not either.
pub(super) fn write_tokens(
    part: &Part,
    permutation: &Permutation,
    most_bytes: u64,
    folder: &Path,
    note: &mut PartNote,
    window: &Window,
    progress: &Progress,
) -> Result<()> {
    let Some(tokens) = &part.tokens else {
        return Ok(());
    };
    let reordered = Part::open_in(folder, note, window)?;
    TermRanks::write(folder, &reordered.lists, note, window)?;
    let ranks = layout::RANKS.name;
    if note.files.get(ranks) != part.note.files.get(ranks) {
        return Err(tokens.damaged());
    }
    let mut writer = TokensWriter::create(folder)?;
    let mut records = InOrder::new((part, tokens), &permutation.places, most_bytes, progress)?;
    while let Some(codes) = records.next()? {
        writer.push(codes)?;
    }
    writer.finish(note)
}

/// The length of every document, in four bytes, followed by its id.
struct LengthsAndIds<'a>(&'a Part);

impl Records for LengthsAndIds<'_> {
    fn each(&self, progress: &Progress, visit: &mut Visit<'_>) -> Result<()> {
        let part = self.0;
        let mut ids = part.ids(0..part.documents())?;
        let mut record = Vec::new();
        while let Some((document, id)) = ids.next()? {
            if document.is_multiple_of(CHECKED_DOCUMENTS) {
                progress.check()?;
            }
            record.clear();
            record.extend(part.length(document)?.to_le_bytes());
            record.extend_from_slice(id);
            visit(document as usize, &record).ok_or_else(|| self.damaged())?;
        }
        Ok(())
    }

    fn bytes(&self) -> Result<u64> {
        Ok(4 * self.0.note.documents + self.0.id_bytes())
    }

    fn damaged(&self) -> Error {
        self.0.lists.damaged("the ids are not what was written")
    }
}

/// The terms of every document, in order.
impl Records for (&Part, &Tokens) {
    fn each(&self, progress: &Progress, visit: &mut Visit<'_>) -> Result<()> {
        let (part, tokens) = self;
        for document in 0..part.documents() {
            if document.is_multiple_of(CHECKED_DOCUMENTS) {
                progress.check()?;
            }
            visit(document as usize, tokens.document(document)?).ok_or_else(|| tokens.damaged())?;
        }
        Ok(())
    }

    fn bytes(&self) -> Result<u64> {
        let files = self.1.files().into_iter();
        Ok(files.map(|(_, file)| file.file_bytes()).sum())
    }

    fn damaged(&self) -> Error {
        self.1.damaged()
    }
}
