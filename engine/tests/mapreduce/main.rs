//! MapReduce: the laws of the framework, and every job against its straightforward answer.

mod framework;
mod graph;
mod input;
mod text;
mod weights;
