//! Files of queries: lines of `id<TAB>text`, or JSON lines with `_id` and `text` as in BEIR.

use std::collections::HashMap;
use std::path::Path;

use serde_json::Value;
use tokapi::{Error, Place, Position};

/// A query of a file.
pub struct NumberedQuery {
    /// Its id in the file.
    pub id: String,
    /// Its text.
    pub text: String,
}

/// Reads a file of queries; - is standard input.
pub fn read(path: &Path) -> Result<Vec<NumberedQuery>, Error> {
    let mut queries: Vec<NumberedQuery> = Vec::new();
    let mut lines: HashMap<String, u64> = HashMap::new();
    for (number, line) in read_lines(path)? {
        // An id may begin with a brace too.
        let query = of_json(&line).or_else(|| {
            line.split_once('\t').map(|(id, text)| NumberedQuery {
                id: id.to_owned(),
                text: text.to_owned(),
            })
        });
        let query = query.ok_or_else(|| {
            let what =
                "this is not a query: write an id, a tab and a text, or a JSON object with _id and text";
            wrong(path, number, what)
        })?;
        if let Some(first) = lines.insert(query.id.clone(), number) {
            let what = format!(
                "line {first} has the query id {} too: give each query its own id",
                query.id
            );
            return Err(wrong(path, number, &what));
        }
        queries.push(query);
    }
    Ok(queries)
}

/// The lines of a file that are not empty, with their numbers; - is standard input.
pub fn read_lines(path: &Path) -> Result<Vec<(u64, String)>, Error> {
    let unread = |source| Error::Read {
        path: path.to_path_buf(),
        source,
    };
    let bytes = match path == Path::new("-") {
        true => {
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut std::io::stdin(), &mut bytes).map_err(unread)?;
            bytes
        }
        false => std::fs::read(path).map_err(unread)?,
    };
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes);
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(bytes.split(|&byte| byte == b'\n')) {
        let line = std::str::from_utf8(line)
            .map_err(|_| wrong(path, number, "this is not valid UTF-8"))?;
        let line = line.trim_end_matches('\r');
        if !line.is_empty() {
            lines.push((number, line.to_owned()));
        }
    }
    Ok(lines)
}

fn wrong(path: &Path, number: u64, what: &str) -> Error {
    Error::Input {
        place: Place {
            path: path.to_path_buf(),
            position: Position::Line(number),
        },
        what: what.into(),
    }
}

fn of_json(line: &str) -> Option<NumberedQuery> {
    if !line.starts_with('{') {
        return None;
    }
    let object: Value = serde_json::from_str(line).ok()?;
    let text = |name: &str| match &object[name] {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    Some(NumberedQuery {
        id: text("_id").or_else(|| text("id"))?,
        text: text("text").or_else(|| text("query"))?,
    })
}
