//! Replaces `gpu.rs` if the program is built without the GPU engine.

use tokapi::Error;
use tokapi::Weights;

use super::collection::Generated;
use super::runs::{AlgorithmTimes, Link, MethodRuns, MethodTimes, SortRuns, WeighRuns, WeighTimes};
use tokapi_cli::engine::without_cuda;

pub fn link(_: u32) -> Result<Link, Error> {
    Err(without_cuda())
}

pub fn measure(
    _: &WeighRuns,
    _: &Generated,
    _: Option<&Weights>,
) -> Result<Vec<WeighTimes>, Error> {
    Err(without_cuda())
}

pub fn sort(_: &SortRuns) -> Result<Vec<AlgorithmTimes>, Error> {
    Err(without_cuda())
}

pub fn methods(_: &MethodRuns, _: &Generated, _: &Weights) -> Result<Vec<MethodTimes>, Error> {
    Err(without_cuda())
}
