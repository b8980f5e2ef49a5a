//! One term per line; an empty line ends a document. Documents have numbers, not ids.
//!
//! The lines are text like any other, and the analyzer cuts them. `plain` lower-cases them, and `whitespace` leaves
//! them unchanged.

use super::chunk::Span;
use super::format::empty_line;
use super::segment::{NOT_UTF8, Sink};
use tokapi_storage::error::Result;

/// Parses `bytes` and appends to the chunk.
pub(super) fn parse(bytes: &[u8], sink: &mut Sink<'_>) -> Result<()> {
    let base = sink.chunk.text.len();
    sink.chunk.text.extend_from_slice(bytes);
    // Separates the last document from the following text.
    sink.chunk.text.push(b'\n');
    let to = base + bytes.len();
    spans(base, to, sink)
}

/// Parses the text that is already in the chunk.
pub(super) fn parse_in_place(sink: &mut Sink<'_>) -> Result<()> {
    let to = sink.chunk.text.len();
    spans(0, to, sink)
}

/// Finds the documents in `text[from..to]`.
fn spans(from: usize, to: usize, sink: &mut Sink<'_>) -> Result<()> {
    let carriage_returns = memchr::memchr(b'\r', &sink.chunk.text[from..to]).is_some();
    let mut start = from;
    while start < to {
        let text = &sink.chunk.text[..to];
        let (end, next) = document_end(text, start, carriage_returns);
        match std::str::from_utf8(&text[start..end]) {
            Ok(_) => {
                sink.chunk.spans.push(Span { start, end });
                sink.chunk.ids.push(b"");
            }
            Err(error) => {
                let at = start + error.valid_up_to() - from;
                let text = std::mem::take(&mut sink.chunk.text);
                let skipped = sink.skip_at(&text[from..], at, || NOT_UTF8);
                sink.chunk.text = text;
                // The bytes must not become text of a neighbour, but their lines still count.
                let bad = sink.chunk.text[start..end].iter_mut();
                bad.filter(|byte| **byte != b'\n')
                    .for_each(|byte| *byte = b' ');
                skipped?;
            }
        }
        start = next;
    }
    Ok(())
}

/// The end of the document that starts at `start`, before its last line end if any, and the start of the next document.
fn document_end(text: &[u8], start: usize, carriage_returns: bool) -> (usize, usize) {
    let empty_line = |at: usize| empty_line(&text[at..]).map(|length| at + length);
    if let Some(next) = empty_line(start) {
        return (start, next);
    }
    let found = if carriage_returns {
        let line_ends = memchr::memchr_iter(b'\n', &text[start..]).map(|at| start + at);
        line_ends
            .into_iter()
            .find_map(|at| Some((at, empty_line(at + 1)?)))
    } else {
        memchr::memmem::find(&text[start..], b"\n\n").map(|at| (start + at, start + at + 2))
    };
    found.unwrap_or((text.len(), text.len()))
}
