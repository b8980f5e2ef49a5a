//! Text made in parallel, compressed in parallel, written in order.
//!
//! The text comes in units, and each is formatted alone. Compressed output is cut into pieces
//! ([`tokapi_storage::compress`]). The formatter sets the ends of pieces. So the bytes depend neither on the number of
//! threads nor on their timing.

use std::io::{self, Write};
use std::path::Path;

use tokapi_storage::compress::{Compression, Effort};
use tokapi_storage::error::{Error, Result};
use tokapi_storage::pipeline::Stages;
use tokapi_storage::progress::Progress;
use tokapi_storage::whole::Staged;

/// The text of one unit.
#[derive(Debug, Default)]
pub(super) struct Text {
    pub bytes: Vec<u8>,
    /// The ends of pieces in `bytes`, ascending. The next unit continues the bytes after the last one.
    pub cuts: Vec<usize>,
    /// Whether the bytes continue a piece that an earlier unit began.
    pub goes_on: bool,
}

impl Text {
    /// A text that is one piece.
    pub fn whole(bytes: Vec<u8>) -> Self {
        Text {
            cuts: vec![bytes.len()],
            bytes,
            goes_on: false,
        }
    }
}

/// Formats the units of `next` and writes their text to `path`, with the compression that its name tells. The second
/// result of `format` goes to `also`, in order.
///
/// # Errors
/// An error of `next`, `format` or `also`; the file cannot be written; `progress` is cancelled.
pub(super) fn write<I: Send, E: Send>(
    path: &Path,
    progress: &Progress,
    stages: Stages,
    mut next: impl FnMut() -> Result<Option<I>> + Send,
    format: impl Fn(I) -> Result<(Text, E)> + Sync,
    mut also: impl FnMut(E) -> Result<()>,
) -> Result<Staged> {
    let mut staged = Staged::create(path)?;
    let compression = Compression::of_name(path);
    let failed = Error::writing(path);
    let worker = || {
        |unit: I| {
            let (text, more) = format(unit)?;
            let packed = Packed::new(compression, text).map_err(failed)?;
            Ok((packed, more))
        }
    };
    let mut open = Vec::new();
    let mut any = false;
    let write = |(packed, more): (Packed, E)| {
        any |= packed.any;
        packed
            .write(compression, &mut open, &mut staged)
            .map_err(failed)?;
        also(more)
    };
    let next = || {
        progress.check()?;
        next()
    };
    staged.times = stages.run(next, worker, write)?;
    // A compressed file has at least one piece: an empty file is not a gzip file.
    if compression != Compression::None && !(any && open.is_empty()) {
        let last = pack(compression, &open).map_err(failed)?;
        staged.write_all(&last).map_err(failed)?;
    }
    Ok(staged)
}

/// The units `0..count`.
pub(super) fn units(count: usize) -> impl FnMut() -> Result<Option<usize>> + Send {
    let mut units = 0..count;
    move || Ok(units.next())
}

/// A unit with its complete pieces compressed.
#[derive(Default)]
struct Packed {
    /// The end of a piece that an earlier unit began.
    head: Vec<u8>,
    /// Whole pieces, ready to be written.
    pieces: Vec<u8>,
    /// The beginning of a piece that a later unit ends.
    tail: Vec<u8>,
    /// Whether a piece ends here.
    any: bool,
}

impl Packed {
    fn new(compression: Compression, text: Text) -> io::Result<Self> {
        let Text {
            mut bytes,
            mut cuts,
            goes_on,
        } = text;
        let mut packed = Packed::default();
        if compression == Compression::None {
            packed.pieces = bytes;
            return Ok(packed);
        }
        packed.any = !cuts.is_empty();
        packed.tail = bytes.split_off(cuts.last().copied().unwrap_or(0));
        if !goes_on {
            cuts.insert(0, 0);
        }
        for piece in cuts.windows(2) {
            let piece = &bytes[piece[0]..piece[1]];
            compression.pack(piece, Effort::Usual, &mut packed.pieces)?;
        }
        bytes.truncate(cuts.first().copied().unwrap_or(0));
        packed.head = bytes;
        Ok(packed)
    }

    /// Writes the pieces that end here. The rest stays in `open`.
    fn write(
        self,
        compression: Compression,
        open: &mut Vec<u8>,
        file: &mut Staged,
    ) -> io::Result<()> {
        open.extend_from_slice(&self.head);
        if self.any && !open.is_empty() {
            file.write_all(&pack(compression, open)?)?;
            open.clear();
        }
        file.write_all(&self.pieces)?;
        open.extend_from_slice(&self.tail);
        Ok(())
    }
}

fn pack(compression: Compression, piece: &[u8]) -> io::Result<Vec<u8>> {
    let mut packed = Vec::new();
    compression.pack(piece, Effort::Usual, &mut packed)?;
    Ok(packed)
}

#[cfg(test)]
mod tests {
    use super::super::sample::{committed, unpacked};
    use super::*;
    use std::ops::Range;

    /// The numbers of a range, one a line; a piece ends after every third.
    fn lines(numbers: Range<usize>) -> Text {
        let mut text = Text {
            goes_on: !numbers.start.is_multiple_of(3),
            ..Text::default()
        };
        for number in numbers {
            writeln!(text.bytes, "{number}").unwrap();
            if (number + 1) % 3 == 0 {
                text.cuts.push(text.bytes.len());
            }
        }
        text
    }

    fn write_units(
        path: &Path,
        threads: usize,
        count: usize,
        format: impl Fn(usize) -> Result<Text> + Sync,
    ) -> Result<Staged> {
        let stages = Stages::new(threads, true);
        let format = |unit| Ok((format(unit)?, ()));
        write(path, &Progress::new(), stages, units(count), format, Ok)
    }

    #[test]
    fn bytes_depend_neither_on_units_nor_on_threads() {
        let dir = tempfile::tempdir().unwrap();
        let whole = lines(0..190).bytes;
        for name in ["a.txt", "a.txt.gz", "a.TXT.ZST"] {
            let path = dir.path().join(name);
            let mut same = Vec::new();
            for (threads, size) in [(1, 190), (1, 1), (2, 7), (16, 7), (16, 2), (2, 100)] {
                let unit = |unit: usize| Ok(lines(unit * size..190.min((unit + 1) * size)));
                let staged = write_units(&path, threads, 190_usize.div_ceil(size), unit);
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
            let bytes = committed(write_units(&path, 2, 0, |_| Ok(lines(0..0))).unwrap());
            assert_eq!(bytes.is_empty(), empty, "{name}");
            assert_eq!(unpacked(&path, &bytes), b"", "{name}");
        }
    }

    #[test]
    fn an_error_names_the_file_and_leaves_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.gz");
        let fails = |unit| match unit {
            7 => Err(Error::writing(&path)(io::Error::other("seven"))),
            unit => Ok(lines(unit..unit + 1)),
        };
        let error = write_units(&path, 3, 9, fails).err().unwrap().to_string();
        assert!(error.starts_with(path.to_str().unwrap()), "{error}");
        assert!(error.contains("seven"), "{error}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
