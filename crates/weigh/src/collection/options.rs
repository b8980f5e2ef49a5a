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
    /// [`Error::NoDevice`], or continues on the CPU ([`BuildOptions::or_cpu`]). `Engine::Gpu(Default::default())` is the
    /// first device, with all of its free memory.
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
    #[doc(hidden)]
    pub tuned: Option<Arc<Model>>,
}

impl BuildOptions {
    tokapi_storage::setters! {
        analyzer: impl Into<Analyzer>, engine: Engine, threads: usize, verify: bool, or_cpu: bool,
        no_overlap: bool, #[doc(hidden)] tuned: impl Into<Option<Arc<Model>>>,
    }
}

/// The thread pool of a collection.
pub fn thread_pool(options: &BuildOptions) -> Result<rayon::ThreadPool> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(options.threads)
        .build()
        .map_err(|error| Error::Limit(format!("cannot start threads: {error}")))
}
