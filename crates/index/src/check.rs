//! The check of an index: it verifies every checksum and every invariant.

use crate::Index;
use crate::document::{self, StoredValue};
use crate::manifest::{Keep, MOST_IMPACT};
use crate::part::Part;
use crate::part::bounds;
use crate::part::cursor::Cursor;
use crate::part::lists::Lists;
use crate::part::tokens::take_code;
use tokapi_storage::error::{Error, Result};
use tokapi_storage::progress::{Progress, Stage};

/// Bytes of memory a document during a check: the code of its length, and a count from which
/// postings are subtracted, of terms or of field values.
const DOCUMENT_BYTES: u64 = 1 + 4;

/// Documents, and bytes, between two tests for cancellation.
const CHECKED_DOCUMENTS: u32 = 1 << 10;
const CHECKED_BYTES: usize = 16 << 20;

/// The counts of a check.
///
/// [`Index`] has an example.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
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
    /// Checks that every checksum matches, terms and documents ascend, counts are right, every
    /// posting is within the bounds of its block, and every stored document can be read.
    ///
    /// # Errors
    /// The first fault found; there is too little memory.
    pub fn check(&self) -> Result<Checked> {
        self.check_with(&Progress::new())
    }

    /// As [`Index::check`]; `progress` counts the bytes of files.
    ///
    /// # Errors
    /// As [`Index::check`]; it is cancelled.
    pub fn check_with(&self, progress: &Progress) -> Result<Checked> {
        let bytes = |part: &Part| part.file_bytes();
        progress.begin(Stage::Checking, self.parts().iter().map(bytes).sum());
        let mut checked = Checked::default();
        for part in self.parts() {
            let needed = DOCUMENT_BYTES * part.note.documents;
            self.memory()
                .check_per_document(needed, "checking a part of so many documents")?;
            check_pages(part, progress)?;
            check_documents(part, progress)?;
            if !part.sequences().are_sound(self.added)? {
                return Err(wrong(part, "the sequence numbers do not ascend"));
            }
            let (terms, postings) = check_terms(part, self.impacts().is_some(), progress)?;
            checked.terms += terms;
            checked.postings += postings;
            check_deleted(part)?;
            check_contents(part, self.keep(), progress)?;
            check_tokens(part, progress)?;
            checked.documents += part.note.live().documents;
            checked.bytes += part.file_bytes();
        }
        Ok(checked)
    }
}

/// Checks every page of every file.
fn check_pages(part: &Part, progress: &Progress) -> Result<()> {
    for (_, file) in part.files() {
        for from in (0..file.len()).step_by(CHECKED_BYTES) {
            progress.check()?;
            let to = file.len().min(from + CHECKED_BYTES);
            file.bytes(from..to)?;
            progress.add((to - from) as u64);
        }
        progress.add(file.file_bytes() - file.len() as u64);
    }
    Ok(())
}

/// Checks the ids and lengths.
fn check_documents(part: &Part, progress: &Progress) -> Result<()> {
    let mut total = 0;
    for document in 0..part.documents() {
        if document.is_multiple_of(CHECKED_DOCUMENTS) {
            progress.check()?;
        }
        total += u64::from(part.length(document)?);
        // Found in the way of queries, group by group.
        let id = part.id(document)?;
        std::str::from_utf8(id).map_err(|_| wrong(part, "an id is not valid UTF-8"))?;
        if part.has_id_table() && part.find_id(id)? != Some(document) {
            return Err(wrong(
                part,
                "the table of ids does not lead to every document",
            ));
        }
    }
    match total == part.note.total_length {
        true => Ok(()),
        false => Err(wrong(part, "the lengths do not add up")),
    }
}

fn check_deleted(part: &Part) -> Result<()> {
    let deleted = part.deleted_documents()?;
    let ascend = deleted.windows(2).all(|pair| pair[0] < pair[1]);
    let mut length = 0;
    for &document in &deleted {
        length += u64::from(part.length(document)?);
    }
    let noted = part.note.deleted.as_ref();
    let noted = noted.map_or((0, 0), |note| (note.documents, note.total_length));
    let counted = (deleted.len() as u64, length);
    match ascend && counted == noted {
        true => Ok(()),
        false => Err(wrong(part, "the manifest counts other deleted documents")),
    }
}

/// Checks the lists of terms; they may store impacts instead of tfs. Returns the number of terms
/// and of postings.
fn check_terms(part: &Part, has_impacts: bool, progress: &Progress) -> Result<(u64, u64)> {
    // Fewer than 2^32.
    let count = part.documents() as usize;
    let (mut codes, mut left) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for document in 0..part.documents() {
        let length = part.length(document)?;
        codes.push(part.codes().code(length));
        left.push(length);
    }
    let most = match has_impacts {
        true => MOST_IMPACT,
        false => u32::MAX,
    };
    let code = |document: u32| codes[document as usize];
    let mut are_left = Some(());
    let (terms, postings) = check_lists(&part.lists, code, most, progress, |document, tf| {
        let left = &mut left[document as usize];
        match left.checked_sub(tf) {
            Some(now) => *left = now,
            None => are_left = None,
        }
    })?;
    let sums_are_right = are_left.is_some() && left.iter().all(|&left| left == 0);
    if !sums_are_right && !part.note.lengths_as_given && !has_impacts {
        return Err(wrong(
            part,
            "the tfs of a document do not add up to its length",
        ));
    }
    match (terms, postings) == (part.note.terms, part.note.postings) {
        true => Ok((terms, postings)),
        false => Err(wrong(part, "the manifest counts other terms or postings")),
    }
}

/// Checks every record of the store, and that the lists of fields have exactly the values of the
/// documents.
fn check_contents(part: &Part, keep: &Keep, progress: &Progress) -> Result<()> {
    let Some(store) = &part.store else {
        return Ok(());
    };
    let mut counted = vec![0u32; part.documents() as usize];
    if let Some(lists) = &part.fields {
        check_lists(
            lists,
            |_| 0,
            u32::MAX,
            progress,
            |document, tf| {
                let counted = &mut counted[document as usize];
                // No document has this many values.
                *counted = counted.saturating_add(tf);
            },
        )?;
    }
    let fields = part.note.fields_of(&keep.fields);
    let mut records = store.records();
    for (document, counted) in counted.into_iter().enumerate() {
        if document.is_multiple_of(CHECKED_DOCUMENTS as usize) {
            progress.check()?;
        }
        let record = records.next()?.ok_or_else(|| store.damaged())?;
        let record = [record.values, record.text].concat();
        let document =
            document::decode(&record, fields, keep.text).ok_or_else(|| store.damaged())?;
        let listed = document.fields.iter().map(|(field, values)| {
            let has_list = |value: &&StoredValue| document::has_list(field, value.text.len());
            values.iter().filter(has_list).count() as u64
        });
        if listed.sum::<u64>() != u64::from(counted) {
            return Err(wrong(part, "the lists of fields have other values"));
        }
    }
    match records.next()? {
        None => Ok(()),
        Some(_) => Err(store.damaged()),
    }
}

/// Checks that the token sequence of every document has as many terms as its length says, each
/// with a valid rank.
fn check_tokens(part: &Part, progress: &Progress) -> Result<()> {
    let Some(tokens) = &part.tokens else {
        return Ok(());
    };
    for document in 0..part.documents() {
        if document.is_multiple_of(CHECKED_DOCUMENTS) {
            progress.check()?;
        }
        let mut codes = tokens.document(document)?;
        let mut count = 0;
        while !codes.is_empty() {
            let rank = take_code(&mut codes).ok_or_else(|| tokens.damaged())?;
            if u64::from(rank) >= part.note.terms {
                return Err(tokens.damaged());
            }
            count += 1;
        }
        if count != part.length(document)? {
            return Err(wrong(part, "a document has other terms in order"));
        }
    }
    Ok(())
}

/// Checks lists: `code` returns the code of a document's length, and no tf may exceed `most`.
/// Passes every document and its tf to `count_tf`. Returns the number of terms and of postings.
fn check_lists(
    lists: &Lists,
    code: impl Fn(u32) -> u8,
    most: u32,
    progress: &Progress,
    mut count_tf: impl FnMut(u32, u32),
) -> Result<(u64, u64)> {
    let (mut terms, mut postings) = (0, 0);
    let mut last_term: Option<Vec<u8>> = None;
    for shard in 0..lists.shard_count() {
        let of_shard = lists.terms_of_shard(shard)?;
        if of_shard.first().map(|(term, _)| &term[..]) != Some(lists.first_term(shard)?) {
            return Err(lists.damaged("the directory of terms tells others"));
        }
        for (term, found) in of_shard {
            if lists.find(&term)?.map(|found| found.df) != Some(found.df) {
                return Err(lists.damaged("a term is not found by its name"));
            }
            if last_term.as_ref().is_some_and(|last| *last >= term) {
                return Err(lists.damaged("terms do not ascend"));
            }
            progress.check()?;
            let mut cursor = Cursor::new(&found)?;
            let (mut count, mut before) = (0, -1);
            for block in 0..cursor.block_count() {
                cursor.go_to_block(block);
                let front = cursor.front(block).copied();
                let list_front = cursor.list_front().copied();
                let (documents, tfs) = cursor.postings()?;
                for (&document, &tf) in documents.iter().zip(tfs) {
                    if i64::from(document) <= before || tf == 0 {
                        return Err(lists.damaged("documents of a list do not ascend"));
                    }
                    if tf > most {
                        return Err(lists.damaged("an impact is above 255"));
                    }
                    before = document.into();
                    let length = code(document);
                    let tf_code = bounds::tf_code(tf);
                    for front in [&front, &list_front].into_iter().flatten() {
                        let beyond =
                            |point: &bounds::Point| point.tf >= tf_code && point.length <= length;
                        if !front.iter().any(beyond) {
                            return Err(
                                lists.damaged("a posting is beyond the bounds of its block")
                            );
                        }
                    }
                    count_tf(document, tf);
                }
                count += documents.len() as u64;
            }
            if count != found.df {
                return Err(lists.damaged("a df is not the number of documents"));
            }
            postings += count;
            terms += 1;
            last_term = Some(term);
        }
    }
    Ok((terms, postings))
}

fn wrong(part: &Part, what: &str) -> Error {
    part.lists.damaged(what)
}
