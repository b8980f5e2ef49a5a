//! An engine with the CPU behind it, for chunks that a device cannot do.

use std::sync::Mutex;

use super::{Cpu, Invert, Inverted};
use tokapi_storage::error::{Error, Result};
use tokapi_text::analyze::Analyzer;
use tokapi_text::corpus::Chunk;

/// An engine, and the CPU where its device fails. A device that is lost fails at once every time.
pub struct Fallback<'a> {
    engine: Box<dyn Invert + 'a>,
    cpu: Cpu<'a>,
    /// Why the first chunk was left to the CPU, of all threads.
    reason: &'a Mutex<Option<String>>,
}

impl<'a> Fallback<'a> {
    /// `engine` cuts terms by `analyzer` and leaves chunks as they are.
    pub fn new(
        engine: Box<dyn Invert + 'a>,
        analyzer: &'a Analyzer,
        reason: &'a Mutex<Option<String>>,
    ) -> Self {
        Fallback {
            engine,
            cpu: Cpu::new(analyzer),
            reason,
        }
    }
}

impl Invert for Fallback<'_> {
    fn invert(&mut self, chunk: &mut Chunk) -> Result<Inverted> {
        match self.engine.invert(chunk) {
            Err(Error::Device(why) | Error::NoDevice(why)) => {
                log::warn!("a chunk goes to the CPU: {why}");
                if let Ok(mut reason) = self.reason.lock() {
                    reason.get_or_insert(why);
                }
                self.cpu.invert(chunk)
            }
            done => done,
        }
    }
}
