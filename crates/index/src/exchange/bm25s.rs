//! Export to a folder that the Python package `bm25s` opens (Lu, "BM25S: Orders of magnitude
//! faster lexical search via eager sparse scoring", 2024). It stores every weight, computed in
//! advance, in compressed sparse columns.
//!
//! | file | what |
//! |---|---|
//! | `data.csc.index.npy` | the weights, by term |
//! | `indices.csc.index.npy` | the document of each |
//! | `indptr.csc.index.npy` | where the weights of each term begin |
//! | `nonoccurrence_array.index.npy` | what each term adds to documents that do not have it, for `bm25l` and `bm25+` |
//! | `vocab.index.json` | the number of each term |
//! | `params.index.json` | the formula |
//! | `corpus.jsonl`, `corpus.mmindex.json` | the id of each document, and where its line begins |

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde_json::json;

use crate::Index;
use crate::exchange::live::{Exported, Live};
use tokapi_storage::error::{Error, Result};
use tokapi_storage::progress::{Progress, Stage};
use tokapi_storage::whole::{StagedFolder, sync_folder};
use tokapi_weigh::formula::{Bm25, Formula};
use tokapi_weigh::output::Npy;

/// Bytes of memory a document takes while weights are computed: L.
const NORM_BYTES: u64 = 8;

/// The version of `bm25s` that defines this format.
const VERSION: &str = "0.3.16";

impl Index {
    /// Exports the whole index, weighed by `bm25`, to the new folder `path` for the Python package
    /// `bm25s`. Deleted documents are left out. `progress` counts postings.
    ///
    /// The weights are those that `bm25s` would compute. They differ from [`Bm25`] in two cases.
    /// With `bm25l` and `bm25plus`, a term adds to documents that do not have it. `robertson` has
    /// no factor k1 + 1 and no idf below 0.
    ///
    /// # Errors
    /// The index stores impacts; `bm25s` does not have the formula; parameters are out of range;
    /// something exists at `path`; a file cannot be written; the index is damaged.
    pub fn export_bm25s(&self, bm25: &Bm25, path: &Path, progress: &Progress) -> Result<Exported> {
        bm25.check()?;
        if let Some(impacts) = self.impacts() {
            return Err(Error::Usage(format!(
                "{}: the weights of this index were computed by {} and are kept in 8 bits; build it without \
                 impacts to export it for bm25s",
                self.path().display(),
                impacts.bm25
            )));
        }
        let method = Method::of(bm25)?;
        let live = Live::new(self, "bm25s", progress)?;
        let needed = NORM_BYTES * self.statistics().documents;
        self.memory()
            .check_per_document(needed, "an export of so many documents")?;
        let staged = StagedFolder::create(path)?;
        let folder = staged.temporary();
        progress.begin(Stage::Writing, self.info().postings);
        let norms = self.write_corpus(&live, bm25, folder, path)?;
        let mut exported = Exported {
            documents: norms.len() as u64,
            terms: 0,
            postings: 0,
        };
        let mut matrix =
            Matrix::create(folder, method.is_nonzero_elsewhere()).map_err(Error::writing(path))?;
        let mut lists = live.lists()?;
        let mut term = Vec::new();
        let mut weights = Vec::new();
        while let Some(df) = lists.next_term(&mut term)? {
            let (idf, elsewhere) = method.idf(exported.documents, df);
            matrix
                .begin(&term, elsewhere)
                .map_err(Error::writing(path))?;
            while let Some((documents, tfs)) = lists.next_postings()? {
                weights.resize(documents.len(), 0.0);
                bm25.weigh(idf, documents, tfs, &norms, &mut weights);
                weights.iter_mut().for_each(|weight| *weight -= elsewhere);
                matrix
                    .push(documents, &weights)
                    .map_err(Error::writing(path))?;
            }
            exported.terms += 1;
            exported.postings += df;
            progress.add(df);
        }
        matrix.finish().map_err(Error::writing(path))?;
        method
            .write(exported.documents, &folder.join("params.index.json"))
            .map_err(Error::writing(path))?;
        staged.rename()?;
        sync_folder(path)?;
        Ok(exported)
    }

    /// Writes the ids as the corpus. Returns L of every document.
    fn write_corpus(
        &self,
        live: &Live<'_>,
        bm25: &Bm25,
        folder: &Path,
        path: &Path,
    ) -> Result<Vec<f64>> {
        let statistics = self.statistics();
        let create = |name| create(&folder.join(name)).map_err(Error::writing(path));
        let (mut corpus, mut places) = (create("corpus.jsonl")?, create("corpus.mmindex.json")?);
        // Fewer than 2^31.
        let mut norms = Vec::with_capacity(statistics.documents as usize);
        let (mut line, mut at) = (Vec::new(), 0);
        live.each_document(|id, length| {
            line.clear();
            let mut write = || {
                write!(line, "{{\"id\": {}, \"text\": ", norms.len())?;
                serde_json::to_writer(&mut line, &String::from_utf8_lossy(id))?;
                line.extend_from_slice(b"}\n");
                corpus.write_all(&line)?;
                let before = if norms.is_empty() { "[" } else { ", " };
                write!(places, "{before}{at}")
            };
            write().map_err(Error::writing(path))?;
            at += line.len();
            norms.push(bm25.norm(length, &statistics));
            Ok(())
        })?;
        let end = if norms.is_empty() { "[]" } else { "]" };
        let finish = || {
            places.write_all(end.as_bytes())?;
            finish(places)?;
            finish(corpus)
        };
        finish().map_err(Error::writing(path))?;
        Ok(norms)
    }
}

fn create(path: &Path) -> io::Result<BufWriter<File>> {
    Ok(BufWriter::new(File::create(path)?))
}

/// Syncs a file to disk.
fn finish(file: BufWriter<File>) -> io::Result<()> {
    file.into_inner()?.sync_all()
}

/// A formula in the terms of `bm25s`.
struct Method<'a> {
    bm25: &'a Bm25,
    name: &'static str,
    delta: f64,
}

impl<'a> Method<'a> {
    fn of(bm25: &'a Bm25) -> Result<Self> {
        // The other formulas ignore delta.
        let mut delta = bm25.delta_of_bm25l();
        let name = match bm25.formula {
            Formula::Lucene => "lucene",
            Formula::Robertson => "robertson",
            Formula::Atire => "atire",
            Formula::Bm25L => "bm25l",
            Formula::Bm25Plus => {
                delta = bm25.delta_of_bm25plus();
                "bm25+"
            }
            _ => {
                return Err(Error::Usage(
                    "bm25s has no such formula; choose lucene, robertson, atire, bm25l or bm25plus"
                        .into(),
                ));
            }
        };
        Ok(Method { bm25, name, delta })
    }

    /// Whether terms add to documents that do not have them.
    fn is_nonzero_elsewhere(&self) -> bool {
        matches!(self.bm25.formula, Formula::Bm25L | Formula::Bm25Plus)
    }

    /// The idf of a term in `df` of `documents` documents, and its addition to documents that do
    /// not have it.
    fn idf(&self, documents: u64, df: u64) -> (f64, f32) {
        let Method { bm25, delta, .. } = *self;
        let idf = bm25.idf(documents, df);
        let elsewhere = match bm25.formula {
            Formula::Robertson => return (idf.max(0.0) / (bm25.k1 + 1.0), 0.0),
            // Avoids 0 / 0 if k1 is 0 too.
            Formula::Bm25L if delta > 0.0 => (bm25.k1 + 1.0) * delta / (bm25.k1 + delta),
            Formula::Bm25Plus => delta,
            _ => 0.0,
        };
        (idf, (idf * elsewhere) as f32)
    }

    /// Writes the parameters that `bm25s` reads.
    fn write(&self, documents: u64, path: &Path) -> io::Result<()> {
        let mut file = create(path)?;
        let parameters = json!({
            "k1": self.bm25.k1,
            "b": self.bm25.b,
            "delta": self.delta,
            "method": self.name,
            "idf_method": self.name,
            "dtype": "float32",
            "int_dtype": "int32",
            "num_docs": documents,
            "version": VERSION,
            "backend": "numpy",
        });
        serde_json::to_writer_pretty(&mut file, &parameters)?;
        finish(file)
    }
}

/// Writes the matrix and its vocabulary.
struct Matrix {
    data: Npy,
    indices: Npy,
    indptr: Npy,
    nonoccurrence: Option<Npy>,
    vocabulary: BufWriter<File>,
    terms: u64,
    entries: u64,
    /// Whether the index has the empty term.
    has_empty: bool,
}

impl Matrix {
    fn create(folder: &Path, nonoccurrence: bool) -> io::Result<Self> {
        let array = |name, descr| Npy::create(&folder.join(name), descr);
        let mut vocabulary = create(&folder.join("vocab.index.json"))?;
        vocabulary.write_all(b"{")?;
        Ok(Matrix {
            data: array("data.csc.index.npy", "<f4")?,
            indices: array("indices.csc.index.npy", "<i4")?,
            indptr: array("indptr.csc.index.npy", "<i8")?,
            nonoccurrence: match nonoccurrence {
                true => Some(array("nonoccurrence_array.index.npy", "<f4")?),
                false => None,
            },
            vocabulary,
            terms: 0,
            entries: 0,
            has_empty: false,
        })
    }

    /// Begins the column of a term.
    fn begin(&mut self, term: &[u8], elsewhere: f32) -> io::Result<()> {
        self.indptr.write(&[self.entries])?;
        if let Some(array) = &mut self.nonoccurrence {
            array.write(&[elsewhere])?;
        }
        if self.terms > 0 {
            self.vocabulary.write_all(b", ")?;
        }
        serde_json::to_writer(&mut self.vocabulary, &String::from_utf8_lossy(term))?;
        write!(self.vocabulary, ": {}", self.terms)?;
        self.terms += 1;
        self.has_empty |= term.is_empty();
        Ok(())
    }

    fn push(&mut self, documents: &[u32], weights: &[f32]) -> io::Result<()> {
        self.entries += documents.len() as u64;
        // Documents are fewer than 2^31: the signed and unsigned forms are equal.
        self.indices.write(documents)?;
        self.data.write(weights)
    }

    fn finish(mut self) -> io::Result<()> {
        if !self.has_empty {
            // `bm25s` looks for this entry in a query without known terms.
            self.begin(b"", 0.0)?;
        }
        self.indptr.write(&[self.entries])?;
        self.vocabulary.write_all(b"}")?;
        finish(self.vocabulary)?;
        let arrays = [self.data, self.indices, self.indptr];
        for array in arrays.into_iter().chain(self.nonoccurrence) {
            array.finish()?;
        }
        Ok(())
    }
}
