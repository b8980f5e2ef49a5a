//! The program `tokapi`.

use std::process::ExitCode;

use clap::Parser;

mod generate;
mod size;

#[derive(Parser)]
#[command(name = "tokapi", version, about)]
struct Program {
    /// How many threads to use [default: the processors there are]
    #[arg(long, global = true, value_name = "COUNT")]
    threads: Option<usize>,
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Generate(generate::Args),
}

fn main() -> ExitCode {
    let program = Program::parse();
    let available = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = program.threads.unwrap_or_else(available);
    let Command::Generate(args) = program.command;
    match generate::run(args, threads) {
        Ok(made) => {
            eprintln!(
                "{} documents, {} words, {} bytes",
                made.documents, made.words, made.bytes
            );
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("tokapi: {error}");
            ExitCode::from(if matches!(error, tokapi::Error::Usage(_)) {
                2
            } else {
                1
            })
        }
    }
}
