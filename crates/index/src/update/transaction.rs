//! Changes that are committed together: readers see all of them or none.

use std::sync::MutexGuard;

use super::change::{Deletion, Missing, Repeated};
use super::ids::{IdSet, InPart, ids_of};
use super::merging::Merging;
use super::prepared::Prepared;
use super::state::Shared;
use crate::folder::{NewFolder, sync_part};
use crate::manifest::Manifest;
use crate::part::Part;
use tokapi_storage::error::{Error, Kept, Place, Position, Result};
use tokapi_storage::progress::Progress;

/// Changes of an index that are committed together. Each sees those before it. Without a commit, nothing changes.
///
/// ```
/// # use tokapi_index::{AddOptions, Index, IndexBuilder, IndexWriter, Missing, Repeated};
/// # use tokapi_text::corpus::{Corpus, CorpusOptions, Document};
/// # fn main() -> tokapi_storage::error::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("index");
/// # let corpus = |documents: [Document; 1]| Corpus::from_documents(documents, CorpusOptions::default());
/// IndexBuilder::new(&path).build(corpus([Document::new("a", "Boundary layers")]))?;
///
/// let mut writer = IndexWriter::open(&path, 2)?;
/// let prepared = writer.prepare(corpus([Document::new("b", "Wing flow")]), &AddOptions::default())?;
/// let mut transaction = writer.begin()?;
/// transaction.delete(["a"], Missing::Stop)?;
/// transaction.add(prepared, Repeated::Replace)?;
/// assert_eq!(transaction.commit()?, 2);
/// assert_eq!(Index::open(&path)?.epoch(), 2);
/// # Ok(())
/// # }
/// ```
pub struct Transaction<'w> {
    shared: &'w Shared,
    merging: &'w mut Merging,
    progress: Progress,
    manifest: MutexGuard<'w, Manifest>,
    next: Manifest,
    /// The parts of `next`.
    parts: Vec<Part>,
    /// Documents that are deleted now, ascending, of each part.
    gone: Vec<InPart>,
    folders: Vec<NewFolder>,
}

impl<'w> Transaction<'w> {
    pub(super) fn begin(
        shared: &'w Shared,
        merging: &'w mut Merging,
        progress: Progress,
    ) -> Result<Self> {
        let manifest = shared.manifest();
        let next = manifest.clone();
        let parts = shared.open_parts(&next)?;
        Ok(Transaction {
            shared,
            merging,
            progress,
            manifest,
            next,
            gone: (0..parts.len()).map(|part| (part, Vec::new())).collect(),
            parts,
            folders: Vec::new(),
        })
    }

    /// Whether a document has this id.
    ///
    /// # Errors
    /// The index is damaged.
    pub fn contains(&self, id: &str) -> Result<bool> {
        for (part, (_, gone)) in self.parts.iter().zip(&self.gone) {
            if let Some(document) = part.find_id(id.as_bytes())?
                && gone.binary_search(&document).is_err()
                && !part.is_deleted(document)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Adds prepared documents, all or none. Returns the number of those whose id was in the index already: left out, or
    /// replaced.
    ///
    /// # Errors
    /// An id is in the index already and repeated ids are an error; the index is damaged; the change is cancelled.
    pub fn add(&mut self, prepared: Prepared, repeated: Repeated) -> Result<u64> {
        let Prepared {
            folder,
            mut note,
            keep,
            ..
        } = prepared;
        if note.documents == 0 {
            return Ok(0);
        }
        // Others may have added fields since it was prepared.
        if keep.goes_on_from(&self.next.keep) {
            self.next.keep = keep;
        } else if !self.next.keep.goes_on_from(&keep) {
            return Err(Error::Usage(format!(
                "{} keeps {} by now, and the new documents come with {keep}; prepare them again",
                self.shared.path.display(),
                self.next.keep
            )));
        }
        note.first_sequence = self.next.added;
        let new = self.shared.open_part(&note)?;
        let (memory, progress) = (&self.shared.memory, &self.progress);
        let known = ids_of(&new, &self.parts, &self.gone, memory, progress)?;
        let mut of_new = Vec::new();
        match repeated {
            _ if known.new.is_empty() => {}
            Repeated::Stop => {
                let id = String::from_utf8_lossy(new.id(known.new[0])?).into_owned();
                return Err(Error::Input {
                    place: Place {
                        path: self.shared.path.clone(),
                        position: Position::Whole,
                    },
                    what: format!(
                        "{} of {} new documents have an id that the index has already, the first of them {id:?}; \
                         nothing was added",
                        known.new.len(),
                        note.documents,
                    ),
                });
            }
            Repeated::Skip => of_new.clone_from(&known.new),
            Repeated::Replace => {
                for (gone, (_, old)) in self.gone.iter_mut().zip(known.old) {
                    join(&mut gone.1, old);
                }
            }
        }
        self.next.added += note.documents;
        self.next.parts.push(note);
        self.gone.push((self.parts.len(), of_new));
        self.parts.push(new);
        self.folders.push(folder);
        Ok(known.new.len() as u64)
    }

    /// Deletes the documents with these ids: all of them, or, depending on `missing`, those that
    /// exist.
    ///
    /// # Errors
    /// No document has one of the ids, and nothing is deleted; the index is damaged; the change is cancelled.
    pub fn delete(
        &mut self,
        ids: impl IntoIterator<Item: AsRef<str>>,
        missing: Missing,
    ) -> Result<Deletion> {
        let mut found: Vec<Vec<u32>> = vec![Vec::new(); self.parts.len()];
        let mut deletion = Deletion::default();
        let mut ids = ids.into_iter().peekable();
        while ids.peek().is_some() {
            let mut set = IdSet::default();
            while let Some(id) = ids.next_if(|_| !set.is_full(&self.shared.memory)) {
                set.insert(id.as_ref().as_bytes());
            }
            let mut is_known = vec![false; set.len()];
            for ((part, (_, gone)), found) in self.parts.iter().zip(&self.gone).zip(&mut found) {
                set.each_in(part, &self.progress, |document, number| {
                    if gone.binary_search(&document).is_err() {
                        is_known[number as usize] = true;
                        found.push(document);
                    }
                })?;
            }
            let unknown = (0..set.len()).filter(|&number| !is_known[number]);
            deletion.unknown.extend(
                unknown.map(|number| String::from_utf8_lossy(set.get(number)).into_owned()),
            );
        }
        deletion.unknown.sort_unstable();
        // Several sets may have had the same id.
        deletion.unknown.dedup();
        if missing == Missing::Stop && !deletion.unknown.is_empty() {
            return Err(Error::Damaged {
                path: self.shared.path.clone(),
                what: format!(
                    "there is no document {}; nothing was deleted",
                    named(&deletion.unknown)
                ),
            });
        }
        for ((_, gone), found) in self.gone.iter_mut().zip(found) {
            let before = gone.len();
            join(gone, found);
            deletion.documents += (gone.len() - before) as u64;
        }
        Ok(deletion)
    }

    /// Keeps these fields of documents from now on, besides those that the index keeps already.
    ///
    /// # Errors
    /// The index keeps no fields yet.
    pub fn keep_fields(&mut self, fields: impl IntoIterator<Item: Into<String>>) -> Result<()> {
        let kept = &mut self.next.keep.fields;
        for field in fields.into_iter().map(Into::into) {
            if kept.is_empty() {
                return Err(Error::NotKept(Kept::Field {
                    name: field,
                    known: Vec::new(),
                }));
            }
            if !kept.contains(&field) {
                kept.push(field);
            }
        }
        Ok(())
    }

    /// Attaches a text to the index, in the place of the one before: for the program that uses the index.
    pub fn attach(&mut self, text: impl Into<String>) {
        self.next.attachment = Some(text.into());
    }

    /// Whether nothing has changed.
    fn is_empty(&self) -> bool {
        self.folders.is_empty()
            && self.gone.iter().all(|(_, gone)| gone.is_empty())
            && self.next.attachment == self.manifest.attachment
            && self.next.keep == self.manifest.keep
    }

    /// Commits the changes. Returns the epoch that has them; the present one if nothing has changed.
    ///
    /// # Errors
    /// Files cannot be written; another process has changed the index.
    pub fn commit(self) -> Result<u64> {
        if self.is_empty() {
            return Ok(self.manifest.epoch);
        }
        let Transaction {
            shared,
            merging,
            progress,
            mut manifest,
            mut next,
            parts,
            gone,
            folders,
        } = self;
        shared.mark_deleted(&mut next, &parts, &gone)?;
        for folder in &folders {
            sync_part(&folder.path)?;
        }
        shared.commit(&mut manifest, next)?;
        let epoch = manifest.epoch;
        for folder in folders {
            // All its documents may be gone again.
            if manifest.parts.iter().any(|part| part.name == folder.name) {
                folder.keep();
            }
        }
        drop(manifest);
        merging.start(&progress);
        Ok(epoch)
    }
}

/// Adds `more` to ascending documents.
fn join(documents: &mut Vec<u32>, more: Vec<u32>) {
    if !more.is_empty() {
        documents.extend(more);
        documents.sort_unstable();
        documents.dedup();
    }
}

/// A list of ids for a message: the first of them, and the number of further ones.
fn named(ids: &[String]) -> String {
    const NAMED: usize = 5;
    let first: Vec<String> = ids.iter().take(NAMED).map(|id| format!("{id:?}")).collect();
    let first = first.join(", ");
    match ids.len().saturating_sub(NAMED) {
        0 => first,
        more => format!("{first} nor {more} more"),
    }
}
