//! The search server: indexes behind HTTP, for browsers, programs and operators.
//!
//! A request becomes a [`search::Planned`] search, the CPU threads and GPU lanes of one scheduler answer it, and the
//! answer is written as JSON on the thread that found it. The threads of the async runtime only read and write
//! connections.
//!
//! The modules, each of which uses only those above it:
//!
//! | module | subject |
//! |---|---|
//! | `relay` | connections that the thread of an answer goes on with |
//! | [`problem`] | an error as `application/problem+json` |
//! | [`model`] | the JSON of requests and answers |
//! | [`gpu`] | a GPU, and the indexes there |
//! | [`limits`], [`options`] | settings: from flags, environment, a TOML file |
//! | [`served`] | the indexes that are served, each under a name, in one state at a time |
//! | [`search`] | requests planned, searched, answered and cached |
//! | [`mod@write`] | changes: operations of requests that wait together become one epoch |
//! | [`service`] | the parts of a server that all routes use |
//! | [`verbs`] | searches, reads and changes, whatever their form |
//! | [`api`] | the routes of `/v1` |
//! | [`elastic`] | the subset of Elasticsearch |
//! | [`page`] | the page for browsers |
//! | `grpc` | the same verbs by gRPC, with the feature `grpc` |
//! | `operate` | health, metrics, logs |
//! | [`tls`], `listen` | the certificate; the address |
//! | `accept`, `server`, `embedded` | connections, the server as a whole, and without connections |

mod accept;
pub mod api;
pub mod elastic;
mod embedded;
pub mod gpu;
#[cfg(feature = "grpc")]
pub mod grpc;
pub mod limits;
mod listen;
pub mod model;
mod operate;
pub mod options;
pub mod page;
pub mod problem;
mod relay;
pub mod search;
pub mod served;
mod server;
pub mod service;
pub mod tls;
pub mod verbs;
pub mod write;

pub use embedded::Embedded;
pub use listen::Listener;
pub use options::Options;
pub use server::{Server, Stopper, check, run};
