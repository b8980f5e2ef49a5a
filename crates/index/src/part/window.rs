//! How much of the mapped files of an index is in memory at a time.
//!
//! Pages that are mapped and touched count as memory of the process until they are released. Files that are opened
//! with a window count the pages that are touched. When these are more than the window holds, all are released; a page
//! comes back, from the cache of the system or the disk, when it is touched again. Queries are answered without a
//! window: their pages belong to the cache of the system.
//!
//! Linux 6.18 and later map a whole folio of the cache, up to 2 MiB, around a byte that is touched, and no advice keeps
//! them from it. So the system's own count is asked for, too, whenever a new piece is touched: this takes a microsecond, and
//! checking the piece takes ten.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokapi_storage::memory::{MappedFiles, Memory};

/// The bytes that a system maps around a byte that is touched, where it has them: Linux before 6.18 so many unless set
/// otherwise, others fewer.
pub(crate) const AROUND_BYTES: usize = 64 << 10;

/// A file that can be let go of.
pub(crate) trait Release: Send + Sync {
    /// Releases its pages; they are read and checked again when they are touched.
    fn release(&self);
}

/// A bound on the bytes in memory of all files that are opened with it. The default has none.
#[derive(Clone, Default)]
pub(crate) struct Window(Option<Arc<Bounded>>);

struct Bounded {
    most_bytes: u64,
    touched_bytes: AtomicU64,
    /// All files that are mapped by the process, as the system counts them, where it tells.
    mapped: Option<MappedFiles>,
    /// Those of them that stay when all files of the window are let go: the program itself.
    others_bytes: AtomicU64,
    files: Mutex<Vec<Weak<dyn Release>>>,
}

impl Bounded {
    /// Whether more is in memory than the window holds.
    fn is_over(&self, touched_bytes: u64) -> bool {
        let others = self.others_bytes.load(Ordering::Relaxed);
        touched_bytes > self.most_bytes
            || self.mapped_bytes().saturating_sub(others) > self.most_bytes
    }

    fn mapped_bytes(&self) -> u64 {
        self.mapped.as_ref().map_or(0, MappedFiles::bytes)
    }
}

impl Window {
    /// The window that a job within `memory` has.
    pub fn within(memory: &Memory) -> Self {
        Window::of(memory.mapped_bytes())
    }

    fn of(most_bytes: u64) -> Self {
        let mapped = MappedFiles::new();
        let others_bytes = mapped.as_ref().map_or(0, MappedFiles::bytes);
        Window(Some(Arc::new(Bounded {
            most_bytes,
            touched_bytes: AtomicU64::new(0),
            mapped,
            others_bytes: others_bytes.into(),
            files: Mutex::default(),
        })))
    }

    /// Whether it has a bound.
    pub fn is_bounded(&self) -> bool {
        self.0.is_some()
    }

    /// Has the file let go with the others.
    pub fn add(&self, file: &Arc<dyn Release>) {
        if let Some(bounded) = &self.0 {
            let mut files = bounded.files.lock().unwrap_or_else(PoisonError::into_inner);
            files.retain(|file| file.strong_count() > 0);
            files.push(Arc::downgrade(file));
        }
    }

    /// Counts bytes that are about to be touched. Releases all pages first if there would be too many.
    pub fn touch(&self, bytes: u64) {
        let Some(bounded) = &self.0 else {
            return;
        };
        let before = bounded.touched_bytes.fetch_add(bytes, Ordering::Relaxed);
        if !bounded.is_over(before + bytes) {
            return;
        }
        let files = bounded.files.lock().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have done it meanwhile.
        if bounded.is_over(bounded.touched_bytes.load(Ordering::Relaxed)) {
            files
                .iter()
                .filter_map(Weak::upgrade)
                .for_each(|file| file.release());
            bounded.touched_bytes.store(bytes, Ordering::Relaxed);
            let others = bounded.mapped_bytes();
            bounded.others_bytes.store(others, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::file::{PageFile, PageWriter};
    use super::*;

    /// The bytes of this process that are mapped from files whose path begins with `folder`, and in memory.
    #[cfg(target_os = "linux")]
    fn resident_bytes(folder: &std::path::Path) -> u64 {
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let folder = folder.to_str().unwrap();
        let (mut is_ours, mut kib) = (false, 0);
        for line in maps.lines() {
            match line.strip_prefix("Rss:") {
                Some(rss) if is_ours => {
                    kib += rss
                        .split_whitespace()
                        .next()
                        .unwrap()
                        .parse::<u64>()
                        .unwrap();
                }
                Some(_) => {}
                // The lines between begin with a name and a colon.
                None if line.split(' ').next().unwrap().contains('-') => {
                    is_ours = line.contains(folder);
                }
                None => {}
            }
        }
        1024 * kib
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn no_more_is_in_memory_than_it_holds_and_what_is_read_is_right() {
        let folder = tempfile::tempdir().unwrap();
        let window = Window::of(4 << 20);
        let byte = |at: usize, file: usize| ((at * 31 + file) >> 3) as u8;
        let files: Vec<Arc<PageFile>> = (0..3)
            .map(|file| {
                let path = folder.path().join(file.to_string());
                let data: Vec<u8> = (0..9 << 20).map(|at| byte(at, file)).collect();
                let mut writer = PageWriter::create(path.clone()).unwrap();
                writer.write(&data).unwrap();
                let note = writer.finish(*b"test").unwrap();
                PageFile::open(path, *b"test", &note, &window).unwrap()
            })
            .collect();
        // Forwards, and here and there.
        for step in [4096, 1_000_003] {
            let mut at = 0;
            for _ in 0..3000 {
                for (number, file) in files.iter().enumerate() {
                    assert_eq!(file.bytes(at..at + 1).unwrap(), [byte(at, number)]);
                }
                at = (at + step) % (9 << 20);
                if at.is_multiple_of(7) {
                    let resident = resident_bytes(folder.path());
                    // What is touched at the moment may be beyond, and is 2 MiB of each file at most.
                    let most = (4 << 20) + 3 * (2 << 20);
                    assert!(resident <= most, "{resident}");
                }
            }
        }
        // Every page has been checked, but not all of them are in memory.
        assert!(files[0].bytes(0..9 << 20).is_ok());
        assert!(files[0].checked_as_a_whole().is_none());
    }
}
