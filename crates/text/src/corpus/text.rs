//! Plain text: the whole file is one document, and its path is the id.

use super::segment::{NOT_UTF8, Segment, Sink};
use tokapi_storage::error::Result;

pub(super) fn parse(segment: &Segment, bytes: &[u8], sink: &mut Sink<'_>) -> Result<()> {
    match std::str::from_utf8(bytes) {
        Ok(text) => {
            sink.chunk
                .push(&segment.origin.path.to_string_lossy(), text);
            Ok(())
        }
        Err(error) => sink.skip(|| segment.error_at(bytes, error.valid_up_to(), NOT_UTF8)),
    }
}
