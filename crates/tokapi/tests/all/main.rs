//! Whole-library tests: every engine and every part together, one program so that it is linked once.

mod cancelled;
mod ciff;
mod collections;
mod conformance;
mod contents;
mod cooperate;
mod damaged;
mod eval;
mod example;
mod external;
mod forged;
mod formats;
mod gpu;
mod gpu_search;
mod impacts;
mod in_order;
mod index;
mod mapreduce;
mod random;
mod reference_runs;
mod reorder;
mod resident;
mod scripts;
mod shards;
mod sort_files;
mod update;
