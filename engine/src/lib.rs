//! Tokapi: BM25 weights of whole collections, exact, fast and in parallel.

mod error;

pub use error::{Error, Place, Position, Result};
