//! An engine that leaves chunks to the CPU if its device fails.

use std::sync::Mutex;

use super::{CpuInverter, Invert, Inverted};
use tokapi_storage::error::{Error, Result};
use tokapi_text::analyze::Analyzer;
use tokapi_text::corpus::Chunk;

/// An engine, and the CPU for chunks on which its device fails. A lost device fails at once every time.
pub struct Fallback<'a> {
    engine: Box<dyn Invert + 'a>,
    cpu: CpuInverter<'a>,
    /// The reason why the first chunk of any thread was left to the CPU.
    reason: &'a Mutex<Option<String>>,
}

impl<'a> Fallback<'a> {
    /// Wraps `engine`, which cuts terms by `analyzer` and leaves chunks unchanged.
    pub fn new(
        engine: Box<dyn Invert + 'a>,
        analyzer: &'a Analyzer,
        reason: &'a Mutex<Option<String>>,
    ) -> Self {
        Fallback {
            engine,
            cpu: CpuInverter::new(analyzer),
            reason,
        }
    }
}

impl Invert for Fallback<'_> {
    fn invert(&mut self, chunk: &mut Chunk) -> Result<Inverted> {
        match self.engine.invert(chunk) {
            Err(Error::Device(why) | Error::NoDevice(why)) => {
                // The reason is part of the result.
                log::info!("a chunk goes to the CPU: {why}");
                if let Ok(mut reason) = self.reason.lock() {
                    reason.get_or_insert(why);
                }
                self.cpu.invert(chunk)
            }
            done => done,
        }
    }
}
