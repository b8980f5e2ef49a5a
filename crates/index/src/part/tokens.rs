//! The text of every document as a sequence of terms, for phrases.
//!
//! A term is coded by its rank; the most frequent term has rank 0. The code is an end-tagged dense
//! code (Brisaboa et al., "Lightweight natural language text compression", 2007): digits of seven
//! bits, of which only the last has its high bit set. A phrase is the concatenation of its codes.
//! It occurs in a document exactly where these bytes occur, unless they begin inside a code; the
//! byte before shows that. So phrases are searched in the stored bytes, and nothing is decoded.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::file::{PageFile, PageWriter};
use super::layout;
use super::lists::Lists;
use super::note::PartNote;
use super::window::Window;
use tokapi_storage::error::Result;

/// Marks the last byte of a code.
const END: u8 = 128;

/// Whether a byte is the last of a code.
pub(crate) fn is_last(byte: u8) -> bool {
    byte >= END
}

/// Adds the code of a rank.
pub(crate) fn push_code(rank: u32, bytes: &mut Vec<u8>) {
    let mut digits = [0; 5];
    let mut at = digits.len() - 1;
    let mut rest = rank;
    // Below 128.
    digits[at] = END | (rest % 128) as u8;
    while rest >= 128 {
        rest = rest / 128 - 1;
        at -= 1;
        digits[at] = (rest % 128) as u8;
    }
    bytes.extend_from_slice(&digits[at..]);
}

/// Decodes the rank at the beginning of `bytes`; none if they do not begin with a code.
pub(crate) fn take_code(bytes: &mut &[u8]) -> Option<u32> {
    let mut rank = 0u32;
    loop {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        rank = rank.checked_add(u32::from(byte % 128))?;
        if is_last(byte) {
            return Some(rank);
        }
        rank = rank.checked_add(1)?.checked_mul(128)?;
    }
}

/// The concatenated codes of several terms, to be searched for.
pub(crate) struct Codes(memchr::memmem::Finder<'static>);

impl Codes {
    /// The codes of the terms with these ranks, of which there is at least one.
    pub fn new(ranks: impl IntoIterator<Item = u32>) -> Self {
        let mut bytes = Vec::new();
        ranks
            .into_iter()
            .for_each(|rank| push_code(rank, &mut bytes));
        Codes(memchr::memmem::Finder::new(&bytes).into_owned())
    }

    /// Whether the phrase occurs in the codes of a document.
    pub fn occur_in(&self, document: &[u8]) -> bool {
        let mut from = 0;
        while let Some(at) = self.0.find(&document[from..]) {
            let at = from + at;
            if at == 0 || is_last(document[at - 1]) {
                return true;
            }
            from = at + 1;
        }
        false
    }
}

/// The rank of every term of a part.
pub(crate) struct TermRanks {
    file: Arc<PageFile>,
    /// The offset of the table with the number of terms before every shard, and the number of
    /// shards.
    bases: (usize, usize),
}

impl TermRanks {
    /// Ranks the terms of `lists` by descending df, and writes the ranks to `folder`.
    pub fn write(
        folder: &Path,
        lists: &Lists,
        note: &mut PartNote,
        window: &Window,
    ) -> Result<Self> {
        let mut terms_of_df: BTreeMap<u64, u32> = BTreeMap::new();
        for shard in 0..lists.shard_count() {
            for df in lists.dfs_of_shard(shard)? {
                *terms_of_df.entry(df).or_default() += 1;
            }
        }
        let mut next = 0;
        for count in terms_of_df.values_mut().rev() {
            // The sum is the number of terms, which is below 2^32.
            next += std::mem::replace(count, next);
        }
        let mut writer = PageWriter::create(folder.join(layout::RANKS.name))?;
        let mut bases = vec![0u64];
        for shard in 0..lists.shard_count() {
            let dfs = lists.dfs_of_shard(shard)?;
            bases.push(bases[shard] + dfs.len() as u64);
            for df in dfs {
                let rank = terms_of_df.entry(df).or_default();
                writer.write(&rank.to_le_bytes())?;
                *rank += 1;
            }
        }
        writer.align(8)?;
        let at = writer.at();
        writer.write(bytemuck::cast_slice(&bases))?;
        writer.write(bytemuck::bytes_of(&[at, bases.len() as u64]))?;
        let written = writer.finish(layout::RANKS.kind)?;
        note.files.insert(layout::RANKS.name.into(), written);
        TermRanks::open(folder, note, window)
    }

    fn open(folder: &Path, note: &PartNote, window: &Window) -> Result<Self> {
        let file = note.open(folder, layout::RANKS, window)?;
        Ok(TermRanks {
            bases: file.trailer()?,
            file,
        })
    }

    /// The rank of a term; none if the part does not have the term.
    pub fn of(&self, lists: &Lists, term: &[u8]) -> Result<Option<u32>> {
        match lists.place(term)? {
            Some((shard, id)) => self.at(shard, id).map(Some),
            None => Ok(None),
        }
    }

    /// The rank of term `id` of a shard.
    pub fn at(&self, shard: usize, id: u32) -> Result<u32> {
        if shard >= self.bases.1 {
            return Err(self.file.damaged("it ranks fewer terms than there are"));
        }
        let base = self.file.slice::<u64>(self.bases.0 + 8 * shard, 1)?[0] as usize;
        let at = base.saturating_add(id as usize).saturating_mul(4);
        Ok(self.file.slice::<u32>(at, 1)?[0])
    }
}

/// The documents of a part as sequences of terms.
pub struct Tokens {
    pub ranks: TermRanks,
    codes: Arc<PageFile>,
    /// The end of every document's codes.
    ends: Arc<PageFile>,
}

impl Tokens {
    /// Opens the files in `folder`.
    pub fn open(folder: &Path, note: &PartNote, window: &Window) -> Result<Self> {
        Ok(Tokens {
            ranks: TermRanks::open(folder, note, window)?,
            codes: note.open(folder, layout::TOKENS, window)?,
            ends: note.open(folder, layout::TOKEN_ENDS, window)?,
        })
    }

    /// The files and their names.
    pub fn files(&self) -> [(&'static str, &PageFile); 3] {
        [
            (layout::RANKS.name, &self.ranks.file),
            (layout::TOKENS.name, &self.codes),
            (layout::TOKEN_ENDS.name, &self.ends),
        ]
    }

    /// The codes of a document's terms.
    pub fn document(&self, document: u32) -> Result<&[u8]> {
        let end = |document: u32| -> Result<usize> {
            Ok(self.ends.slice::<u64>(8 * document as usize, 1)?[0] as usize)
        };
        let start = match document.checked_sub(1) {
            Some(before) => end(before)?,
            None => 0,
        };
        self.codes.bytes(start..end(document)?)
    }

    /// The error that the files are damaged.
    pub fn damaged(&self) -> tokapi_storage::error::Error {
        self.codes
            .damaged("the terms of a document are not what was written")
    }
}

/// Writes the documents of a part as sequences of terms.
pub(crate) struct TokensWriter {
    codes: PageWriter,
    ends: PageWriter,
}

impl TokensWriter {
    /// Begins the files in `folder`.
    pub fn create(folder: &Path) -> Result<Self> {
        Ok(TokensWriter {
            codes: PageWriter::create(folder.join(layout::TOKENS.name))?,
            ends: PageWriter::create(folder.join(layout::TOKEN_ENDS.name))?,
        })
    }

    /// Adds a document, by the codes of its terms.
    pub fn push(&mut self, codes: &[u8]) -> Result<()> {
        self.codes.write(codes)?;
        self.ends.write(&self.codes.at().to_le_bytes())
    }

    /// Ends the files.
    pub fn finish(self, note: &mut PartNote) -> Result<()> {
        for (file, writer) in [
            (layout::TOKENS, self.codes),
            (layout::TOKEN_ENDS, self.ends),
        ] {
            let written = writer.finish(file.kind)?;
            note.files.insert(file.name.into(), written);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn codes_come_back(ranks in prop::collection::vec(prop_oneof![0..300u32, 16_000..17_000u32, any::<u32>()], 0..50)) {
            let mut bytes = Vec::new();
            ranks.iter().for_each(|&rank| push_code(rank, &mut bytes));
            let mut rest = &bytes[..];
            for &rank in &ranks {
                prop_assert_eq!(take_code(&mut rest), Some(rank));
            }
            prop_assert_eq!(take_code(&mut rest), None);
        }

        #[test]
        fn phrases_are_found_where_they_are(
            document in prop::collection::vec(prop_oneof![0..4u32, 126..132u32, 16_510..16_514u32], 0..60),
            phrase in prop::collection::vec(prop_oneof![0..4u32, 126..132u32, 16_510..16_514u32], 1..4),
        ) {
            let mut bytes = Vec::new();
            document.iter().for_each(|&rank| push_code(rank, &mut bytes));
            let is_there = document.windows(phrase.len()).any(|window| window == phrase);
            prop_assert_eq!(Codes::new(phrase).occur_in(&bytes), is_there);
        }
    }

    #[test]
    fn frequent_terms_have_short_codes() {
        let bytes = |rank| {
            let mut bytes = Vec::new();
            push_code(rank, &mut bytes);
            bytes.len()
        };
        let limits = [0, 127, 128, 128 + 16_383, 128 + 16_384, u32::MAX];
        assert_eq!(limits.map(bytes), [1, 1, 2, 2, 3, 5]);
    }
}
