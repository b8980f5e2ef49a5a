//! The option that chooses a GPU.

use crate::number;

#[derive(Debug, clap::Args)]
#[group(skip)]
pub struct Args {
    /// The number of the GPU, as `tokapi devices` lists them
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 0,
        value_parser = number::within(0..=u32::MAX),
        help_heading = "Engine"
    )]
    pub device: u32,
}
