//! Weights as Parquet: `term`, `doc`, `tf`, `weight`, by term, then by document.
//!
//! The crate `parquet` writes headers and footer; the pages are encoded here. The dictionary index of a posting is
//! known (its term, its document), while a general writer must find it by hashing the string. Row groups are
//! independent: all threads encode them, and one writes them in order.

mod column;
mod groups;

use std::io::Write;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnDescPtr, SchemaDescriptor, TypePtr};

use super::Output;
use super::by_document::{self, Group};
use crate::collection::external::{External, TermReader};
use crate::collection::{ByDocument, Documents, Weights};
use crate::formula::Bm25;
use crate::lexicon::Lexicon;
use column::Column;
use groups::Encoded;
use tokapi_storage::error::{Error, Result};
use tokapi_storage::pipeline::Stages;
use tokapi_storage::progress::Progress;
use tokapi_storage::whole::{Staged, Streamed};
use tokapi_text::parquet_error::into_io;

/// Rows of a row group. Readers skip row groups by term. Each group repeats the ids it uses.
const ROW_GROUP_ROWS: usize = 1 << 20;

const WEIGHTS: &str = "message weights {
    required byte_array term (STRING); required byte_array doc (STRING);
    required int32 tf (INTEGER(32, false)); required float weight; }";
const DOCUMENTS: &str = "message documents {
    required byte_array doc (STRING); required int32 length (INTEGER(32, false)); }";
const TERMS: &str = "message terms {
    required byte_array term (STRING); required int64 df (INTEGER(64, false)); }";

/// Writes the weights, and the tables if `output` asks for them.
pub(super) fn write(
    weights: &Weights,
    output: &Output,
    progress: &Progress,
) -> Result<Vec<Staged>> {
    let mut files = vec![
        File {
            path: output.path.clone(),
            schema: WEIGHTS,
        }
        .write_rows(progress, weights.len(), |rows, columns| {
            progress.add(rows.len() as u64);
            groups::by_term(weights, rows, columns)
        })?,
    ];
    if output.tables {
        files.push(documents(&weights.documents, output, progress)?);
        files.push(terms(&weights.lexicon, output, progress)?);
    }
    Ok(files)
}

/// Writes the documents with their lengths beside `output`.
pub(super) fn documents(
    documents: &Documents,
    output: &Output,
    progress: &Progress,
) -> Result<Staged> {
    let file = File::beside(output, "docs.parquet", DOCUMENTS);
    file.write_rows(progress, documents.len(), |rows, columns| {
        let length = |row: usize| documents.lengths[row].to_le_bytes();
        groups::table(&documents.ids, length, rows, columns)
    })
}

/// Writes the terms with their df beside `output`.
pub(super) fn terms(lexicon: &Lexicon, output: &Output, progress: &Progress) -> Result<Staged> {
    let file = File::beside(output, "terms.parquet", TERMS);
    file.write_rows(progress, lexicon.terms.len(), |rows, columns| {
        let df = |row: usize| lexicon.df[row].to_le_bytes();
        groups::table(&lexicon.terms, df, rows, columns)
    })
}

/// As [`documents`], from scratch.
pub(super) fn external_documents(external: &External, output: &Output) -> Result<Staged> {
    let file = File::beside(output, "docs.parquet", DOCUMENTS);
    let encode = |documents: Documents, columns: &[ColumnDescPtr]| {
        let length = |row: usize| documents.lengths[row].to_le_bytes();
        let group = groups::table(&documents.ids, length, 0..documents.len(), columns);
        Ok((group, ()))
    };
    let next = external.document_batches(ROW_GROUP_ROWS);
    file.write(external.progress(), external.stages(), next, encode, Ok)
}

/// As [`terms`], from scratch.
pub(super) fn external_terms(
    mut terms: TermReader,
    external: &External,
    output: &Output,
) -> Result<Staged> {
    let file = File::beside(output, "terms.parquet", TERMS);
    let encode = |lexicon: Lexicon, columns: &[ColumnDescPtr]| {
        let df = |row: usize| lexicon.df[row].to_le_bytes();
        let group = groups::table(&lexicon.terms, df, 0..lexicon.df.len(), columns);
        Ok((group, ()))
    };
    let next = || terms.next(ROW_GROUP_ROWS);
    file.write(external.progress(), external.stages(), next, encode, Ok)
}

/// Writes the weights by document.
pub(super) fn write_by_document(rows: &impl ByDocument, output: &Output) -> Result<Staged> {
    let file = File {
        path: output.path.clone(),
        schema: WEIGHTS,
    };
    by_document::in_groups(rows, ROW_GROUP_ROWS, |next| {
        let encode = |group: Group, columns: &[ColumnDescPtr]| {
            Ok((groups::by_document(&group, columns), ()))
        };
        file.write(rows.progress(), rows.encoding_stages(), next, encode, Ok)
    })
}

/// As [`write`], from scratch. Returns also the number of terms.
pub(super) fn write_external(
    external: &External,
    bm25: &Bm25,
    output: &Output,
) -> Result<(Vec<Staged>, u64)> {
    let file = File {
        path: output.path.clone(),
        schema: WEIGHTS,
    };
    let mut tasks = external.tasks(ROW_GROUP_ROWS)?;
    let mut terms = external.new_terms()?;
    let encode = |task, columns: &[ColumnDescPtr]| {
        let (weights, new_terms) = external.weigh(task, bm25)?;
        let group = match weights.is_empty() {
            true => Ok(Vec::new()),
            false => groups::whole(&weights, columns),
        };
        Ok((group, (weights.postings.lexicon, new_terms)))
    };
    let mut files = vec![file.write(
        external.progress(),
        external.stages(),
        || tasks.next(),
        encode,
        |(lexicon, new_terms)| terms.push(&lexicon, new_terms),
    )?];
    let count = terms.len();
    if output.tables {
        files.push(external_documents(external, output)?);
        files.push(external_terms(terms.finish()?, external, output)?);
    }
    Ok((files, count))
}

/// The rows `0..rows`, a row group at a time.
fn ranges(rows: usize) -> impl FnMut() -> Result<Option<Range<usize>>> + Send {
    let mut from = 0;
    move || {
        let group = from..rows.min(from + ROW_GROUP_ROWS);
        from = group.end;
        Ok((!group.is_empty()).then_some(group))
    }
}

/// A Parquet file that is being written.
struct File {
    path: PathBuf,
    schema: &'static str,
}

impl File {
    /// A table beside `output`.
    fn beside(output: &Output, name: &str, schema: &'static str) -> Self {
        let path = output.beside(name);
        File { path, schema }
    }

    /// Encodes and writes the row groups of `next`. The second result of `encode` goes to `also`, in order.
    fn write<I: Send, E: Send>(
        &self,
        progress: &Progress,
        stages: Stages,
        mut next: impl FnMut() -> Result<Option<I>> + Send,
        encode: impl Fn(I, &[ColumnDescPtr]) -> Result<(Encoded, E)> + Sync,
        mut also: impl FnMut(E) -> Result<()>,
    ) -> Result<Staged> {
        let mut staged = Staged::create(&self.path)?;
        let failed = |error: ParquetError| Error::writing(&self.path)(into_io(error));
        let schema: TypePtr = Arc::new(parse_message_type(self.schema).map_err(failed)?);
        let columns = SchemaDescriptor::new(Arc::clone(&schema))
            .columns()
            .to_vec();
        let streamed = Streamed::new(&mut staged).map_err(Error::writing(&self.path))?;
        let mut writer =
            SerializedFileWriter::new(streamed, schema, Arc::new(properties())).map_err(failed)?;
        let worker = || {
            |group: I| {
                let (encoded, more) = encode(group, &columns)?;
                Ok((encoded.map_err(failed)?, more))
            }
        };
        let write = |(columns, more): (Vec<Column>, E)| {
            append(&mut writer, columns).map_err(failed)?;
            also(more)
        };
        let next = || {
            progress.check()?;
            next()
        };
        let times = stages.run(next, worker, write)?;
        let streamed = writer.into_inner().map_err(failed)?;
        streamed.finish().map_err(Error::writing(&self.path))?;
        staged.times = times;
        Ok(staged)
    }

    /// Writes `rows` rows. `encode` encodes a row group at a time.
    fn write_rows(
        &self,
        progress: &Progress,
        rows: usize,
        encode: impl Fn(Range<usize>, &[ColumnDescPtr]) -> Encoded + Sync,
    ) -> Result<Staged> {
        let encode =
            |rows: Range<usize>, columns: &[ColumnDescPtr]| Ok((encode(rows, columns), ()));
        self.write(progress, Stages::of_pool(), ranges(rows), encode, Ok)
    }
}

fn properties() -> WriterProperties {
    WriterProperties::builder()
        .set_created_by(concat!("tokapi ", env!("CARGO_PKG_VERSION")).to_owned())
        .build()
}

/// Appends an encoded row group to the file.
fn append<W: Write + Send>(
    writer: &mut SerializedFileWriter<W>,
    columns: Vec<Column>,
) -> std::result::Result<(), ParquetError> {
    if columns.is_empty() {
        return Ok(());
    }
    let mut group = writer.next_row_group()?;
    for column in columns {
        group.append_column(&column.bytes, column.close)?;
    }
    group.close()?;
    Ok(())
}
