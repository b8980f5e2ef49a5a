//! The name of a format of documents, as the options spell it.

use tokapi::corpus::Format;

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum FormatName {
    /// One JSON object on every line
    Jsonl,
    /// JSON objects in an array, or one after another, over any number of lines
    Json,
    /// An id, a tab and the text on every line; or columns by name, if line 1 names an id and a text
    Tsv,
    /// CSV: columns by name; line 1 names them
    Csv,
    /// TREC SGML: elements DOC and DOCNO
    Trec,
    /// Columns by name
    Parquet,
    /// The whole file is a document, its path the id
    Text,
    /// One term on every line, an empty line ends a document
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
