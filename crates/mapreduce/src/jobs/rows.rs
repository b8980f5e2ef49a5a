//! The tables between the two passes of BM25, line by line: a text, a tab and a number.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::str::FromStr;

use tokapi_storage::error::{Error, Place, Position, Result};

/// Passes the lines of a table to `each`: the position of the line, its bytes with the line end,
/// its text and its number.
pub(super) fn each_row<N: FromStr>(
    path: &Path,
    mut each: impl FnMut(u64, u64, &[u8], N) -> Result<()>,
) -> Result<()> {
    let failed = |source| Error::Read {
        path: path.to_path_buf(),
        source,
    };
    let mut file = BufReader::new(File::open(path).map_err(failed)?);
    let (mut line, mut at) = (Vec::new(), 0);
    for number in 1.. {
        line.clear();
        let bytes = file.read_until(b'\n', &mut line).map_err(failed)? as u64;
        if bytes == 0 {
            break;
        }
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        if !text.is_empty() {
            let (text, value) = row(text).ok_or_else(|| Error::Input {
                place: Place {
                    path: path.to_path_buf(),
                    position: Position::Line(number),
                },
                what: "a text and a number are expected; run bm25-local again".into(),
            })?;
            each(at, bytes, text, value)?;
        }
        at += bytes;
    }
    Ok(())
}

/// The text and the number of a line.
pub(super) fn row<N: FromStr>(line: &[u8]) -> Option<(&[u8], N)> {
    let tab = line.iter().rposition(|&byte| byte == b'\t')?;
    let number = std::str::from_utf8(&line[tab + 1..]).ok()?;
    Some((&line[..tab], number.parse().ok()?))
}
