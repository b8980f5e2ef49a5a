//! Documents from files, and terms from their text.

pub mod analyze;
pub mod corpus;
pub mod generate;
pub mod parquet_error;
