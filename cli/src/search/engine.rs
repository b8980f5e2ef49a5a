//! The engines that answer queries: the CPU alone, or a GPU to which lists are copied first.

use std::sync::Arc;

use clap::ValueEnum;
use tokapi::{Error, Index};
use tokapi::{Query, SearchOptions};
use tokapi_device::cooperate::{InOrder, SchedulerOptions};

#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
pub enum EngineName {
    /// A GPU for a file of queries large enough to pay for the copy of the lists, otherwise the CPU
    Auto,
    /// All cores of the CPU
    Cpu,
    /// A GPU, and the CPU for queries that a GPU cannot answer; an error if no GPU can be used
    Gpu,
}

impl EngineName {
    /// The scheduler that answers `queries` in order by `options` with the GPU of number `device`; none if the CPU
    /// answers all.
    pub fn in_order(
        self,
        index: &Arc<Index>,
        device: u32,
        queries: &[Query],
        search: SearchOptions,
        options: &SchedulerOptions,
    ) -> Result<Option<InOrder>, Error> {
        #[cfg(not(feature = "cuda"))]
        {
            let _ = (index, device, queries, search, options);
            self.without_gpu().map(|()| None)
        }
        #[cfg(feature = "cuda")]
        {
            use tokapi_device::gpu::GpuIndex;

            let may = |query: &&Query| GpuIndex::may_answer(query, &search);
            let answerable: Vec<&Query> = queries.iter().filter(may).collect();
            match self {
                EngineName::Cpu => Ok(None),
                EngineName::Gpu => {
                    let copies = !answerable.is_empty();
                    copied(index, device, queries, search, options, copies).map(Some)
                }
                EngineName::Auto => {
                    let count = sooner_on_gpu(index, &answerable, options.threads)?;
                    if !GpuIndex::pays(index, count, options.threads) {
                        log::info!("engine cpu: copying lists to a GPU would take longer");
                        return Ok(None);
                    }
                    match copied(index, device, queries, search, options, true) {
                        Err(Error::NoDevice(why) | Error::Device(why) | Error::Limit(why)) => {
                            crate::summary::note(&format!(
                                "tokapi: the CPU does all the work: {why}\n"
                            ));
                            Ok(None)
                        }
                        in_order => in_order.map(Some),
                    }
                }
            }
        }
    }

    #[cfg(not(feature = "cuda"))]
    fn without_gpu(self) -> Result<(), Error> {
        let why = crate::engine::without_cuda();
        match self {
            EngineName::Gpu => return Err(why),
            EngineName::Auto => log::info!("engine cpu: {why}"),
            EngineName::Cpu => {}
        }
        Ok(())
    }
}

/// The number of `queries` that a GPU answers sooner than a thread of the CPU, by the router that `tokapi tune` has
/// fitted on this machine; all of them if there is no router.
#[cfg(feature = "cuda")]
fn sooner_on_gpu(index: &Index, queries: &[&Query], threads: usize) -> Result<u64, Error> {
    use tokapi_device::cooperate::{Complexity, Router};
    use tokapi_storage::tune::Store;

    let router = Store::of_user().and_then(|store| Router::load(&store, threads as u64));
    let Some(router) = router else {
        return Ok(queries.len() as u64);
    };
    let mut sooner = 0;
    for query in queries {
        sooner += u64::from(router.to_gpu(&Complexity::of_query(index, query)?));
    }
    log::info!(
        "{sooner} of {} queries are faster on a GPU, by the measurements of `tokapi tune`",
        queries.len()
    );
    Ok(sooner)
}

/// A scheduler with the lists of `index` on a GPU, those of `queries` first; without any lists unless it `copies`.
#[cfg(feature = "cuda")]
fn copied(
    index: &Arc<Index>,
    device: u32,
    queries: &[Query],
    search: SearchOptions,
    options: &SchedulerOptions,
    copies: bool,
) -> Result<InOrder, Error> {
    use tokapi_device::cooperate::Accelerator;
    use tokapi_device::gpu::{GpuIndex, GpuIndexOptions, GpuIndexes};
    use tokapi_kernels::Build;

    Build::Cuda.count()?;
    let accelerator: Option<Arc<dyn Accelerator>> = match copies {
        false => None,
        true => {
            let mut on_gpu = GpuIndexOptions::new(Build::Cuda);
            on_gpu.device = device;
            on_gpu.bm25 = search.bm25;
            on_gpu.threads = options.threads;
            let on_device = GpuIndex::new(Arc::clone(index), &on_gpu, queries)?;
            let fit = on_device.fit();
            log::info!(
                "engine gpu: {} of {} lists and {} of {} postings fit",
                fit.fitting_lists,
                fit.lists,
                fit.fitting_postings,
                fit.postings
            );
            Some(Arc::new(Arc::new(GpuIndexes::of(Arc::new(on_device)))))
        }
    };
    InOrder::new(Arc::clone(index), accelerator, search, options)
}
