//! Whether an index is whole: every checksum, and everything that must be so.

use super::cursor::Cursor;
use super::part::Part;
use super::{Index, bounds};
use crate::error::{Error, Result};

/// What was checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Checked {
    /// Documents.
    pub documents: u64,
    /// Terms.
    pub terms: u64,
    /// Postings.
    pub postings: u64,
    /// Bytes of all files.
    pub bytes: u64,
}

impl Index {
    /// Checks every checksum, that terms and documents ascend, that counts are right and that every
    /// posting is within the bounds of its block.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<Checked> {
        let mut checked = Checked::default();
        for part in self.parts() {
            part.check_pages()?;
            let lengths = check_documents(part)?;
            check_lists(part, &lengths, &mut checked)?;
            check_deleted(part, &lengths)?;
            checked.documents += part.note.live().documents;
            let files = part.files().into_iter();
            checked.bytes += files.map(|(_, file)| file.file_bytes()).sum::<u64>();
        }
        Ok(checked)
    }
}

/// The lengths of all documents.
fn check_documents(part: &Part) -> Result<Vec<u32>> {
    let mut lengths = Vec::new();
    let mut total = 0;
    for document in 0..part.documents() {
        let length = part.length(document)?;
        total += u64::from(length);
        lengths.push(length);
        std::str::from_utf8(part.id(document)?)
            .map_err(|_| wrong(part, "an id is not valid UTF-8"))?;
    }
    match total == part.note.total_length {
        true => Ok(lengths),
        false => Err(wrong(part, "the lengths do not add up")),
    }
}

fn check_deleted(part: &Part, lengths: &[u32]) -> Result<()> {
    let deleted = part.deleted_documents()?;
    let ascend = deleted.windows(2).all(|pair| pair[0] < pair[1]);
    let lengths = deleted.iter().map(|&document| lengths[document as usize]);
    let noted = part.note.deleted.as_ref();
    let noted = noted.map_or((0, 0), |note| (note.documents, note.total_length));
    let counted = (deleted.len() as u64, lengths.map(u64::from).sum::<u64>());
    match ascend && counted == noted {
        true => Ok(()),
        false => Err(wrong(part, "the manifest counts other deleted documents")),
    }
}

fn check_lists(part: &Part, lengths: &[u32], checked: &mut Checked) -> Result<()> {
    let (mut terms, mut postings) = (0, 0);
    let mut counted = vec![0u64; lengths.len()];
    let mut last_term: Option<Vec<u8>> = None;
    let codes = part.codes();
    for shard in 0..part.lists.shard_count() {
        let of_shard = part.lists.terms_of_shard(shard)?;
        if of_shard.first().map(|(term, _)| &term[..]) != Some(part.lists.first_term(shard)?) {
            return Err(wrong(part, "the directory of terms tells others"));
        }
        for (term, found) in of_shard {
            if part.find(&term)?.map(|found| found.df) != Some(found.df) {
                return Err(wrong(part, "a term is not found by its name"));
            }
            if last_term.as_ref().is_some_and(|last| *last >= term) {
                return Err(wrong(part, "terms do not ascend"));
            }
            let mut cursor = Cursor::new(&found)?;
            let (mut count, mut before) = (0, -1);
            for block in 0..cursor.block_count() {
                cursor.go_to_block(block);
                let front = cursor.front(block).copied();
                let list_front = cursor.list_front().copied();
                let (documents, tfs) = cursor.postings()?;
                for (&document, &tf) in documents.iter().zip(tfs) {
                    if i64::from(document) <= before || tf == 0 {
                        return Err(wrong(part, "documents of a list do not ascend"));
                    }
                    before = document.into();
                    let length = codes.code(lengths[document as usize]);
                    let tf_code = bounds::tf_code(tf);
                    for front in [&front, &list_front].into_iter().flatten() {
                        let beyond =
                            |point: &bounds::Point| point.tf >= tf_code && point.length <= length;
                        if !front.iter().any(beyond) {
                            return Err(wrong(part, "a posting is beyond the bounds of its block"));
                        }
                    }
                    counted[document as usize] += u64::from(tf);
                }
                count += documents.len() as u64;
            }
            if count != found.df {
                return Err(wrong(part, "a df is not the number of documents"));
            }
            postings += count;
            terms += 1;
            last_term = Some(term);
        }
    }
    let sums_are_right = counted
        .iter()
        .zip(lengths)
        .all(|(&counted, &length)| counted == u64::from(length));
    if !sums_are_right && !part.note.lengths_as_given {
        return Err(wrong(
            part,
            "the tfs of a document do not add up to its length",
        ));
    }
    if (terms, postings) != (part.note.terms, part.note.postings) {
        return Err(wrong(part, "the manifest counts other terms or postings"));
    }
    checked.terms += terms;
    checked.postings += postings;
    Ok(())
}

fn wrong(part: &Part, what: &str) -> Error {
    part.lists.damaged(what)
}
