//! The engines of a local pass, one for each thread.

use std::sync::Mutex;

use super::options::{BuildOptions, Engine};
use crate::gpu::GpuOptions;
use crate::invert::{CpuInverter, Fallback, Invert, ReferenceInverter, Verified};
use tokapi_storage::error::{Error, Result};
use tokapi_text::corpus::Corpus;

/// The state shared by the engines.
pub(super) struct Engines<'a> {
    kind: Kind,
    options: &'a BuildOptions,
    /// The reason why the CPU took over, if it did.
    fallback: &'a Mutex<Option<String>>,
}

enum Kind {
    Cpu,
    Reference,
    #[cfg(feature = "kernels")]
    Gpu(std::sync::Arc<crate::gpu::Lanes>),
}

impl Kind {
    #[cfg(feature = "kernels")]
    fn gpu(
        gpu: &GpuOptions,
        corpus: &Corpus,
        options: &BuildOptions,
        pool: &rayon::ThreadPool,
    ) -> Result<Self> {
        let chunk_bytes = corpus.chunk_bytes() as u64;
        let threads = pool.current_num_threads();
        let lanes = crate::gpu::Lanes::open(gpu, &options.analyzer, threads, chunk_bytes)?;
        Ok(Kind::Gpu(std::sync::Arc::new(lanes)))
    }

    #[cfg(not(feature = "kernels"))]
    fn gpu(gpu: &GpuOptions, _: &Corpus, _: &BuildOptions, _: &rayon::ThreadPool) -> Result<Self> {
        gpu.check()?;
        Err(crate::gpu::without_cuda())
    }
}

impl<'a> Engines<'a> {
    /// Opens the device, if the engine needs one.
    pub(super) fn open(
        corpus: &Corpus,
        options: &'a BuildOptions,
        pool: &rayon::ThreadPool,
        fallback: &'a Mutex<Option<String>>,
    ) -> Result<Self> {
        let kind = match &options.engine {
            Engine::Cpu => Kind::Cpu,
            Engine::Reference => Kind::Reference,
            Engine::Gpu(gpu) => match Kind::gpu(gpu, corpus, options, pool) {
                Err(Error::Device(why) | Error::NoDevice(why)) if options.or_cpu => {
                    *fallback.lock().unwrap_or_else(|lock| lock.into_inner()) = Some(why);
                    Kind::Cpu
                }
                kind => kind?,
            },
        };
        Ok(Engines {
            kind,
            options,
            fallback,
        })
    }

    /// An engine for one thread.
    pub(super) fn one(&self) -> Box<dyn Invert + '_> {
        let analyzer = &self.options.analyzer;
        let mut engine: Box<dyn Invert + '_> = match &self.kind {
            Kind::Cpu => return Box::new(CpuInverter::new(analyzer)),
            Kind::Reference => Box::new(ReferenceInverter::new(analyzer)),
            #[cfg(feature = "kernels")]
            Kind::Gpu(lanes) => {
                let lanes = std::sync::Arc::clone(lanes);
                Box::new(crate::invert::GpuInverter::new(analyzer, lanes))
            }
        };
        if self.options.verify {
            engine = Box::new(Verified::new(engine, analyzer));
        }
        if self.options.or_cpu {
            engine = Box::new(Fallback::new(engine, analyzer, self.fallback));
        }
        engine
    }
}
