//! Elasticsearch's subset: requests of its clients in, answers that they understand out.
//!
//! An answer is exact, or it is an error that names the part of the request, its place and the way out. The differences
//! that remain are told in `Warning` headers:
//!
//! - The text fields of an index are indexed as one text. `multi_match` searches them all; one of several cannot be
//!   searched alone.
//! - The score of a phrase is the sum of the scores of its words. An exact value does not count in scores.
//! - Words match exactly: fuzziness is not applied.
//!
//! A search finds the matches of a boolean query by its definition, and the number of matches is exact. Documents of
//! equal scores stand in the order of addition. Lengths are not rounded, so that scores differ a little from those of
//! Lucene. A write is durable and visible when it is answered.
//!
//! | module | subject |
//! |---|---|
//! | [`error`], [`tree`], [`reader`] | errors in Elasticsearch's shape; JSON, read strictly |
//! | [`mapping`] | the fields of an index; a document becomes a text and exact values |
//! | [`dsl`] | the language of queries |
//! | [`mod@write`] | writes: the lines of `_bulk` |
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

pub use routes::{Elastic, ElasticOptions, Writing, root, routes, unknown};
