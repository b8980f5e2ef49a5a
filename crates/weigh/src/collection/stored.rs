//! A collection in memory if it fits, or else on scratch.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use super::options::{BuildOptions, thread_pool};
use super::storage::Storage;
use super::{ByDocument, Collection, local};
use crate::collection::external::{External, Spill};
use crate::formula::{Bm25, Prune, Statistics};
use tokapi_storage::error::{Error, Place, Position, Result};
use tokapi_storage::memory::Memory;
use tokapi_storage::pipeline::StageTimes;
use tokapi_storage::progress::Progress;
use tokapi_storage::scratch::JobIdentity;
use tokapi_text::analyze::Analyzer;
use tokapi_text::corpus::{Corpus, Input, Skipped};

/// The result of writing; [`Stored`] has an example.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Written {
    /// The files; the requested one comes first.
    pub files: Vec<PathBuf>,
    /// The number of distinct terms.
    pub terms: u64,
    /// The times of the local pass.
    pub local: StageTimes,
    /// The times of the global pass; in memory, those of encoding and writing only.
    pub global: StageTimes,
}

/// An inverted collection: in memory if it fits into the budget, otherwise on scratch.
///
/// ```
/// # use tokapi_storage::memory::Memory;
/// # use tokapi_text::corpus::{Corpus, CorpusOptions, Document};
/// # use tokapi_weigh::collection::{BuildOptions, Storage, Stored};
/// # use tokapi_weigh::formula::Bm25;
/// # use tokapi_weigh::output::Output;
/// # fn main() -> tokapi_storage::error::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("weights.tsv");
/// let documents = [Document::new("1", "to be or not to be")];
/// let corpus = Corpus::from_documents(documents, CorpusOptions::default());
/// let storage = Storage::new(Memory::new(1 << 30)?).output(path.clone());
/// let stored = Stored::build(corpus, &BuildOptions::default(), &storage)?;
/// assert_eq!(stored.postings_count(), 4);
/// assert_eq!(stored.first_documents(&Bm25::default(), 1)?[0].id, "1");
/// let written = Output::of_name(path)?.write(stored, &Bm25::default())?;
/// assert_eq!(written.terms, 4);
/// # Ok(())
/// # }
/// ```
pub struct Stored(StoredIn);

/// The place of a [`Stored`] collection.
#[doc(hidden)]
pub enum StoredIn {
    /// In memory.
    Memory(Collection),
    /// On scratch.
    Scratch(External),
}

impl From<Collection> for Stored {
    fn from(collection: Collection) -> Self {
        Stored(StoredIn::Memory(collection))
    }
}

impl Stored {
    /// Reads and inverts a whole corpus within the memory of `storage`.
    ///
    /// # Errors
    /// As [`Collection::build`]; scratch files cannot be written or read; an interrupted job blocks this one, or cannot
    /// be continued.
    pub fn build(mut corpus: Corpus, options: &BuildOptions, storage: &Storage) -> Result<Self> {
        let pool = thread_pool(options)?;
        let threads = pool.current_num_threads();
        let (job, progress) = (job(&corpus, options, storage), corpus.progress());
        let inputs: Vec<Input> = corpus.inputs().cloned().collect();
        let is_from_memory = corpus.is_from_memory();
        if storage.scratch.resume && is_from_memory {
            return Err(Error::Usage(
                "documents from memory cannot be read again, so their build cannot be resumed; \
                 begin again"
                    .into(),
            ));
        }
        if storage.scratch.resume && corpus.inputs().any(|input| input.is_stdin()) {
            return Err(Error::Usage(
                "standard input cannot be read again; save it to a file to be able to resume"
                    .into(),
            ));
        }
        let mut spill = Spill::open(storage.memory, job, &storage.scratch)?;
        corpus.share_among(threads);
        let most = storage.memory.chunk_bytes(threads);
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let external = external_chunk_bytes(&corpus, options, &storage.memory, most);
        let chunk_bytes = chunk_bytes(&corpus, spill.chunk_bytes(), external, most)?;
        corpus.bound(chunk_bytes, storage.memory.document_bytes());
        let described = corpus.description();
        let on_error = corpus.on_error();
        let local = local::pass(corpus, options, &pool, Some(&mut spill));
        let local = match local {
            Ok(local) => local,
            Err(error) => {
                if is_from_memory || !can_go_on(&error) {
                    spill.abandon();
                }
                return Err(error);
            }
        };
        if spill.stamp() == 0 {
            let collection = Collection::of_local(local, on_error, pool, options, progress)?;
            return Ok(Stored(StoredIn::Memory(collection)));
        }
        let changed = inputs
            .iter()
            .zip(described["inputs"].as_array().into_iter().flatten())
            .find(|(input, before)| input.description() != **before);
        if let Some((input, _)) = changed {
            let path = input.path.clone();
            spill.abandon();
            return Err(Error::Input {
                place: Place {
                    path,
                    position: Position::Whole,
                },
                what: "it has changed while it was read; begin again".into(),
            });
        }
        let mut external = External::new(spill, threads, options, progress)?;
        external.is_kept = !is_from_memory;
        if let Err(error) = external.remove_repeated(on_error) {
            if !can_go_on(&error) {
                external.remove();
            }
            return Err(error);
        }
        external.fallback = local.fallback;
        external.times = local.times;
        Ok(Stored(StoredIn::Scratch(external)))
    }

    /// Whether it is on scratch.
    pub fn is_on_scratch(&self) -> bool {
        matches!(self.0, StoredIn::Scratch(_))
    }

    /// The collection itself.
    #[doc(hidden)]
    pub fn into_place(self) -> StoredIn {
        self.0
    }

    /// The times of the local pass.
    pub fn local_times(&self) -> StageTimes {
        match &self.0 {
            StoredIn::Memory(collection) => collection.times,
            StoredIn::Scratch(external) => external.times,
        }
    }

    /// The number of threads.
    pub fn threads(&self) -> usize {
        match &self.0 {
            StoredIn::Memory(collection) => collection.pool().current_num_threads(),
            StoredIn::Scratch(external) => external.stages().threads,
        }
    }

    /// N and the total length.
    pub fn statistics(&self) -> Statistics {
        match &self.0 {
            StoredIn::Memory(collection) => collection.statistics(),
            StoredIn::Scratch(external) => external.statistics(),
        }
    }

    /// The number of documents read, including the skipped ones.
    pub fn documents_read(&self) -> u64 {
        self.statistics().documents + self.skipped().count
    }

    /// The number of postings: distinct (term, document) pairs.
    pub fn postings_count(&self) -> u64 {
        match &self.0 {
            StoredIn::Memory(collection) => collection.postings_count(),
            StoredIn::Scratch(external) => external.postings_count(),
        }
    }

    /// The analyzer of its terms.
    pub fn analyzer(&self) -> &Analyzer {
        match &self.0 {
            StoredIn::Memory(collection) => collection.analyzer(),
            StoredIn::Scratch(external) => external.analyzer(),
        }
    }

    /// The progress of all operations on the collection.
    pub fn progress(&self) -> &Progress {
        match &self.0 {
            StoredIn::Memory(collection) => collection.progress(),
            StoredIn::Scratch(external) => external.progress(),
        }
    }

    /// The bytes of text read, after decompression.
    pub fn bytes(&self) -> u64 {
        match &self.0 {
            StoredIn::Memory(collection) => collection.bytes(),
            StoredIn::Scratch(external) => external.bytes(),
        }
    }

    /// The skipped documents.
    pub fn skipped(&self) -> &Skipped {
        match &self.0 {
            StoredIn::Memory(collection) => collection.skipped(),
            StoredIn::Scratch(external) => external.skipped(),
        }
    }

    /// The number of distinct terms. On scratch, this call counts them.
    ///
    /// # Errors
    /// Scratch cannot be read or written.
    pub fn count_terms(self) -> Result<u64> {
        match self.0 {
            StoredIn::Memory(collection) => Ok(collection.lexicon().terms.len() as u64),
            StoredIn::Scratch(mut external) => {
                external.reduce()?;
                let (terms, _) = external.merge_terms()?;
                external.remove();
                Ok(terms.count)
            }
        }
    }

    /// Keeps only the postings that `prune` keeps under `bm25`; df and lengths stay as they are.
    ///
    /// # Errors
    /// Parameters out of range; scratch cannot be read or written.
    pub fn prune(&mut self, bm25: &Bm25, prune: &Prune) -> Result<()> {
        match &mut self.0 {
            StoredIn::Memory(collection) => collection.prune(bm25, prune),
            StoredIn::Scratch(external) => external.prune(bm25, prune),
        }
    }

    /// The first `count` documents, each with its terms, the heaviest first.
    ///
    /// # Errors
    /// Parameters out of range; scratch cannot be read or written.
    pub fn first_documents(&self, bm25: &Bm25, count: usize) -> Result<Vec<WeighedDocument>> {
        match &self.0 {
            StoredIn::Memory(collection) => first_documents(&collection.by_document(bm25)?, count),
            StoredIn::Scratch(external) => {
                let (terms, _) = external.merge_terms()?;
                first_documents(&external.by_document(&terms, bm25)?, count)
            }
        }
    }

    /// Weighs every posting by `bm25` and writes nothing: for timing.
    ///
    /// # Errors
    /// Parameters out of range; scratch cannot be read.
    pub fn weigh_only(self, bm25: &Bm25) -> Result<Written> {
        bm25.check()?;
        let mut terms = 0;
        let local = self.local_times();
        let mut global = StageTimes::default();
        match self.0 {
            StoredIn::Memory(collection) => {
                let weights = collection.weigh(bm25)?;
                terms = weights.lexicon.terms.len() as u64;
            }
            StoredIn::Scratch(mut external) => {
                external.reduce()?;
                let mut tasks = external.tasks(1 << 20)?;
                let worker = || |task| Ok(external.weigh(task, bm25)?.1);
                let count = |new_terms: std::ops::Range<usize>| {
                    terms += new_terms.len() as u64;
                    Ok(())
                };
                global = external.stages().run(|| tasks.next(), worker, count)?;
                external.remove();
            }
        }
        Ok(Written {
            files: Vec::new(),
            terms,
            local,
            global,
        })
    }

    /// The reason why the CPU took over from a GPU, if it did.
    pub fn fallback(&self) -> Option<&str> {
        match &self.0 {
            StoredIn::Memory(collection) => collection.fallback(),
            StoredIn::Scratch(external) => external.fallback.as_deref(),
        }
    }
}

/// A document with the weights of its terms; [`Stored`] has an example.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct WeighedDocument {
    /// Its id.
    pub id: String,
    /// Its terms, the heaviest first.
    pub terms: Vec<(String, f32)>,
}

fn first_documents(rows: &impl ByDocument, count: usize) -> Result<Vec<WeighedDocument>> {
    let mut documents = Vec::new();
    for part in 0..rows.part_count() {
        let rows = rows.rows(part)?;
        for document in 0..rows.len() {
            if documents.len() == count {
                return Ok(documents);
            }
            let mut entries: Vec<usize> =
                (rows.starts[document]..rows.starts[document + 1]).collect();
            entries.sort_by(|&a, &b| rows.weights[b].total_cmp(&rows.weights[a]));
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            documents.push(WeighedDocument {
                id: text(rows.ids.get(document)),
                terms: entries
                    .iter()
                    .map(|&entry| (text(rows.term(entry)), rows.weights[entry]))
                    .collect(),
            });
        }
    }
    Ok(documents)
}

/// Whether the job can be continued after this error, once its cause is fixed.
fn can_go_on(error: &Error) -> bool {
    matches!(
        error,
        Error::Read { .. }
            | Error::Scratch { .. }
            | Error::Damaged { .. }
            | Error::Write { .. }
            | Error::Device(_)
    )
}

/// The size of chunks for scratch. On a measured machine it is the predicted best size. It is always large enough to
/// merge all runs at once, if the memory allows.
fn external_chunk_bytes(
    corpus: &Corpus,
    options: &BuildOptions,
    memory: &Memory,
    most: usize,
) -> Option<usize> {
    let bytes = corpus.total_bytes();
    if corpus.asked_chunk_bytes().is_some() || !memory.spills(bytes) {
        return None;
    }
    // A larger number of runs would be merged twice. Chunks end with a document, so there are a few more of them than
    // their size suggests.
    let least = bytes / (memory.merged_runs() as u64 * 19 / 20).max(1) + 1;
    let Some(model) = options.tuned.as_deref() else {
        let usual = corpus.chunk_bytes() as u64;
        return usize::try_from(least.max(usual)).ok();
    };
    let most = model.range.1.min(most as u64);
    let least = model.range.0.max(least).min(most);
    let best = model.best(bytes, least, most);
    log::info!(
        "best chunk size by the measurements of this machine: {best} bytes; predicted: {:.1} s for {bytes} bytes",
        model.predict(bytes, best).total
    );
    usize::try_from(best).ok()
}

/// The size of chunks: that of the interrupted job, the given one, the one for scratch, or the default, as far as the
/// memory allows.
fn chunk_bytes(
    corpus: &Corpus,
    begun: Option<usize>,
    external: Option<usize>,
    most: usize,
) -> Result<usize> {
    let asked = corpus.asked_chunk_bytes();
    match (begun, asked) {
        (Some(begun), Some(asked)) if begun != asked => Err(Error::Usage(format!(
            "the interrupted run had chunks of {begun} bytes; drop the chunk size to continue it"
        ))),
        (Some(begun), _) if begun > most => Err(Error::Usage(format!(
            "the interrupted run had chunks of {begun} bytes, for which this is not enough memory"
        ))),
        (Some(begun), _) => Ok(begun),
        // A smaller input never has such a chunk.
        (None, Some(asked)) if asked > most && corpus.total_bytes() > most as u64 => {
            Err(Error::Usage(format!(
                "chunks of {asked} bytes need more memory; at most {most} bytes fit, or use fewer threads"
            )))
        }
        (None, Some(asked)) => Ok(asked.min(most)),
        (None, None) => Ok(external.unwrap_or(corpus.chunk_bytes()).min(most)),
    }
}

/// The number of builds of documents from memory that this process has begun.
static BUILDS: AtomicU64 = AtomicU64::new(0);

fn job(corpus: &Corpus, options: &BuildOptions, storage: &Storage) -> JobIdentity {
    let mut terms = corpus.description();
    terms["analyzer"] = options.analyzer.journal_description().into();
    terms["engine"] = options.engine.terms_description().into();
    let output = storage
        .output
        .as_deref()
        .filter(|path| *path != Path::new("-"));
    let folder = match output.and_then(Path::parent) {
        Some(folder) if folder.as_os_str().is_empty() => PathBuf::from("."),
        Some(folder) => folder.to_path_buf(),
        None => std::env::temp_dir(),
    };
    let folder = folder.canonicalize().unwrap_or(folder);
    let name = match output.and_then(Path::file_name) {
        Some(name) => folder.join(name).display().to_string(),
        // No other build has these documents.
        None if corpus.is_from_memory() => {
            let number = BUILDS.fetch_add(1, Ordering::Relaxed);
            format!("documents of process {}, {number}", std::process::id())
        }
        None => Value::to_string(&terms["inputs"]),
    };
    JobIdentity {
        name,
        terms,
        input: corpus.inputs().next().map(|input| input.path.clone()),
        output: folder,
    }
}
