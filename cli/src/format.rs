//! The names of the formats of documents, and the formats of an input.

use std::collections::BTreeMap;
use std::path::Path;

use tokapi::{Corpus, Format};

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum FormatName {
    /// A JSON object on each line
    Jsonl,
    /// JSON objects in an array, or one after the other, over any number of lines
    Json,
    /// An id, a tab and a text on each line; or columns with names, if line 1 names an id and a text
    Tsv,
    /// Comma-separated columns; line 1 names them
    Csv,
    /// TREC SGML: elements DOC and DOCNO
    Trec,
    /// Columns with names
    Parquet,
    /// Each file is a document, and its path is the id
    Text,
    /// A term on each line; an empty line ends a document
    Terms,
}

impl From<FormatName> for Format {
    fn from(name: FormatName) -> Self {
        match name {
            FormatName::Jsonl => Format::Jsonl,
            FormatName::Json => Format::Json,
            FormatName::Tsv => Format::Tsv,
            FormatName::Csv => Format::Csv,
            FormatName::Trec => Format::Trec,
            FormatName::Parquet => Format::Parquet,
            FormatName::Text => Format::Text,
            FormatName::Terms => Format::Terms,
        }
    }
}

/// The formats that the names of the files tell, each with its file or the number of its files, if there are several.
pub fn several(corpus: &Corpus) -> Option<String> {
    let mut by_format: BTreeMap<String, Vec<&Path>> = BTreeMap::new();
    for input in corpus.inputs() {
        if let Some(format) = Format::of_name(&input.path) {
            let name = format!("{format:?}").to_lowercase();
            by_format.entry(name).or_default().push(&input.path);
        }
    }
    let named = by_format.iter().map(|(format, files)| match &files[..] {
        [file] => format!("{format} ({})", file.display()),
        files => format!("{format} ({} files)", files.len()),
    });
    (by_format.len() > 1).then(|| named.collect::<Vec<_>>().join(", "))
}
