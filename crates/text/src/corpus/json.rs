//! JSON objects in an array, `[{...}, {...}]`, or one after another, on any number of lines.
//!
//! [`State`] finds the ends of objects, front to back. An object is then read like a line of JSONL, on any thread.
//! Commas and brackets between objects are ignored.

use super::jsonl::{Fields, document};
use super::options::CorpusOptions;
use super::segment::Sink;
use tokapi_storage::error::Result;

/// The reason why an array is incomplete.
pub(super) const CUT_OFF: &str =
    "the array does not end: `]` is missing; the file is cut off or damaged; fetch it again";

/// The nesting depth of a byte in arrays and objects.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct State {
    /// Arrays around the objects.
    arrays: u64,
    /// Objects and arrays, counted from the outermost object.
    depth: u64,
    in_string: bool,
    /// Whether the previous byte is a backslash in a string.
    escaped: bool,
}

impl State {
    /// Whether an array is open outside of all objects.
    pub fn in_array(&self) -> bool {
        self.arrays > 0 && self.depth == 0 && !self.in_string
    }

    /// Scans to one past the next end of a record in `bytes`. A record is an object, or the text between two objects.
    pub fn next_end(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while at < bytes.len() {
            if self.in_string {
                if std::mem::take(&mut self.escaped) {
                    at += 1;
                    continue;
                }
                at += memchr::memchr2(b'"', b'\\', &bytes[at..])? + 1;
                match bytes[at - 1] {
                    b'"' => self.in_string = false,
                    _ => self.escaped = true,
                }
                continue;
            }
            at += 1;
            match bytes[at - 1] {
                b'"' => self.in_string = true,
                b'{' => self.depth += 1,
                b'[' if self.depth > 0 => self.depth += 1,
                b'[' => self.arrays += 1,
                b'}' | b']' if self.depth > 0 => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return Some(at);
                    }
                }
                b']' => {
                    self.arrays = self.arrays.saturating_sub(1);
                    return Some(at);
                }
                b',' if self.depth == 0 => return Some(at),
                _ => {}
            }
        }
        None
    }

    /// Scans `bytes`. Returns one past the last end of a record in them, and the state there.
    pub fn last_end(&mut self, bytes: &[u8]) -> Option<(usize, State)> {
        let (mut at, mut last) = (0, None);
        while let Some(end) = self.next_end(&bytes[at..]) {
            at += end;
            last = Some((at, *self));
        }
        last
    }
}

/// Parses whole objects and the text between them.
pub(super) fn parse(bytes: &[u8], options: &CorpusOptions, sink: &mut Sink<'_>) -> Result<()> {
    let fields = Fields::new(options);
    let is_between = |byte: u8| byte.is_ascii_whitespace() || matches!(byte, b',' | b'[' | b']');
    let mut at = 0;
    while at < bytes.len() {
        let end = State::default().next_end(&bytes[at..]);
        let record = &bytes[at..end.map_or(bytes.len(), |end| at + end)];
        let from = at;
        at += record.len();
        let Some(before) = record.iter().position(|&byte| !is_between(byte)) else {
            continue;
        };
        let mut record = &record[before..];
        while let Some((&last, rest)) = record.split_last()
            && record[0] != b'{'
            && is_between(last)
        {
            record = rest;
        }
        if let Err(problem) = document(record, &fields, sink) {
            let place = from + before + problem.line_start(record);
            sink.skip_at(bytes, place, || problem.of_object())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_end_with_objects() {
        let text = br#" [ {"a": "}\"]", "b": [{}, []]}, 7, "x,\\", {} ] "#;
        let (mut state, mut at, mut records) = (State::default(), 0, Vec::new());
        while let Some(end) = state.next_end(&text[at..]) {
            records.push(std::str::from_utf8(&text[at..at + end]).unwrap());
            at += end;
        }
        let object = r#" [ {"a": "}\"]", "b": [{}, []]}"#;
        assert_eq!(records, [object, ",", " 7,", r#" "x,\\","#, " {}", " ]"]);
        assert!(!state.in_array());
        for cut in 0..text.len() {
            let mut state = State::default();
            let before = state.last_end(&text[..cut]).map(|(end, _)| end);
            let last = state.last_end(&text[cut..]).map(|(end, _)| cut + end);
            assert_eq!(last.or(before), Some(at), "{cut}");
        }
    }
}
