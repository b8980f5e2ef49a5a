//! Text made in parallel, compressed in parallel, written in order.
//!
//! The text comes in numbered units, each formatted on its own. Compressed output is cut into
//! pieces ([`crate::compress`]). Whoever formats says where a piece ends, so that the bytes depend
//! on neither the number of threads nor the order in which they finish.

use std::borrow::Cow;
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

use rayon::prelude::*;

use super::Staged;
use crate::compress::{Compression, Effort};
use crate::error::Result;

/// The text of one unit.
#[derive(Debug, Default)]
pub(super) struct Text {
    pub bytes: Vec<u8>,
    /// Where in `bytes` a piece ends, ascending; what follows the last is continued by the next
    /// unit.
    pub cuts: Vec<usize>,
}

impl Text {
    /// A text that is one piece.
    pub fn whole(bytes: Vec<u8>) -> Self {
        let cuts = vec![bytes.len()];
        Text { bytes, cuts }
    }
}

/// Writes what `format` makes of the units `0..count` to `path`, compressed as its name tells.
///
/// As many units as the pool has threads are formatted at a time, while those before them are
/// written; no more than that is in memory.
///
/// # Errors
/// What `format` or the file's system says.
pub(super) fn write<F>(path: &Path, count: usize, format: F) -> Result<Staged>
where
    F: Fn(usize) -> io::Result<Text> + Sync,
{
    let mut staged = Staged::create(path)?;
    let batch_units = rayon::current_num_threads();
    let batches = (0..count).step_by(batch_units);
    let batches = batches.map(|from| from..count.min(from + batch_units));
    write_batches(
        &mut staged,
        Pieces::new(Compression::of_name(path)),
        batches,
        format,
    )
    .map_err(|source| staged.failed(source))?;
    Ok(staged)
}

fn write_batches<F>(
    file: &mut Staged,
    mut pieces: Pieces,
    batches: impl Iterator<Item = Range<usize>>,
    format: F,
) -> io::Result<()>
where
    F: Fn(usize) -> io::Result<Text> + Sync,
{
    let mut ready = Vec::new();
    for batch in batches {
        let (written, made) = rayon::join(
            || write_each(file, &ready),
            || {
                let texts = batch.into_par_iter().map(&format);
                pieces.of(texts.collect::<io::Result<_>>()?)
            },
        );
        written?;
        ready = made?;
    }
    write_each(file, &ready)?;
    write_each(file, &pieces.last()?)
}

fn write_each(file: &mut Staged, pieces: &[Vec<u8>]) -> io::Result<()> {
    pieces.iter().try_for_each(|piece| file.write_all(piece))
}

/// Joins texts, cuts them into pieces and compresses these.
struct Pieces {
    compression: Compression,
    /// The beginning of a piece that has not ended yet; stays empty where nothing is compressed.
    open: Vec<u8>,
    /// Whether there was any piece.
    any: bool,
}

impl Pieces {
    fn new(compression: Compression) -> Self {
        Pieces {
            compression,
            open: Vec::new(),
            any: false,
        }
    }

    /// The pieces that end in `texts`, which follow on those given before.
    fn of(&mut self, texts: Vec<Text>) -> io::Result<Vec<Vec<u8>>> {
        if self.compression == Compression::None {
            return Ok(texts.into_iter().map(|text| text.bytes).collect());
        }
        let mut pieces = Vec::new();
        for text in &texts {
            let mut from = 0;
            for &cut in &text.cuts {
                let end = &text.bytes[from..cut];
                from = cut;
                pieces.push(if self.open.is_empty() {
                    Cow::Borrowed(end)
                } else {
                    self.open.extend_from_slice(end);
                    Cow::Owned(std::mem::take(&mut self.open))
                });
            }
            self.open.extend_from_slice(&text.bytes[from..]);
        }
        self.any |= !pieces.is_empty();
        let pieces = pieces.par_iter();
        pieces
            .map(|piece| packed(self.compression, piece))
            .collect()
    }

    /// The piece that the end of the text ends. There is at least one in a compressed file, since
    /// no bytes at all are not a gzip file.
    fn last(self) -> io::Result<Vec<Vec<u8>>> {
        if self.compression == Compression::None || (self.any && self.open.is_empty()) {
            return Ok(Vec::new());
        }
        Ok(vec![packed(self.compression, &self.open)?])
    }
}

fn packed(compression: Compression, piece: &[u8]) -> io::Result<Vec<u8>> {
    let mut packed = Vec::new();
    compression.pack(piece, Effort::Usual, &mut packed)?;
    Ok(packed)
}

#[cfg(test)]
mod tests {
    use super::super::sample::{committed, in_pool, unpacked};
    use super::*;

    /// The numbers of a range, one a line; a piece ends after every third.
    fn lines(numbers: Range<usize>) -> io::Result<Text> {
        let mut text = Text::default();
        for number in numbers {
            writeln!(text.bytes, "{number}")?;
            if (number + 1) % 3 == 0 {
                text.cuts.push(text.bytes.len());
            }
        }
        Ok(text)
    }

    #[test]
    fn bytes_depend_neither_on_units_nor_on_threads() {
        let dir = tempfile::tempdir().unwrap();
        let whole = lines(0..190).unwrap().bytes;
        for name in ["a.txt", "a.txt.gz", "a.TXT.ZST"] {
            let path = dir.path().join(name);
            let mut same = Vec::new();
            for (threads, size) in [(1, 190), (1, 1), (2, 7), (16, 7), (16, 2), (2, 100)] {
                let unit = |unit: usize| lines(unit * size..190.min((unit + 1) * size));
                let staged = in_pool(threads, || write(&path, 190_usize.div_ceil(size), unit));
                same.push(committed(staged.unwrap()));
            }
            assert_eq!(unpacked(&path, &same[0]), whole, "{name}");
            assert!(same.iter().all(|bytes| *bytes == same[0]), "{name}");
        }
    }

    #[test]
    fn no_text_is_a_valid_file() {
        let dir = tempfile::tempdir().unwrap();
        for (name, empty) in [("a", true), ("a.gz", false), ("a.zst", false)] {
            let path = dir.path().join(name);
            let bytes = committed(write(&path, 0, |_| lines(0..0)).unwrap());
            assert_eq!(bytes.is_empty(), empty, "{name}");
            assert_eq!(unpacked(&path, &bytes), b"", "{name}");
        }
    }

    #[test]
    fn an_error_names_the_file_and_leaves_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.gz");
        let fails = |unit| match unit {
            7 => Err(io::Error::other("seven")),
            unit => lines(unit..unit + 1),
        };
        let error = write(&path, 9, fails).err().unwrap().to_string();
        assert!(error.starts_with(path.to_str().unwrap()), "{error}");
        assert!(error.contains("seven"), "{error}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
