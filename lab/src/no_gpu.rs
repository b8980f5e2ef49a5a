//! In place of `gpu.rs` where the program is built without its GPU engine.

use tokapi::Error;
use tokapi::collection::Weights;

use super::collection::Generated;
use super::weigh::{Args, Link, Measured};
use super::{methods, sort};
use tokapi_cli::engine::without_cuda;

pub fn link(_: u32) -> Result<Link, Error> {
    Err(without_cuda())
}

pub fn measure(_: &Args, _: &Generated, _: Option<&Weights>) -> Result<Vec<Measured>, Error> {
    Err(without_cuda())
}

pub fn sort(_: &sort::Args) -> Result<Vec<sort::Measured>, Error> {
    Err(without_cuda())
}

pub fn methods(
    _: &methods::Args,
    _: &Generated,
    _: &Weights,
) -> Result<Vec<methods::Measured>, Error> {
    Err(without_cuda())
}
