//! The terms of documents: made up, or read from a list with counts.

use std::io::Read;
use std::path::Path;

use hashbrown::HashMap;

use super::{law, sampler::Sampler, words};
use tokapi_storage::error::{Error, Place, Position, Result};

/// The number of terms of the published collections.
pub const RANKS: u32 = 10_000_000;

/// Terms by falling count, and the frequency of each.
///
/// The built-in vocabulary is made up: pronounceable lower-case words. Its counts and word lengths give collections the
/// sizes of the published ones. It needs no file and takes a few milliseconds.
#[derive(Debug, Clone)]
pub struct Vocabulary {
    ranks: u32,
    /// The listed terms, one after another; none for the built-in vocabulary.
    text: Vec<u8>,
    /// The start and end of each listed term in `text`, by falling count.
    spans: Vec<(usize, usize)>,
    counts: Vec<u64>,
    /// The ranks of made-up words that are in the list, ascending, each less the number of those before it.
    taken: Vec<u32>,
}

impl Default for Vocabulary {
    /// The built-in vocabulary of [`RANKS`] terms.
    fn default() -> Self {
        Self {
            ranks: RANKS,
            text: Vec::new(),
            spans: Vec::new(),
            counts: Vec::new(),
            taken: Vec::new(),
        }
    }
}

impl Vocabulary {
    /// The built-in vocabulary, shortened or extended to `ranks` terms.
    ///
    /// # Errors
    /// [`Error::Usage`] if `ranks` is 0 or exceeds the number of made-up words.
    pub fn built_in(ranks: u32) -> Result<Self> {
        check(ranks)?;
        Ok(Self {
            ranks,
            ..Self::default()
        })
    }

    /// Reads a list, `term<TAB>count` on every line, in any order; gzip and zstd are recognised.
    ///
    /// With `ranks`, only the most frequent `ranks` terms are kept. A shorter list is extended by made-up words that
    /// are not in it: the word at rank r has the count last * (r / n)^-1.443, where n is the number of listed terms and
    /// `last` the smallest count. Without `ranks`, the list is the vocabulary.
    ///
    /// # Errors
    /// [`Error::Read`] if the file cannot be read. [`Error::Input`] with the line for anything but a term, a tab and a
    /// count above zero, for a term with white space or control characters, for a term listed twice, and for an empty
    /// list. [`Error::Usage`] as for [`Vocabulary::built_in`].
    pub fn read(path: &Path, ranks: Option<u32>) -> Result<Self> {
        ranks.map_or(Ok(()), check)?;
        let text = read_text(path)?;
        let (spans, counts) = parse(&text).map_err(|(position, what)| Error::Input {
            place: Place {
                path: path.to_owned(),
                position,
            },
            what,
        })?;
        let too_long = |_| Error::Limit(format!("{}: more than 2^32 terms", path.display()));
        let listed = u32::try_from(spans.len()).map_err(too_long)?;
        let mut vocabulary = Self {
            ranks: ranks.unwrap_or(listed),
            text,
            spans,
            counts,
            taken: Vec::new(),
        };
        vocabulary.spans.truncate(vocabulary.ranks as usize);
        vocabulary.counts.truncate(vocabulary.ranks as usize);
        if vocabulary.ranks > listed {
            vocabulary.find_taken();
        }
        Ok(vocabulary)
    }

    /// The number of terms.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Every term, the most frequent first.
    pub fn terms(&self) -> impl Iterator<Item = Vec<u8>> {
        let listed = self.listed().map(<[u8]>::to_vec);
        // At most as many terms are listed as there are ranks.
        let made_up = (self.spans.len() as u32..self.ranks).map(|rank| self.made_up(rank));
        listed.chain(made_up.map(|word| word.as_bytes().to_vec()))
    }

    /// The terms read from a list, the most frequent first.
    pub(super) fn listed(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.spans
            .iter()
            .map(|&(start, end)| &self.text[start..end])
    }

    /// The made-up word at a rank counted from 0. It differs from all listed terms.
    pub(super) fn made_up(&self, rank: u32) -> words::Word {
        // Ranks below LAST_RANK, and fewer taken than listed: no overflow.
        let skipped = self.taken.partition_point(|&taken| taken <= rank + 1);
        words::word(rank + 1 + skipped as u32)
    }

    pub(super) fn sampler(&self) -> Sampler {
        let (hot, cold) = if self.counts.is_empty() {
            law::built_in(self.ranks)
        } else {
            law::listed(&self.counts, self.ranks)
        };
        Sampler::new(&hot, &cold)
    }

    fn find_taken(&mut self) {
        // Only ranks after the list are made up.
        let listed = self.spans.len() as u32;
        let ranks = self
            .listed()
            .filter_map(words::rank)
            .filter(|&rank| rank > listed);
        let mut taken: Vec<u32> = ranks.collect();
        taken.sort_unstable();
        for (before, rank) in (0..).zip(&mut taken) {
            *rank -= before;
        }
        self.taken = taken;
    }
}

fn check(ranks: u32) -> Result<()> {
    // Half of the words stay in reserve, because lists may take some of them.
    let most = words::LAST_RANK / 2;
    if (1..=most).contains(&ranks) {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "a vocabulary has 1 to {most} terms, not {ranks}"
    )))
}

fn read_text(path: &Path) -> Result<Vec<u8>> {
    let read = || {
        let raw = std::fs::read(path)?;
        let mut text = Vec::new();
        if raw.starts_with(&[0x1f, 0x8b]) {
            flate2::read::MultiGzDecoder::new(&raw[..]).read_to_end(&mut text)?;
        } else if raw.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            zstd::Decoder::new(&raw[..])?.read_to_end(&mut text)?;
        } else {
            text = raw;
        }
        Ok(text)
    };
    read().map_err(|source| Error::Read {
        path: path.to_owned(),
        source,
    })
}

type Listed = (Vec<(usize, usize)>, Vec<u64>);

/// The terms of a list and their counts, by falling count; equal counts stay in the list's order.
fn parse(text: &[u8]) -> std::result::Result<Listed, (Position, String)> {
    let mut terms: Vec<((usize, usize), u64)> = Vec::new();
    let mut lines: HashMap<&[u8], u64> = HashMap::new();
    let mut start = 0;
    for (number, line) in (1..).zip(text.split_inclusive(|&byte| byte == b'\n')) {
        let at = start;
        start += line.len();
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let fail = |what: String| Err((Position::Line(number), what));
        let Some(tab) = memchr::memchr(b'\t', line) else {
            return fail("no tab; every line is a term, a tab and a count".to_owned());
        };
        let (term, count) = (&line[..tab], &line[tab + 1..]);
        let Ok(term_text) = std::str::from_utf8(term) else {
            return fail("the term is not UTF-8".to_owned());
        };
        if term.is_empty() || term_text.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return fail("the term is empty or holds white space; remove the line".to_owned());
        }
        let count_text = String::from_utf8_lossy(count);
        let Some(count) = count_text.parse::<u64>().ok().filter(|&count| count > 0) else {
            return fail(format!(
                "`{count_text}` is not a count, a whole number above zero"
            ));
        };
        if let Some(first) = lines.insert(term, number) {
            return fail(format!("`{term_text}` is listed already, on line {first}"));
        }
        terms.push(((at, at + tab), count));
    }
    if terms.is_empty() {
        return Err((
            Position::Whole,
            "no terms; every line is a term, a tab and a count".to_owned(),
        ));
    }
    terms.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    Ok(terms.into_iter().unzip())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn read(bytes: &[u8], ranks: Option<u32>) -> Result<Vocabulary> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        Vocabulary::read(file.path(), ranks)
    }

    #[test]
    fn plain_and_compressed_lists() {
        let list = b"of\t13\r\nthe\t23\nand\t13";
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(list).unwrap();
        let zstd = zstd::encode_all(&list[..], 1).unwrap();
        for bytes in [&list[..], &gzip.finish().unwrap(), &zstd] {
            let vocabulary = read(bytes, None).unwrap();
            let terms: Vec<&[u8]> = vocabulary.listed().collect();
            assert_eq!(terms, [&b"the"[..], b"of", b"and"]);
            assert_eq!(
                (vocabulary.ranks(), vocabulary.counts),
                (3, vec![23, 13, 13])
            );
        }
        assert_eq!(read(list, Some(2)).unwrap().listed().len(), 2);
    }

    #[test]
    fn broken_lists_name_the_line() {
        for (bytes, expected) in [
            (&b""[..], ": no terms"),
            (b"a\t1\nb", ", line 2: no tab"),
            (b"a\t1\n\nb\t1\n", ", line 2: no tab"),
            (b"a\t1\n\t2\n", ", line 2: the term is empty"),
            (
                b"a b\t1\n",
                ", line 1: the term is empty or holds white space",
            ),
            (b"a\t0\n", ", line 1: `0` is not a count"),
            (b"a\t1\tx\n", ", line 1: `1\tx` is not a count"),
            (b"a\t-4\n", ", line 1: `-4` is not a count"),
            (
                b"a\t1\nb\t1\na\t2\n",
                ", line 3: `a` is listed already, on line 1",
            ),
            (b"\xff\t1\n", ", line 1: the term is not UTF-8"),
        ] {
            let message = read(bytes, Some(RANKS)).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
        let missing = Vocabulary::read(Path::new("/no/such/list"), None).unwrap_err();
        assert!(matches!(missing, Error::Read { .. }));
        assert!(matches!(Vocabulary::built_in(0), Err(Error::Usage(_))));
    }

    #[test]
    fn made_up_words_avoid_the_list() {
        let mut list = String::from("the\t90\n");
        for rank in [1, 3, 4, 5, 9, 50, 2000] {
            let word = words::word(rank);
            list += &format!(
                "{}\t{}\n",
                str::from_utf8(word.as_bytes()).unwrap(),
                80 - rank / 100
            );
        }
        let vocabulary = read(list.as_bytes(), Some(5000)).unwrap();
        let mut seen: std::collections::HashSet<Vec<u8>> =
            vocabulary.listed().map(<[u8]>::to_vec).collect();
        assert_eq!(seen.len(), 8);
        for rank in 8..5000 {
            assert!(
                seen.insert(vocabulary.made_up(rank).as_bytes().to_vec()),
                "rank {rank}"
            );
        }
    }
}
