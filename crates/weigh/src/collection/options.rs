//! The options of building a collection: the analyzer, the engine and its threads.

use std::sync::Arc;

use crate::gpu::{GpuOptions, Method};
use tokapi_storage::error::{Error, Result};
use tokapi_storage::tune::Model;
use tokapi_text::analyze::Analyzer;

/// The engine that inverts chunks.
///
/// [`BuildOptions`] has an example.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum Engine {
    /// The fast one, on all cores.
    #[default]
    Cpu,
    /// The definition, slow and plain.
    Reference,
    /// A GPU. Without one, or in a program that was built without the feature `cuda`, a build fails with
    /// [`Error::NoDevice`], or continues on the CPU ([`BuildOptions::or_cpu`]).
    Gpu(GpuOptions),
}

impl Engine {
    /// The name under which its constants are stored ([`tokapi_storage::tune`]).
    pub fn name(&self) -> &'static str {
        match self {
            Engine::Cpu => "cpu",
            Engine::Reference => "reference",
            Engine::Gpu(options) => match options.method {
                Method::Hash => "gpu hash",
                Method::Pp => "gpu pp",
                Method::Ppd => "gpu ppd",
                Method::Mars => "gpu mars",
            },
        }
    }

    /// The difference of its terms from those of other engines, in words.
    pub(super) fn terms_description(&self) -> &'static str {
        match self {
            Engine::Gpu(options) if options.unknown_one => {
                "terms outside of the dictionary are one"
            }
            _ => "exact",
        }
    }
}

/// The options of building a collection.
///
/// ```
/// # use tokapi_text::analyze::Cut;
/// # use tokapi_weigh::collection::{BuildOptions, Engine};
/// let options = BuildOptions::default()
///     .analyzer(Cut::Whitespace)
///     .engine(Engine::Reference)
///     .threads(2);
/// assert_eq!(options.engine.name(), "reference");
/// ```
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct BuildOptions {
    /// The analyzer, which turns text into terms.
    pub analyzer: Analyzer,
    /// The engine.
    pub engine: Engine,
    /// The number of threads; 0 means one per core.
    pub threads: usize,
    /// Whether some chunks of a GPU are inverted again on the CPU and compared.
    pub verify: bool,
    /// Whether the CPU takes over if a GPU cannot be used or fails
    /// ([`Collection::fallback`](super::Collection::fallback)).
    pub or_cpu: bool,
    /// Whether input, computation and output wait for each other: for comparison.
    pub no_overlap: bool,
    /// The measurements of this machine. They predict the best size of chunks on scratch if none is given.
    pub tuned: Option<Arc<Model>>,
}

impl BuildOptions {
    /// Sets [`analyzer`](Self::analyzer).
    pub fn analyzer(mut self, analyzer: impl Into<Analyzer>) -> Self {
        self.analyzer = analyzer.into();
        self
    }

    /// Sets [`engine`](Self::engine).
    pub fn engine(mut self, engine: Engine) -> Self {
        self.engine = engine;
        self
    }

    /// Sets [`threads`](Self::threads).
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Sets [`verify`](Self::verify).
    pub fn verify(mut self, verify: bool) -> Self {
        self.verify = verify;
        self
    }

    /// Sets [`or_cpu`](Self::or_cpu).
    pub fn or_cpu(mut self, or_cpu: bool) -> Self {
        self.or_cpu = or_cpu;
        self
    }

    /// Sets [`no_overlap`](Self::no_overlap).
    pub fn no_overlap(mut self, no_overlap: bool) -> Self {
        self.no_overlap = no_overlap;
        self
    }

    /// Sets [`tuned`](Self::tuned).
    pub fn tuned(mut self, tuned: impl Into<Option<Arc<Model>>>) -> Self {
        self.tuned = tuned.into();
        self
    }
}

/// The thread pool of a collection.
pub fn thread_pool(options: &BuildOptions) -> Result<rayon::ThreadPool> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(options.threads)
        .build()
        .map_err(|error| Error::Limit(format!("cannot start threads: {error}")))
}
