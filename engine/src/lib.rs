//! Tokapi: BM25 weights of whole collections, exact, fast and in parallel.

mod error;
pub mod generate;

pub use error::{Error, Place, Position, Result};
