//! Run files and judgments, as TREC has them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use crate::error::{Error, Place, Position, Result};

/// The results of queries: `query Q0 document rank score tag`, a line each.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Run {
    /// Of every query the documents with their scores.
    pub queries: BTreeMap<String, BTreeMap<String, f32>>,
}

/// The judgments of queries: `query 0 document relevance`, a line each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Judgments {
    /// Of every query the documents with their relevance.
    pub queries: BTreeMap<String, BTreeMap<String, i64>>,
}

impl Run {
    /// Reads a run file, or standard input as `-`.
    ///
    /// # Errors
    /// It cannot be read; a line is not of the format, or names a document of its query again.
    pub fn read(path: &Path) -> Result<Self> {
        let score = |text: &str| text.parse().ok().filter(|score: &f32| !score.is_nan());
        let queries = read(path, "query Q0 document rank score tag", [2, 4], score)?;
        Ok(Run { queries })
    }
}

impl Judgments {
    /// Reads a file of judgments, or standard input as `-`.
    ///
    /// # Errors
    /// As [`Run::read`].
    pub fn read(path: &Path) -> Result<Self> {
        let queries = read(path, "query 0 document relevance", [2, 3], |text| {
            text.parse().ok()
        })?;
        Ok(Judgments { queries })
    }
}

/// Reads lines of `format`, with the document and its value in two of the columns.
fn read<T>(
    path: &Path,
    format: &str,
    [document, value]: [usize; 2],
    parse: impl Fn(&str) -> Option<T>,
) -> Result<BTreeMap<String, BTreeMap<String, T>>> {
    let failed = |source| Error::Read {
        path: path.to_path_buf(),
        source,
    };
    let reader: Box<dyn BufRead> = match path == Path::new("-") {
        true => Box::new(std::io::stdin().lock()),
        false => Box::new(BufReader::new(File::open(path).map_err(failed)?)),
    };
    let mut queries: BTreeMap<String, BTreeMap<String, T>> = BTreeMap::new();
    for (number, line) in (1..).zip(reader.lines()) {
        let line = line.map_err(failed)?;
        let columns: Vec<&str> = line.split_whitespace().collect();
        if columns.is_empty() {
            continue;
        }
        let wrong = |what: String| Error::Input {
            place: Place {
                path: path.to_path_buf(),
                position: Position::Line(number),
            },
            what,
        };
        let parsed = match columns.len() == format.split(' ').count() {
            true => parse(columns[value]),
            false => None,
        };
        let parsed = parsed.ok_or_else(|| wrong(format!("it is not `{format}`")))?;
        let (query, document) = (columns[0], columns[document]);
        let of_query = queries.entry(query.to_owned()).or_default();
        if of_query.insert(document.to_owned(), parsed).is_some() {
            let what = format!("query {query} has document {document} twice");
            return Err(wrong(what));
        }
    }
    Ok(queries)
}
