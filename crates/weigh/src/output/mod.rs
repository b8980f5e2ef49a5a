//! Weights to files for other tools.
//!
//! Every writer stages its files and commits them when all are whole ([`Staged`]).

mod arrays;
mod by_document;
mod encode;
mod npy;
mod npz;
mod parquet;
mod pieces;
#[cfg(test)]
mod sample;
mod tables;
mod tsv;
mod vectors;

pub use npy::Npy;
pub use tables::push_field;

use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::collection::external::External;
use crate::collection::{ByDocument, Collection, Stored, StoredIn, Written};
use crate::formula::Bm25;
use tokapi_storage::compress::{Compression, stem};
use tokapi_storage::error::{Error, Result};
use tokapi_storage::progress::Stage;
use tokapi_storage::whole::{Staged, sync_folder};

/// A format of weights.
///
/// [`Output`] has an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Target {
    /// Parquet with the columns `term`, `doc`, `tf` and `weight`, by term, then by document.
    Parquet,
    /// `term<TAB>doc<TAB>tf<TAB>weight`, in the same order; compressed if the name ends in `.gz`
    /// or `.zst`.
    Tsv,
    /// A SciPy CSR matrix with a row per document and a column per term. Files beside it name both.
    Npz,
    /// One JSON object per document: `{"id", "indices", "values"}`; compressed likewise.
    Vectors,
}

impl Target {
    /// The target that a file's name tells.
    ///
    /// # Errors
    /// The name tells no target.
    pub fn of_name(path: &Path) -> Result<Target> {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .to_ascii_lowercase();
        match stem(&name).rsplit_once('.') {
            Some((_, "parquet" | "npz")) if Compression::of_name(path) != Compression::None => {
                Err(Error::Usage(format!(
                    "{}: Parquet and npz are not compressed as a whole; drop .gz or .zst",
                    path.display()
                )))
            }
            Some((_, "parquet")) => Ok(Target::Parquet),
            Some((_, "tsv")) => Ok(Target::Tsv),
            Some((_, "npz")) => Ok(Target::Npz),
            Some((_, "jsonl" | "ndjson" | "json")) => Ok(Target::Vectors),
            _ => Err(Error::Usage(format!(
                "{}: the name does not show the format; end it in .parquet, .tsv, .npz or .jsonl, or name the format",
                path.display()
            ))),
        }
    }
}

/// The order of postings in the output.
///
/// [`Output`] has an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// By term, then by document.
    #[default]
    Term,
    /// By document, then by term; matrices and vectors always have this order.
    Document,
}

/// The output and its options.
///
/// ```
/// # use tokapi_weigh::output::{Order, Output, Target};
/// let output = Output::of_name("weights.tsv.zst")?.order(Order::Document).tables(true);
/// assert_eq!(output.target, Target::Tsv);
/// # Ok::<(), tokapi_storage::error::Error>(())
/// ```
///
/// [`Stored`] has an example that writes.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Output {
    /// The file; `-` is standard output, for TSV and vectors.
    pub path: PathBuf,
    /// Its format.
    pub target: Target,
    /// Whether two tables are written beside it: documents with lengths, and terms with df.
    pub tables: bool,
    /// The order of postings.
    pub order: Order,
}

impl Output {
    /// The file `path` in the format `target`, by term, without tables.
    pub fn new(path: impl Into<PathBuf>, target: Target) -> Self {
        Output {
            path: path.into(),
            target,
            tables: false,
            order: Order::default(),
        }
    }

    /// The file `path` in the format that its name tells, by term, without tables.
    ///
    /// # Errors
    /// The name tells no format.
    pub fn of_name(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        let target = Target::of_name(&path)?;
        Ok(Output::new(path, target))
    }

    tokapi_storage::setters! { tables: bool, order: Order }

    /// Weighs `collection` by `bm25` and writes it.
    ///
    /// # Errors
    /// A file cannot be written; a target cannot go to standard output; a parameter is out of range; the progress of
    /// the collection is cancelled. No file then has its final name.
    pub fn write(&self, collection: impl Into<Stored>, bm25: &Bm25) -> Result<Written> {
        self.check_target()?;
        bm25.check()?;
        let started = Instant::now();
        let collection = collection.into();
        let progress = collection.progress().clone();
        let local = collection.local_times();
        let (staged, terms, external) = match collection.into_place() {
            StoredIn::Memory(collection) => {
                let terms = collection.lexicon().terms.len() as u64;
                (self.stage(collection, bm25)?, terms, None)
            }
            StoredIn::Scratch(mut external) => {
                if !self.is_by_document() {
                    external.reduce()?;
                }
                let (staged, terms) = self.stage_external(&external, bm25)?;
                (staged, terms, Some(external))
            }
        };
        let files = staged
            .iter()
            .map(|file| file.path().to_path_buf())
            .collect();
        let mut global = staged[0].times;
        log::info!(
            "output: {global}; {:.3} s with the tables",
            started.elapsed().as_secs_f64()
        );
        let started = Instant::now();
        // All files are whole and on disk before any gets its name. The requested one comes last.
        staged.iter().try_for_each(|file| file.sync(&progress))?;
        global.output += started.elapsed();
        global.wall += started.elapsed();
        progress.check()?;
        log::info!(
            "output: on disk after another {:.3} s",
            started.elapsed().as_secs_f64()
        );
        staged.into_iter().rev().try_for_each(Staged::rename)?;
        if let Some(external) = external {
            // The names are on disk before their sources on scratch are removed.
            sync_folder(&self.path)?;
            external.remove();
        }
        Ok(Written {
            files,
            terms,
            local,
            global,
        })
    }

    fn stage(&self, collection: Collection, bm25: &Bm25) -> Result<Vec<Staged>> {
        let pool = collection.pool();
        if !self.is_by_document() {
            let progress = collection.progress().clone();
            progress.begin(Stage::Writing, collection.postings_count());
            let weights = collection.weigh(bm25)?;
            return pool.install(|| match self.target {
                Target::Parquet => parquet::write(&weights, self, &progress),
                _ => tsv::write(&weights, self, &progress),
            });
        }
        let progress = collection.progress();
        pool.install(|| {
            let mut staged = vec![self.stage_rows(&collection.by_document(bm25)?)?];
            let (documents, lexicon) = (collection.documents(), collection.lexicon());
            for table in self.table_names() {
                staged.push(match *table {
                    "docs.tsv" => tables::documents(documents, self, progress)?,
                    "terms.tsv" => tables::terms(lexicon, self, progress)?,
                    "docs.parquet" => parquet::documents(documents, self, progress)?,
                    _ => parquet::terms(lexicon, self, progress)?,
                });
            }
            Ok(staged)
        })
    }

    pub(crate) fn stage_external(
        &self,
        external: &External,
        bm25: &Bm25,
    ) -> Result<(Vec<Staged>, u64)> {
        if !self.is_by_document() {
            return match self.target {
                Target::Parquet => parquet::write_external(external, bm25, self),
                _ => tsv::write_external(external, bm25, self),
            };
        }
        let (run_terms, terms) = external.merge_terms()?;
        let mut terms = Some(terms);
        let mut staged = vec![self.stage_rows(&external.by_document(&run_terms, bm25)?)?];
        for table in self.table_names() {
            staged.push(match (*table, terms.take()) {
                ("terms.tsv", Some(terms)) => tables::external_terms(terms, external, self)?,
                ("terms.parquet", Some(terms)) => parquet::external_terms(terms, external, self)?,
                (table, kept) => {
                    terms = kept;
                    match table {
                        "docs.tsv" => tables::external_documents(external, self)?,
                        _ => parquet::external_documents(external, self)?,
                    }
                }
            });
        }
        Ok((staged, run_terms.count))
    }

    fn stage_rows(&self, rows: &impl ByDocument) -> Result<Staged> {
        // A matrix takes two passes.
        let passes = if self.target == Target::Npz { 2 } else { 1 };
        let [_, _, postings] = rows.shape();
        rows.progress().begin(Stage::Writing, passes * postings);
        match self.target {
            Target::Parquet => parquet::write_by_document(rows, self),
            Target::Tsv => tsv::write_by_document(rows, self),
            Target::Npz => npz::write(rows, self),
            Target::Vectors => vectors::write(rows, self),
        }
    }

    fn is_by_document(&self) -> bool {
        matches!(self.target, Target::Npz | Target::Vectors) || self.order == Order::Document
    }

    /// Checks before the work begins that the result can be written.
    ///
    /// # Errors
    /// As [`Output::write`], for errors that can be foreseen.
    pub fn check(&self) -> Result<()> {
        self.check_target()?;
        Staged::check(&self.path)
    }

    fn check_target(&self) -> Result<()> {
        let to_stdout = self.path == Path::new("-");
        if to_stdout && !matches!(self.target, Target::Tsv | Target::Vectors) {
            return Err(Error::Usage(format!(
                "{:?} cannot go to standard output; name a file",
                self.target
            )));
        }
        if to_stdout && self.tables {
            return Err(Error::Usage(
                "tables need an output file, not standard output; name one".into(),
            ));
        }
        Ok(())
    }

    /// All files of [`Output::write`], the requested one first.
    pub fn files(&self) -> Vec<PathBuf> {
        let beside = self.table_names().iter().map(|name| self.beside(name));
        [self.path.clone()].into_iter().chain(beside).collect()
    }

    /// The tables that are written beside the output.
    fn table_names(&self) -> &'static [&'static str] {
        match (self.target, self.tables) {
            _ if self.path == Path::new("-") => &[],
            (Target::Npz, _) | (Target::Tsv | Target::Vectors, true) => &["docs.tsv", "terms.tsv"],
            (Target::Vectors, false) => &["terms.tsv"],
            (Target::Parquet, true) => &["docs.parquet", "terms.parquet"],
            (Target::Tsv | Target::Parquet, false) => &[],
        }
    }

    /// The name of a further file beside this one: `weights.docs.tsv` for `weights.npz`.
    fn beside(&self, what: &str) -> PathBuf {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let name = stem(&name);
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        self.path.with_file_name(format!("{stem}.{what}"))
    }
}
