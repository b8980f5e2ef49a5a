//! The names of the formats of documents, and the formats of an input.

use std::collections::BTreeMap;
use std::path::Path;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use tokapi::{Corpus, Format};

/// A format, with its name and description on the command line.
#[derive(Debug, Clone, Copy)]
pub struct FormatName(Format, &'static str, &'static str);

impl ValueEnum for FormatName {
    fn value_variants<'a>() -> &'a [Self] {
        const JSON: &str =
            "JSON objects in an array, or one after the other, over any number of lines";
        const TSV: &str = "An id, a tab and a text on each line; or columns with names, if line 1 names an id and a text";
        &[
            FormatName(Format::Jsonl, "jsonl", "A JSON object on each line"),
            FormatName(Format::Json, "json", JSON),
            FormatName(Format::Tsv, "tsv", TSV),
            FormatName(
                Format::Csv,
                "csv",
                "Comma-separated columns; line 1 names them",
            ),
            FormatName(Format::Trec, "trec", "TREC SGML: elements DOC and DOCNO"),
            FormatName(Format::Parquet, "parquet", "Columns with names"),
            FormatName(
                Format::Text,
                "text",
                "Each file is a document, and its path is the id",
            ),
            FormatName(
                Format::Terms,
                "terms",
                "A term on each line; an empty line ends a document",
            ),
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let FormatName(_, name, help) = self;
        Some(PossibleValue::new(name).help(help))
    }
}

impl From<FormatName> for Format {
    fn from(name: FormatName) -> Self {
        name.0
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
