//! The name of a format of documents, as the options spell it.

use tokapi::corpus::Format;

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum FormatName {
    /// One JSON object on every line
    Jsonl,
    /// An id, a tab and the text on every line
    Tsv,
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
            FormatName::Tsv => Format::Tsv,
            FormatName::Trec => Format::Trec,
            FormatName::Parquet => Format::Parquet,
            FormatName::Text => Format::Text,
            FormatName::Terms => Format::Terms,
        }
    }
}
