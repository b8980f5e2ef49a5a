//! MapReduce: the laws of the framework, and every job against its straightforward answer.

mod framework;
mod gpu;
mod graph;
mod input;
mod text;
mod weights;
