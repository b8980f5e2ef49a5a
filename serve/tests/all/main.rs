//! The server as its clients see it: one test program, so that it is linked once.

mod access;
mod browse;
mod cache;
mod client;
mod end;
mod facets;
mod fixture;
mod fuzzed;
mod gpu;
#[cfg(feature = "grpc-client")]
mod grpc;
mod hostile;
mod laws;
mod limits;
mod operation;
mod pages;
mod problems;
mod random;
mod searches;
mod snapshots;
mod tls;
mod torn;
#[cfg(feature = "otel")]
mod traces;
mod writes;
