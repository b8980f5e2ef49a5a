//! The option that chooses a GPU.

#[derive(Debug, clap::Args)]
#[group(skip)]
pub struct Args {
    /// The number of the GPU, as `tokapi devices` lists them
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 0,
        help_heading = "Engine"
    )]
    pub device: u32,
}
