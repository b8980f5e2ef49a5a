//! The df table between the two passes of BM25: in memory if it fits, otherwise in its file, which
//! is sorted by term.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use hashbrown::HashMap;
use serde::{Deserialize, Serialize};

use super::rows::{each_row, row};
use tokapi_storage::error::{Error, Result};

/// Approximate number of bytes of the file read together. The first term of each such block is in
/// memory.
const BLOCK_BYTES: u64 = 8 << 10;
/// Number of cached blocks. Each task reads terms in order, at its own position.
const KEPT_BLOCKS: usize = 64;
/// Bytes of memory a term takes besides its text.
const TERM_BYTES: u64 = 48;

/// df by term.
#[derive(Serialize, Deserialize)]
pub(super) enum FrequencyTable {
    Memory(HashMap<Box<str>, u64>),
    File(FrequencyFile),
}

/// A file of lines `term<TAB>df`, terms ascending.
#[derive(Serialize, Deserialize)]
pub(super) struct FrequencyFile {
    #[serde(with = "tokapi_storage::paths")]
    path: PathBuf,
    /// The first term of every block, and the block's position.
    blocks: Vec<(Box<[u8]>, u64)>,
    length: u64,
    #[serde(skip)]
    open: OnceLock<File>,
    #[serde(skip)]
    kept: KeptBlocks,
}

/// Blocks by number modulo [`KEPT_BLOCKS`].
struct KeptBlocks(Vec<Mutex<KeptBlock>>);

/// A block with its number, once it is loaded.
type KeptBlock = Option<(usize, Arc<Block>)>;

/// The terms of a block, ascending.
type Block = Vec<(Box<[u8]>, u64)>;

impl Default for KeptBlocks {
    fn default() -> Self {
        KeptBlocks((0..KEPT_BLOCKS).map(|_| Mutex::default()).collect())
    }
}

impl FrequencyTable {
    /// The table in the file `path`, loaded to memory if it takes at most `memory_bytes`.
    ///
    /// # Errors
    /// The file cannot be read, or is not a df table.
    pub(super) fn open(path: &Path, memory_bytes: u64) -> Result<Self> {
        let (mut terms, mut bytes) = (HashMap::new(), 0);
        let mut file = FrequencyFile {
            path: path.to_path_buf(),
            blocks: Vec::new(),
            length: 0,
            open: OnceLock::new(),
            kept: KeptBlocks::default(),
        };
        let (mut last, mut ascends) = (Vec::new(), true);
        each_row(path, |at, line_bytes, term, df: u64| {
            let block_ends = file
                .blocks
                .last()
                .is_none_or(|&(_, first)| at - first >= BLOCK_BYTES);
            if block_ends {
                file.blocks.push((term.into(), at));
            }
            file.length = at + line_bytes;
            ascends &= last.is_empty() || last[..] < *term;
            last.clear();
            last.extend_from_slice(term);
            bytes += TERM_BYTES + term.len() as u64;
            match bytes <= memory_bytes {
                true => _ = terms.insert(Box::from(&*String::from_utf8_lossy(term)), df),
                false => terms = HashMap::new(),
            }
            Ok(())
        })?;
        match (bytes <= memory_bytes, ascends) {
            (true, _) => Ok(FrequencyTable::Memory(terms)),
            (false, true) => Ok(FrequencyTable::File(file)),
            (false, false) => Err(Error::Usage(format!(
                "{}: its terms are not in order; run bm25-local again",
                path.display()
            ))),
        }
    }

    /// The df of a term; none if no document has it.
    ///
    /// # Errors
    /// The file cannot be read, or has been changed.
    pub(super) fn get(&self, term: &str) -> Result<Option<u64>> {
        match self {
            FrequencyTable::Memory(terms) => Ok(terms.get(term).copied()),
            FrequencyTable::File(file) => file.get(term.as_bytes()),
        }
    }
}

impl FrequencyFile {
    fn get(&self, term: &[u8]) -> Result<Option<u64>> {
        let behind = self.blocks.partition_point(|(first, _)| **first <= *term);
        let Some(number) = behind.checked_sub(1) else {
            return Ok(None);
        };
        let block = self.block(number)?;
        let found = block.binary_search_by(|(other, _)| (**other).cmp(term));
        Ok(found.ok().map(|place| block[place].1))
    }

    fn block(&self, number: usize) -> Result<Arc<Block>> {
        let kept = self.kept.0[number % KEPT_BLOCKS].lock();
        let mut kept = kept.unwrap_or_else(PoisonError::into_inner);
        if let Some((of, block)) = &*kept
            && *of == number
        {
            return Ok(Arc::clone(block));
        }
        let block = Arc::new(self.read(number)?);
        *kept = Some((number, Arc::clone(&block)));
        Ok(block)
    }

    fn read(&self, number: usize) -> Result<Block> {
        let failed = |source| Error::Read {
            path: self.path.clone(),
            source,
        };
        let open = match self.open.get() {
            Some(open) => open,
            None => {
                let opened = File::open(&self.path).map_err(failed)?;
                self.open.get_or_init(|| opened)
            }
        };
        let from = self.blocks[number].1;
        let until = self
            .blocks
            .get(number + 1)
            .map_or(self.length, |&(_, at)| at);
        // A block, or one line of it, has been in memory before.
        let mut text = vec![0; (until - from) as usize];
        open.read_exact_at(&mut text, from).map_err(failed)?;
        let lines = text.split(|&byte| byte == b'\n');
        let rows = lines.filter(|line| !line.is_empty()).map(|line| {
            let (term, df) = row(line)?;
            Some((term.into(), df))
        });
        rows.collect::<Option<Block>>().ok_or_else(|| {
            Error::Usage(format!(
                "{}: it was changed while it was read; run bm25-local again",
                self.path.display()
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write;

    #[test]
    fn dfs_are_found_in_memory_and_in_the_file() {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        for count in [0, 1, 2000, 30_000] {
            let mut text = String::new();
            for n in 0..count {
                writeln!(text, "t{:06}\t{}", 2 * n, n + 1).unwrap();
            }
            std::fs::write(&path, &text).unwrap();
            for memory_bytes in [0, 1 << 30] {
                let table = FrequencyTable::open(&path, memory_bytes).unwrap();
                let df = |term: u64| table.get(&format!("t{term:06}")).unwrap();
                for n in 0..count {
                    assert_eq!(df(2 * n), Some(n + 1));
                    assert_eq!(df(2 * n + 1), None);
                }
                assert_eq!(
                    (table.get("").unwrap(), table.get("u").unwrap()),
                    (None, None)
                );
            }
        }
        std::fs::write(&path, "b\t1\na\t1\n").unwrap();
        assert!(FrequencyTable::open(&path, 0).is_err());
        assert!(FrequencyTable::open(&path, 1 << 20).is_ok());
        std::fs::write(&path, "b\t1\na\n").unwrap();
        assert!(FrequencyTable::open(&path, 1 << 20).is_err());
    }
}
