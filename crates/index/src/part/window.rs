//! A bound on the mapped index files in memory.
//!
//! Mapped pages count as memory of the process from the first touch until they are released. Files
//! opened with a window count their touched pages. When these exceed the window, all of them are
//! released. A page comes back from the system's cache or the disk on its next touch. Queries run
//! without a window: their pages belong to the system's cache.
//!
//! Linux 6.18 and later map a whole folio of the cache, up to 2 MiB, around a touched byte, and no
//! advice prevents this. So the window also reads the system's own count whenever a new piece is
//! touched. This takes a microsecond; checking the piece takes ten.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokapi_storage::memory::{MappedFiles, Memory};

/// The bytes that a system maps around a touched byte, if they are cached. This is the default of
/// Linux before 6.18; other systems map less.
pub(crate) const AROUND_BYTES: usize = 64 << 10;

/// A file whose pages can be released.
pub(crate) trait Release: Send + Sync {
    /// Releases its pages. They are read and checked again on the next touch.
    fn release(&self);
}

/// A bound on the bytes in memory of all files opened with it. The default is no bound.
#[derive(Clone, Default)]
pub(crate) struct Window(Option<Arc<Bounded>>);

struct Bounded {
    most_bytes: u64,
    touched_bytes: AtomicU64,
    /// The mapped file bytes of the process by the system's count, if it has one.
    mapped: Option<MappedFiles>,
    /// The part of them that stays after a release of all files: the program itself.
    others_bytes: AtomicU64,
    files: Mutex<Vec<Weak<dyn Release>>>,
}

impl Bounded {
    /// Whether the bytes in memory exceed the window.
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
    /// The window for a job that has `memory`.
    pub fn within(memory: &Memory) -> Self {
        Window::of(memory.mapped_bytes())
    }

    /// The window for a file that is read from front to back.
    pub fn sequential() -> Self {
        Window::of(16 << 20)
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

    /// Registers the file for release with the others.
    pub fn add(&self, file: &Arc<dyn Release>) {
        if let Some(bounded) = &self.0 {
            let mut files = bounded.files.lock().unwrap_or_else(PoisonError::into_inner);
            files.retain(|file| file.strong_count() > 0);
            files.push(Arc::downgrade(file));
        }
    }

    /// Counts bytes before they are touched. Releases all pages first if the sum would exceed the
    /// bound.
    pub fn touch(&self, bytes: u64) {
        let Some(bounded) = &self.0 else {
            return;
        };
        let before = bounded.touched_bytes.fetch_add(bytes, Ordering::Relaxed);
        if !bounded.is_over(before + bytes) {
            return;
        }
        let files = bounded.files.lock().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have released them meanwhile.
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

    /// The bytes in memory that this process maps from files whose path begins with `folder`.
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
        // In order, then at random.
        for step in [4096, 1_000_003] {
            let mut at = 0;
            for _ in 0..3000 {
                for (number, file) in files.iter().enumerate() {
                    assert_eq!(file.bytes(at..at + 1).unwrap(), [byte(at, number)]);
                }
                at = (at + step) % (9 << 20);
                if at.is_multiple_of(7) {
                    let resident = resident_bytes(folder.path());
                    // The pages being touched may exceed the bound by up to 2 MiB a file.
                    let most = (4 << 20) + 3 * (2 << 20);
                    assert!(resident <= most, "{resident}");
                }
            }
        }
        // Every page is checked by now, but not all are in memory.
        assert!(files[0].bytes(0..9 << 20).is_ok());
        assert!(files[0].checked_as_a_whole().is_none());
    }
}
