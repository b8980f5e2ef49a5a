//! Damage with valid checksums, to test readers.

use std::path::Path;

use crate::manifest::Manifest;
use crate::part::Part;
use crate::part::file::PageWriter;
use crate::part::layout::DELETED;
use crate::part::window::Window;
use tokapi_storage::error::Result;

/// Changes the data of file `number` of the first part of an index, and corrects all checksums.
/// Returns the number of files.
///
/// # Errors
/// The index cannot be read or written.
pub fn forge(path: &Path, number: usize, change: impl FnOnce(&mut Vec<u8>)) -> Result<usize> {
    let mut manifest = Manifest::read(path)?;
    let note = &mut manifest.parts[0];
    let part = Part::open(path, note, &Window::default())?;
    let files = part.files();
    let count = files.len();
    let (name, file) = files[number % count];
    let mut data = file.bytes(0..file.len())?.to_vec();
    let kind = file.kind();
    drop(part);
    change(&mut data);
    let is_deleted = name == DELETED.name;
    let deleted = note.deleted.as_mut().filter(|_| is_deleted);
    let file = match &deleted {
        Some(deleted) => path.join(&note.name).join(&deleted.name),
        None => path.join(&note.name).join(name),
    };
    // Other processes may have mapped it.
    let _ = std::fs::remove_file(&file);
    let mut writer = PageWriter::create(file)?;
    writer.write(&data)?;
    let written = writer.finish(kind)?;
    match deleted {
        Some(deleted) => deleted.file = written,
        None => drop(note.files.insert(name.into(), written)),
    }
    manifest.forge(path)?;
    Ok(count)
}
