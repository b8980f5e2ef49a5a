//! Replaces `queries` if the program is built without the GPU engine.

use std::ffi::OsString;

use tokapi::Error;

/// Time queries on the CPU, on a GPU, and on both together
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The arguments of the program with its GPU engine
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    rest: Vec<OsString>,
}

pub fn run(args: &Args, _: usize) -> Result<(), Error> {
    let _ = &args.rest;
    Err(tokapi_cli::engine::without_cuda())
}
