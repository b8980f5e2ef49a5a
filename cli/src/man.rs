//! `tokapi man`: the manual pages, made from the definitions of `--help`.

use std::path::PathBuf;

use tokapi::Error;
use tokapi_storage::apart::Paths;

/// Write the manual pages into a folder, one for each command
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokapi man -o ~/.local/share/man/man1 && man tokapi-weigh")]
pub struct Args {
    /// The folder; it is created if it does not exist
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
}

pub fn run(args: Args, program: clap::Command) -> Result<(), Error> {
    let mut paths = Paths::default();
    paths.write(args.output.join("tokapi.1"));
    paths.check()?;
    let failed = Error::writing(&args.output);
    std::fs::create_dir_all(&args.output).map_err(failed)?;
    clap_mangen::generate_to(program.disable_help_subcommand(true), &args.output).map_err(failed)
}
