//! `id<TAB>text`, one document per line. Empty lines are ignored.

use super::segment::{NOT_UTF8, Sink, lines};
use tokapi_storage::error::Result;

pub(super) fn parse(bytes: &[u8], sink: &mut Sink<'_>) -> Result<()> {
    for (at, line) in lines(bytes) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
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
        sink.skip_at(bytes, at, || problem)?;
    }
    Ok(())
}
