//! MapReduce: jobs over collections, typed and in parallel (Dean and Ghemawat, OSDI 2004).
//!
//! A [`Job`] maps every record of an [`Input`] to pairs of key and value, and reduces the values
//! of each key to outputs. It may combine values early, order the values of a key by a secondary
//! key, and choose the partition of a key. A runner ([`Threads`]) does the rest. A [`Portable`]
//! job, which can be serialized, also runs in worker processes ([`Processes`]). A job with
//! [`Functors`] also runs on a GPU.
//!
//! Pairs travel as *runs*: sorted by partition and key, in memory or in files, with marks so that
//! a reader can begin near any key. A map task reads a split, and writes runs and a note. A reduce
//! task reads all runs between two cuts.
//!
//! [`Job`] has an example.

mod codec;
mod container;
mod cuts;
mod documents;
mod functors;
#[cfg(feature = "kernels")]
mod gpu;
mod guard;
mod input;
mod items;
mod job;
pub mod jobs;
mod keys;
mod lines;
mod merge;
mod output;
mod portable;
mod processes;
mod records;
mod reduce;
mod report;
mod run;
mod spill;
mod threads;
mod values;
mod watch;

pub use cuts::Partitions;
pub use documents::{Document, DocumentPlace, DocumentReader, Documents};
pub use functors::{
    DeviceKey, DeviceValue, Functors, KeyOf, MapFunction, RecordOf, ReduceFunction, ValueOf,
};
#[cfg(feature = "kernels")]
pub use gpu::GpuRunner;
pub use input::{Input, PortableInput, Reader};
pub use items::{Item, ItemReader, ItemSplit, Items};
pub use job::{Emitter, Job, Record, Room, prefix};
pub use lines::{Line, LineReader, Lines};
pub use output::{Recorded, TextWriter, Written};
pub use portable::{ListJob, Portable, Runner, Text, TextJob};
pub use processes::{ProcessOptions, Processes, Registry, WorkerCommand, end_workers, work};
pub use records::{RecordIter, Records};
pub use report::Report;
pub use threads::Threads;
pub use values::{Combine, Order};
