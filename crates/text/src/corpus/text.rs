//! Plain text: the whole file is one document, and its path is the id.

use super::segment::{NOT_UTF8, Sink};
use tokapi_storage::error::Result;

pub(super) fn parse(bytes: &[u8], sink: &mut Sink<'_>) -> Result<()> {
    match std::str::from_utf8(bytes) {
        Ok(text) => {
            sink.chunk
                .push(&sink.segment.origin.path.to_string_lossy(), text);
            Ok(())
        }
        Err(error) => sink.skip_at(bytes, error.valid_up_to(), || NOT_UTF8),
    }
}
