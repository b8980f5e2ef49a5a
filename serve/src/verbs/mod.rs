//! The verbs of the server, from requests to answers of [`model`](crate::model). `/v1` is a form of them.

mod browse;
mod call;
mod changes;
mod documents;
mod indexes;
mod postings;

pub use browse::{count, page_size, terms, values};
pub use call::{Call, Form, Timed};
pub use changes::{Applying, Batch, Changes, blocking, check_key};
pub use documents::{document, vector};
pub use indexes::{create, described, indexes, remove, server, statistics};
pub use postings::{PostingsPage, postings};
