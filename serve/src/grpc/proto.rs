//! The messages and services of `serve/proto`.

tonic::include_proto!("tokapi.v1");

/// The descriptors of all of them, for reflection.
pub const DESCRIPTORS: &[u8] = tonic::include_file_descriptor_set!("tokapi");
