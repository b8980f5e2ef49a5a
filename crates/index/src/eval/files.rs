//! Run files and judgments in the formats of TREC.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use tokapi_storage::error::{Error, Place, Position, Result};

/// The results of queries: `query Q0 document rank score tag`, a line each.
///
/// [`Evaluation`](super::Evaluation) has an example.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Run {
    /// The documents of every query, with their scores.
    pub queries: BTreeMap<String, BTreeMap<String, f32>>,
}

/// The judgments of queries, a line each: `query 0 document relevance` (TREC) or `query document
/// relevance` (BEIR). The first line may name the columns.
///
/// [`Evaluation`](super::Evaluation) has an example.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Judgments {
    /// The documents of every query, with their relevance.
    pub queries: BTreeMap<String, BTreeMap<String, i64>>,
}

impl Run {
    /// Reads a run file, or standard input as `-`.
    ///
    /// # Errors
    /// The file cannot be read; a line has another format, or repeats a document of its query.
    pub fn read(path: &Path) -> Result<Self> {
        let score = |text: &str| text.parse().ok().filter(|score: &f32| !score.is_nan());
        let queries = read(path, "a line of a run", &[RUN], score)?;
        Ok(Run { queries })
    }
}

impl Judgments {
    /// Reads a file of judgments, or standard input as `-`.
    ///
    /// # Errors
    /// As [`Run::read`].
    pub fn read(path: &Path) -> Result<Self> {
        let number = |text: &str| text.parse().ok();
        let queries = read(path, "a line of judgments", &[TREC, BEIR], number)?;
        Ok(Judgments { queries })
    }
}

/// The columns of a file.
#[derive(Clone, Copy)]
struct Format {
    columns: &'static [&'static str],
    document: usize,
    value: usize,
    /// Whether the first line may name the columns.
    header: bool,
}

const RUN: Format = Format {
    columns: &["query", "Q0", "document", "rank", "score", "tag"],
    document: 2,
    value: 4,
    header: false,
};

const TREC: Format = Format {
    columns: &["query", "0", "document", "relevance"],
    document: 2,
    value: 3,
    header: false,
};

const BEIR: Format = Format {
    columns: &["query", "document", "relevance"],
    document: 1,
    value: 2,
    header: true,
};

/// The column names in the first line of BEIR's files of judgments.
const BEIR_HEADER: [&str; 3] = ["query-id", "corpus-id", "score"];

/// Reads lines in the one of `formats` whose number of columns equals that of the first line. `name` is the name of a
/// line in an error.
fn read<T>(
    path: &Path,
    name: &str,
    formats: &[Format],
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
    let mut format = None;
    for (number, line) in (1..).zip(reader.lines()) {
        let line = line.map_err(failed)?;
        let line = line.trim_start_matches('\u{feff}');
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
        let is_first = format.is_none();
        let fits = |format: &&Format| format.columns.len() == columns.len();
        let expected =
            *format.get_or_insert_with(|| *formats.iter().find(fits).unwrap_or(&formats[0]));
        if is_first && expected.header && columns == BEIR_HEADER {
            continue;
        }
        let parsed = match fits(&&expected) {
            true => parse(columns[expected.value]),
            false => None,
        };
        let parsed =
            parsed.ok_or_else(|| wrong(format!("{name} is `{}`", expected.columns.join(" "))))?;
        let (query, document) = (columns[0], columns[expected.document]);
        let of_query = queries.entry(query.to_owned()).or_default();
        if of_query.insert(document.to_owned(), parsed).is_some() {
            let what = format!("query {query} has document {document} twice");
            return Err(wrong(what));
        }
    }
    Ok(queries)
}
