//! `tokapi completions`: the script by which a shell completes command lines.

use clap_complete::Shell;

/// Print the completion script for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokapi completions bash > ~/.local/share/bash-completion/completions/tokapi
  tokapi completions zsh > ~/.zfunc/_tokapi
  tokapi completions fish > ~/.config/fish/completions/tokapi.fish")]
pub struct Args {
    /// The shell
    shell: Shell,
}

pub fn run(args: Args, mut program: clap::Command) -> Result<(), tokapi::Error> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut program, "tokapi", &mut script);
    crate::summary::print(&script)
}
