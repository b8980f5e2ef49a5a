//! The BM25 weight of every term in every document of a collection, exact, fast and in parallel; and exact ranked
//! search in an index on disk.
//!
//! # Weigh a collection
//!
//! A [`Corpus`] reads documents, a [`Collection`] holds them inverted, and [`Weights`] are columns of its postings:
//!
//! ```
//! use tokapi::{Bm25, BuildOptions, Collection, Corpus, CorpusOptions, Document};
//!
//! # fn main() -> tokapi::Result<()> {
//! let documents = [
//!     Document::new("1", "to be or not to be"),
//!     Document::new("2", "to sleep"),
//! ];
//! let corpus = Corpus::from_documents(documents, CorpusOptions::default());
//! let collection = Collection::build(corpus, &BuildOptions::default())?;
//! let weights = collection.weigh(&Bm25::default())?;
//!
//! let heaviest = weights.iter().max_by(|a, b| a.weight.total_cmp(&b.weight)).unwrap();
//! assert_eq!((heaviest.term, heaviest.tf), (&b"sleep"[..], 1));
//! # Ok(())
//! # }
//! ```
//!
//! [`Corpus::open`] reads files, folders and globs of JSONL, JSON, CSV, TSV, TREC, Parquet and plain text;
//! [`Corpus::channel`] takes documents from another thread. [`Stored::build`] stays within a [`Memory`] budget and puts
//! the rest into scratch files. [`Output`] writes the weights to a file: Parquet, TSV, npz or JSONL.
//!
//! # Search
//!
//! An [`IndexBuilder`] makes an index in a folder, [`Index`] searches it, [`IndexWriter`] changes it:
//!
//! ```
//! use tokapi::{Analyzer, Corpus, CorpusOptions, Index, IndexBuilder, Query, SearchOptions};
//!
//! # fn main() -> tokapi::Result<()> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("index");
//! let text = "{\"id\": \"a\", \"text\": \"Boundary layers\"}\n{\"id\": \"b\", \"text\": \"Wing flow\"}\n";
//! let corpus = Corpus::from_bytes("docs.jsonl", text, CorpusOptions::default());
//! IndexBuilder::new(&path).store(true).build(corpus)?;
//!
//! let index = Index::open(&path)?;
//! let query = Query::any(index.analyzer().terms("a flow over wings and a wing"));
//! let hits = index.search(&query, &SearchOptions::default())?;
//! assert_eq!(index.id(hits[0].document)?, "b");
//! # Ok(())
//! # }
//! ```
//!
//! Scores are sums in double precision of the weights of the query's terms, exact to the last bit, for any
//! [`Formula`], k1 and b that come with the query.
//!
//! # Follow and cancel
//!
//! Every long operation reports to a [`Progress`], and ends soon after [`Progress::cancel`] with
//! [`Error::Cancelled`], leaving nothing behind. `examples/stream.rs` feeds documents from a channel, shows the
//! progress, cancels on demand, and searches.
//!
//! # Errors
//!
//! The library never prints, never exits and does not panic on bad input. An [`Error`] names the fault, its place and
//! the way out.
//!
//! # Features
//!
//! `cuda` adds the engine for GPUs; building it needs nvcc. `kernels` adds its build for the host, which tests use.
//!
//! # Further crates
//!
//! [`sort`] sorts files of numbers, [`mapreduce`] runs jobs of map and reduce, [`eval`] measures the effectiveness of a
//! run. The crates below this one (`tokapi-text`, `tokapi-weigh`, `tokapi-index` and so on) have more, and promise less:
//! their interfaces may change with every version.

#[doc(inline)]
pub use tokapi_storage::error::{Error, Kept, Place, Position, Result};
#[doc(inline)]
pub use tokapi_storage::memory::Memory;
#[doc(inline)]
pub use tokapi_storage::progress::{Progress, Snapshot, Stage};
#[doc(inline)]
pub use tokapi_storage::scratch::ScratchOptions;
#[doc(inline)]
pub use tokapi_storage::strings::Strings;

#[doc(inline)]
pub use tokapi_text::analyze::{Analyzer, AnalyzerOptions, Cut, StopWords};
#[doc(inline)]
pub use tokapi_text::corpus::{
    Corpus, CorpusOptions, Document, DocumentSender, Format, OnError, Skipped, Value,
};

#[doc(inline)]
pub use tokapi_weigh::collection::{
    BuildOptions, Collection, Documents, Engine, Posting, Rows, Storage, Stored, WeighedDocument,
    Weights, Written,
};
#[doc(inline)]
pub use tokapi_weigh::dictionary::Dictionary;
#[doc(inline)]
pub use tokapi_weigh::formula::{Bm25, Formula, Prune, Statistics};
#[doc(inline)]
pub use tokapi_weigh::lexicon::Lexicon;
#[doc(inline)]
pub use tokapi_weigh::output::{Order, Output, Target};

#[doc(inline)]
pub use tokapi_index::query::{
    Clause, Explained, ExplainedTerm, Filter, Highlighter, Hit, Occur, Phrase, Query,
    QueryStatistics, Rank, SearchOptions, Snippet,
};
#[doc(inline)]
pub use tokapi_index::{
    AddOptions, Added, Built, Checked, Deletion, Exported, Impacts, ImportOptions, Index,
    IndexBuilder, IndexInfo, IndexWriter, Keep, LeftOver, Missing, Reorder, Reordering, Repeated,
    Replaced, StoredDocument, StoredValue,
};

/// Measures of the effectiveness of a run, as trec_eval defines them.
///
/// ```
/// use tokapi::eval::{Evaluation, Judgments, Run};
///
/// # fn main() -> tokapi::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let (run, qrels) = (folder.path().join("run"), folder.path().join("qrels"));
/// std::fs::write(&run, "q1 Q0 d2 1 3.5 tag\nq1 Q0 d1 2 3.0 tag\n").unwrap();
/// std::fs::write(&qrels, "q1 0 d1 1\n").unwrap();
/// let evaluation = Evaluation::new(&Run::read(&run)?, &Judgments::read(&qrels)?, false);
/// # let _ = evaluation;
/// # Ok(())
/// # }
/// ```
pub mod eval {
    #[doc(inline)]
    pub use tokapi_index::eval::{Evaluation, Judgments, Measures, Run};
}

/// Sorting files of numbers, in memory and beyond.
///
/// ```
/// use tokapi::sort::{Cpu, KeyType, Sort};
///
/// # fn main() -> tokapi::Result<()> {
/// let mut keys = [2.5f32, f32::NAN, -0.0, 0.0, -1e9].map(f32::to_bits);
/// KeyType::F32.order32(&mut keys);
/// Cpu::new().keys32(&mut keys)?;
/// KeyType::F32.restore32(&mut keys);
/// assert_eq!(keys[..4], [-1e9f32, -0.0, 0.0, 2.5].map(f32::to_bits));
/// # Ok(())
/// # }
/// ```
pub mod sort {
    #[doc(inline)]
    pub use tokapi_sort::{Cpu, KeyType, Layout, Sort, SortOptions, Sorted, sort_file};
}

/// MapReduce: jobs over collections, typed and in parallel.
///
/// ```
/// use tokapi::mapreduce::{Emitter, Job, Line, Lines, Threads};
///
/// struct LongestLine;
///
/// impl Job for LongestLine {
///     type Input = Lines;
///     type Key<'a> = char;
///     type Value = u64;
///     type Note = ();
///     type Output<'a> = (char, u64);
///
///     fn map(&self, line: Line<'_>, emit: &mut Emitter<Self>) {
///         emit.pair(line.text.chars().next().unwrap_or(' '), line.text.len() as u64);
///     }
///
///     fn reduce(
///         &self,
///         first: char,
///         lengths: impl Iterator<Item = u64>,
///         write: &mut impl FnMut((char, u64)),
///     ) -> tokapi::Result<()> {
///         write((first, lengths.max().unwrap_or(0)));
///         Ok(())
///     }
/// }
///
/// # fn main() -> tokapi::Result<()> {
/// let lines = Lines::of_text("be\nto be\nto\nbye", 1);
/// let (longest, _) = Threads::default().collect(&mut LongestLine, lines, |output| output)?;
/// assert_eq!(longest, [('b', 3), ('t', 5)]);
/// # Ok(())
/// # }
/// ```
pub mod mapreduce {
    #[doc(inline)]
    pub use tokapi_mapreduce::{
        Document, Documents, Emitter, Job, Line, Lines, Partitions, Portable, ProcessOptions,
        Processes, Registry, Report, Runner, Threads, WorkerCommand, work,
    };
}
