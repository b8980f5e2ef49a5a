//! Elasticsearch's subset: requests of its clients in, answers that they understand out.
//!
//! | module | subject |
//! |---|---|
//! | [`error`], [`tree`], [`reader`] | errors in Elasticsearch's shape; JSON, read strictly |
//! | [`mapping`] | the fields of an index; a document becomes a text and exact values |
//! | [`dsl`] | the language of queries |
//! | [`write`] | writes: the lines of `_bulk` |
//! | [`source`] | the documents of hits |
//! | [`store`] | the indexes that clients create and write |
//! | [`find`] | plans answered |
//! | [`answer`] | the JSON of answers |
//! | `routes` | the routes |

pub mod answer;
pub mod dsl;
pub mod error;
pub mod find;
pub mod mapping;
pub mod reader;
mod routes;
pub mod source;
pub mod store;
pub mod tree;
pub mod write;

pub use routes::{Elastic, ElasticOptions, root, routes, unknown};
