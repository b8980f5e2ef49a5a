//! The terms of an external collection with their df, ascending, in a scratch file.

use crate::lexicon::Lexicon;
use tokapi_storage::error::Result;
use tokapi_storage::scratch::frames::{FrameFile, FrameReader, FrameWriter, HEADER_BYTES};
use tokapi_storage::varint;

/// The number of terms in a frame.
const FRAME_TERMS: usize = 4 << 10;

/// A list of terms that is being written.
pub(crate) struct TermWriter {
    frames: FrameWriter,
    count: u64,
}

impl TermWriter {
    pub(super) fn new(frames: FrameWriter) -> Self {
        TermWriter { frames, count: 0 }
    }

    /// Adds terms. They must follow all earlier ones.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn push(&mut self, lexicon: &Lexicon, terms: std::ops::Range<usize>) -> Result<()> {
        self.count += terms.len() as u64;
        for from in terms.clone().step_by(FRAME_TERMS) {
            let to = terms.end.min(from + FRAME_TERMS);
            self.frames.push(|bytes| {
                for term in from..to {
                    let name = lexicon.terms.get(term);
                    varint::push(name.len() as u64, bytes);
                    bytes.extend_from_slice(name);
                    varint::push(lexicon.df[term], bytes);
                }
            })?;
        }
        Ok(())
    }

    /// The number of terms.
    pub(crate) fn len(&self) -> u64 {
        self.count
    }

    /// Finishes the list.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn finish(self) -> Result<TermReader> {
        let file = self.frames.finish()?;
        Ok(TermReader {
            frames: file.read(HEADER_BYTES, file.length, 1 << 20),
            file,
            ahead: Lexicon::default(),
            used: 0,
        })
    }
}

/// A list of terms, read front to back.
pub(crate) struct TermReader {
    file: FrameFile,
    frames: FrameReader,
    /// The terms of the current frame, and the number of those already returned.
    ahead: Lexicon,
    used: usize,
}

impl TermReader {
    /// The next `count` terms, fewer at the end; none if there are no more.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub(crate) fn next(&mut self, count: usize) -> Result<Option<Lexicon>> {
        let mut lexicon = Lexicon::default();
        while lexicon.df.len() < count {
            if self.used == self.ahead.df.len() {
                let Some(frame) = self.frames.next()? else {
                    break;
                };
                let frame = decode(frame);
                self.ahead =
                    frame.ok_or_else(|| self.file.corrupt("a term is not what was written"))?;
                self.used = 0;
                continue;
            }
            lexicon.terms.push(self.ahead.terms.get(self.used));
            lexicon.df.push(self.ahead.df[self.used]);
            self.used += 1;
        }
        Ok((!lexicon.df.is_empty()).then_some(lexicon))
    }
}

fn decode(mut bytes: &[u8]) -> Option<Lexicon> {
    let mut lexicon = Lexicon::default();
    while !bytes.is_empty() {
        let length = usize::try_from(varint::take(&mut bytes)?).ok()?;
        lexicon.terms.push(bytes.get(..length)?);
        bytes = &bytes[length..];
        lexicon.df.push(varint::take(&mut bytes)?);
    }
    Some(lexicon)
}
