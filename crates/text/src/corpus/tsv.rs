//! `id<TAB>text`, one document per line. Empty lines are ignored.

use super::segment::{NOT_UTF8, Segment, Sink};
use tokapi_storage::error::Result;

pub(super) fn parse(segment: &Segment, bytes: &[u8], sink: &mut Sink<'_>) -> Result<()> {
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', bytes).chain([bytes.len()]) {
        let line = &bytes[start..end];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let at = std::mem::replace(&mut start, end + 1);
        if line.is_empty() {
            continue;
        }
        let problem = match (std::str::from_utf8(line), memchr::memchr(b'\t', line)) {
            (Err(_), _) => NOT_UTF8,
            (_, None) => "no tab; a line is `id<TAB>text`",
            (_, Some(0)) => "the id before the tab is empty",
            (Ok(line), Some(tab)) => {
                sink.chunk.push(&line[..tab], &line[tab + 1..]);
                continue;
            }
        };
        sink.skip(|| segment.error_at(bytes, at, problem))?;
    }
    Ok(())
}
