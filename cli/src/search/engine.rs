//! Who answers queries: the CPU alone, or a GPU to which lists are brought first.

use std::sync::Arc;

use clap::ValueEnum;
use tokapi::cooperate::{InOrder, SchedulerOptions};
use tokapi::query::Query;
use tokapi::{Error, Index};

#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
pub enum EngineName {
    /// A GPU for a file of so many queries that bringing lists there pays; the CPU otherwise, and where there is none
    Auto,
    /// All cores of the CPU
    Cpu,
    /// A GPU, or an error that says why not; the CPU for what a GPU cannot answer
    Gpu,
}

impl EngineName {
    /// What answers `queries` in order by `options` with a GPU; none where the CPU alone is to.
    #[cfg(not(feature = "cuda"))]
    pub fn in_order(
        self,
        _: &Arc<Index>,
        _: &[Query],
        _: &SchedulerOptions,
    ) -> Result<Option<InOrder>, Error> {
        let why = crate::engine::without_cuda();
        match self {
            EngineName::Gpu => return Err(why),
            EngineName::Auto => log::info!("engine cpu: {why}"),
            EngineName::Cpu => {}
        }
        Ok(None)
    }

    /// What answers `queries` in order by `options` with a GPU; none where the CPU alone is to.
    #[cfg(feature = "cuda")]
    pub fn in_order(
        self,
        index: &Arc<Index>,
        queries: &[Query],
        options: &SchedulerOptions,
    ) -> Result<Option<InOrder>, Error> {
        use tokapi::gpu::GpuIndex;

        let may = |query: &&Query| GpuIndex::may_answer(query, &options.search);
        let count = queries.iter().filter(may).count() as u64;
        match self {
            EngineName::Cpu => Ok(None),
            EngineName::Gpu => bring(index, queries, options, count > 0).map(Some),
            EngineName::Auto if !GpuIndex::pays(index, count, options.threads) => {
                log::info!("engine cpu: lists would take longer to bring to a GPU");
                Ok(None)
            }
            EngineName::Auto => match bring(index, queries, options, true) {
                Err(Error::NoDevice(why) | Error::Device(why) | Error::Limit(why)) => {
                    crate::summary::note(&format!("tokapi: the CPU does all: {why}\n"));
                    Ok(None)
                }
                brought => brought.map(Some),
            },
        }
    }
}

/// Brings the lists of `index` to a GPU, those of `queries` first, where it may answer some of these.
#[cfg(feature = "cuda")]
fn bring(
    index: &Arc<Index>,
    queries: &[Query],
    options: &SchedulerOptions,
    may: bool,
) -> Result<InOrder, Error> {
    use tokapi::cooperate::Accelerator;
    use tokapi::gpu::{Build, GpuIndex, GpuIndexOptions};

    Build::Cuda.count()?;
    let accelerator: Option<Arc<dyn Accelerator>> = match may {
        false => None,
        true => {
            let device = GpuIndexOptions::new(Build::Cuda);
            let on_device = GpuIndex::new(Arc::clone(index), &device, queries)?;
            let fit = on_device.fit();
            log::info!(
                "engine gpu: {} of {} lists, {} of {} postings are there",
                fit.fitting_lists,
                fit.lists,
                fit.fitting_postings,
                fit.postings
            );
            Some(Arc::new(Arc::new(on_device)))
        }
    };
    InOrder::new(Arc::clone(index), accelerator, options)
}
