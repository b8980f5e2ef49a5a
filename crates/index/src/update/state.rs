//! The state of an index that changes, and its commits.

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::ids::InPart;
use super::merge;
use crate::folder::{NewFolder, PART, remove, remove_files, sync_part};
use crate::manifest::{Manifest, epoch};
use crate::part::Part;
use crate::part::layout;
use crate::part::note::{DeletedNote, PartNote};
use crate::part::window::Window;
use crate::reorder::{self, Reordering};
use crate::walk::Renumbered;
use tokapi_storage::error::Result;
use tokapi_storage::memory::Memory;
use tokapi_storage::progress::Progress;

/// The state shared by a writer and its background merges.
pub(crate) struct Shared {
    pub path: PathBuf,
    pub threads: usize,
    pub memory: Memory,
    /// The memory bound of the open parts.
    pub window: Window,
    pub manifest: Mutex<Manifest>,
    /// Earlier states that readers hold, or held at the last commit.
    pub earlier: Mutex<Vec<Manifest>>,
    /// The highest number used in a name, committed or not.
    pub names: AtomicU64,
    /// Keeps the index locked.
    pub _lock: File,
}

impl Shared {
    pub fn manifest(&self) -> MutexGuard<'_, Manifest> {
        // The content is only replaced as a whole.
        self.manifest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locked after the manifest.
    pub fn earlier(&self) -> MutexGuard<'_, Vec<Manifest>> {
        self.earlier.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn open_part(&self, note: &PartNote) -> Result<Part> {
        Part::open(&self.path, note, &self.window)
    }

    pub fn open_parts(&self, manifest: &Manifest) -> Result<Vec<Part>> {
        let open = |note| self.open_part(note);
        manifest.parts.iter().map(open).collect()
    }

    /// A name that no other file or folder of the index has had.
    pub fn new_name(&self, prefix: &str) -> String {
        let before = self.names.fetch_add(1, Ordering::Relaxed);
        format!("{prefix}-{}", before + 1)
    }

    /// A new folder for a part.
    pub fn new_folder(&self) -> Result<NewFolder> {
        NewFolder::create(&self.path, self.new_name(PART))
    }

    /// Writes the list of deleted `documents` of a part to its folder.
    pub fn write_deleted(
        &self,
        part: &Part,
        folder: &Path,
        documents: &[u32],
    ) -> Result<DeletedNote> {
        let name = self.new_name(layout::DELETED.name);
        let written = part.write_deleted(folder, name.clone(), documents);
        if written.is_err() {
            remove(&folder.join(name));
        }
        written
    }

    /// Commits `next` as the state of the index, and removes files that only earlier states need, unless a reader
    /// holds them.
    pub fn commit(&self, manifest: &mut Manifest, mut next: Manifest) -> Result<()> {
        next.names = self.names.load(Ordering::Relaxed);
        next.epoch = manifest.epoch + 1;
        next.commit(&self.path)?;
        let mut earlier = self.earlier();
        earlier.push(std::mem::replace(manifest, next));
        let is_gone = |state: &mut Manifest| epoch::remove(&self.path, state.epoch);
        let gone: Vec<Manifest> = earlier.extract_if(.., is_gone).collect();
        earlier.push(manifest.clone());
        remove_files(&self.path, &gone, &earlier);
        earlier.pop();
        Ok(())
    }

    /// Adds `found` to the deleted documents in `next`, whose parts are `parts`.
    pub fn mark_deleted(
        &self,
        next: &mut Manifest,
        parts: &[Part],
        found: &[InPart],
    ) -> Result<()> {
        for (number, documents) in found {
            if documents.is_empty() {
                continue;
            }
            let part = &parts[*number];
            let mut all = part.deleted_documents()?;
            all.extend(documents);
            all.sort_unstable();
            let folder = self.path.join(&part.note.name);
            let note = self.write_deleted(part, &folder, &all)?;
            next.parts[*number].deleted = Some(note);
            sync_part(&folder)?;
        }
        // A part without documents is dropped.
        next.parts.retain(|part| part.live().documents > 0);
        Ok(())
    }

    /// Merges the neighbouring parts that `choose` returns; documents may be deleted from them
    /// meanwhile. Returns whether there were any. Counts postings in `progress` if `counts` is
    /// set.
    pub fn merge(
        &self,
        progress: &Progress,
        counts: bool,
        choose: impl FnOnce(&[PartNote]) -> Option<Range<usize>>,
    ) -> Result<bool> {
        let parts = {
            // Nobody removes the files of open parts.
            let manifest = self.manifest();
            let Some(range) = choose(&manifest.parts) else {
                return Ok(false);
            };
            let notes = manifest.parts[range].iter();
            let open = |note| self.open_part(note);
            notes.map(open).collect::<Result<Vec<Part>>>()?
        };
        let folder = self.new_folder()?;
        let Shared {
            threads, memory, ..
        } = self;
        let mut note = merge::write(&parts, &folder.path, *threads, memory, progress, counts)?;
        note.name.clone_from(&folder.name);
        let mut manifest = self.manifest();
        let mut next = manifest.clone();
        let gone = self.deleted_since(&next, &parts)?;
        if !gone.is_empty() {
            let merged = self.open_part(&note)?;
            note.deleted = Some(self.write_deleted(&merged, &folder.path, &gone)?);
        }
        sync_part(&folder.path)?;
        let is_merged = |note: &PartNote| parts.iter().any(|part| part.note.name == note.name);
        // Parts that have vanished meanwhile had only deleted documents.
        let place = next.parts.iter().position(is_merged);
        next.parts.retain(|part| !is_merged(part));
        let has_documents = note.live().documents > 0;
        if has_documents {
            next.parts.insert(place.unwrap_or(next.parts.len()), note);
        }
        self.commit(&mut manifest, next)?;
        if has_documents {
            folder.keep();
        }
        Ok(true)
    }

    /// Reorders the documents of a part. Nothing deletes from it meanwhile.
    pub fn reorder(&self, note: &PartNote, how: &Reordering) -> Result<()> {
        let part = self.open_part(note)?;
        let folder = self.new_folder()?;
        let mut reordered = reorder::write(&part, &folder.path, how)?;
        reordered.name.clone_from(&folder.name);
        sync_part(&folder.path)?;
        let mut manifest = self.manifest();
        let mut next = manifest.clone();
        let parts = next.parts.iter_mut();
        for part in parts.filter(|part| part.name == note.name) {
            part.clone_from(&reordered);
        }
        self.commit(&mut manifest, next)?;
        folder.keep();
        Ok(())
    }

    /// The documents deleted from `parts` since they were opened, by their numbers in the merged
    /// part.
    pub fn deleted_since(&self, now: &Manifest, parts: &[Part]) -> Result<Vec<u32>> {
        let mut gone = Vec::new();
        for (part, numbers) in parts.iter().zip(Renumbered::all(parts)?) {
            let after = now.parts.iter().find(|note| note.name == part.note.name);
            match after {
                Some(after) if after.deleted == part.note.deleted => {}
                Some(after) => {
                    let deleted = self.open_part(after)?.deleted_documents()?;
                    gone.extend(
                        deleted
                            .into_iter()
                            .filter_map(|document| numbers.of(document)),
                    );
                }
                None => {
                    gone.extend((0..part.documents()).filter_map(|document| numbers.of(document)))
                }
            }
        }
        Ok(gone)
    }
}
