//! The program `tokapi`: one file for each command.

mod completions;
mod devices;
mod dictionary;
pub mod drawing;
pub mod engine;
mod eval;
mod export;
mod format;
mod formula;
mod generate;
mod gpu;
mod hits;
mod index;
mod input;
mod inspect;
mod man;
mod mapreduce;
mod number;
mod progress;
pub mod queries;
mod reorder;
#[cfg(feature = "cuda")]
pub mod routing;
mod search;
mod signals;
pub mod size;
mod sort;
mod stats;
mod storage;
pub mod summary;
pub mod table;
mod tune;
mod tuned;
mod update;
mod weigh;

use std::io;
use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use summary::note;

/// BM25 weights of whole collections, and exact search in them: fast and in parallel
#[derive(Parser)]
#[command(
    name = "tokapi",
    version,
    about,
    propagate_version = true,
    after_help = "\
Examples:
  tokapi index docs.jsonl -o index
  tokapi search index 'boundary layer flow'
  tokapi weigh docs.jsonl -o weights.parquet
  tokapi help search"
)]
struct Program {
    /// The number of threads [default: the number of cores]
    #[arg(long, global = true, display_order = 900, value_name = "COUNT", value_parser = number::within(1..=u16::MAX))]
    threads: Option<u16>,

    /// Report decisions and times on standard error; -vv reports more
    #[arg(short, long, global = true, display_order = 900, action = clap::ArgAction::Count)]
    verbose: u8,

    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Weigh(weigh::Args),
    Generate(generate::Args),
    Stats(stats::Args),
    Sort(sort::Verb),
    Mapreduce(mapreduce::Args),
    MapreduceWorker(mapreduce::WorkerArgs),
    Index(index::Args),
    Search(search::Args),
    Delete(update::DeleteArgs),
    Merge(update::MergeArgs),
    Export(export::Args),
    Info(inspect::InfoArgs),
    Check(inspect::CheckArgs),
    Eval(eval::Args),
    Dictionary(dictionary::Args),
    Devices(devices::Args),
    Tune(tune::Args),
    Completions(completions::Args),
    Man(man::Args),
}

/// Runs the program with the arguments of the process.
pub fn main() -> ExitCode {
    std::panic::set_hook(Box::new(report_panic));
    signals::end_in_order();
    let program = Program::parse();
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = program.threads.map_or_else(cores, usize::from);
    log_to_stderr(program.verbose);
    log::info!("{threads} threads");
    let done = match program.command {
        Command::Weigh(args) => weigh::run(args, threads),
        Command::Generate(args) => generate::run(args, threads),
        Command::Stats(args) => stats::run(args, threads),
        Command::Sort(args) => sort::run(&args, threads),
        Command::Mapreduce(args) => mapreduce::run(&args, threads),
        Command::MapreduceWorker(args) => mapreduce::work(&args),
        Command::Index(args) => index::run(&args, threads),
        Command::Search(args) => search::run(&args, threads),
        Command::Delete(args) => update::delete(&args, threads),
        Command::Merge(args) => update::merge(&args, threads),
        Command::Export(args) => export::run(&args),
        Command::Info(args) => inspect::info(&args),
        Command::Check(args) => inspect::check(&args),
        Command::Eval(args) => eval::run(&args),
        Command::Devices(args) => devices::run(&args),
        Command::Tune(args) => tune::run(args, threads),
        Command::Dictionary(args) => dictionary::run(args, threads),
        Command::Completions(args) => completions::run(args, Program::command()),
        Command::Man(args) => man::run(args, Program::command()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        // The reader of standard output has closed it.
        Err(tokapi::Error::Write { path, source })
            if path == Path::new("-") && source.kind() == io::ErrorKind::BrokenPipe =>
        {
            ExitCode::SUCCESS
        }
        Err(error) => {
            note(&message(&error));
            ExitCode::from(if is_wrong_usage(&error) { 2 } else { 1 })
        }
    }
}

/// Whether another command line avoids the error: then the exit status is 2.
fn is_wrong_usage(error: &tokapi::Error) -> bool {
    use tokapi::Error;
    matches!(
        error,
        Error::Usage(_)
            | Error::NotKept(_)
            | Error::Busy { .. }
            | Error::Interrupted { .. }
            | Error::Memory { .. }
    )
}

/// The flag that avoids an error, to be added to its message.
fn flag(error: &tokapi::Error) -> String {
    use tokapi::{Error, Kept};
    match error {
        Error::NotKept(Kept::Positions) => " (--positions)".into(),
        Error::NotKept(Kept::Texts) => " (--store)".into(),
        Error::NotKept(Kept::Field { name, .. }) => format!(" (--field {name})"),
        Error::Interrupted { .. } => " (--resume)".into(),
        Error::Memory { bytes, .. } => format!(" (--memory {}MB)", bytes.div_ceil(1_000_000)),
        Error::NoDevice(_) => " (--engine cpu)".into(),
        _ => String::new(),
    }
}

/// An error as a line for standard error.
fn message(error: &tokapi::Error) -> String {
    line(&format!("{error}{}", flag(error)))
}

/// A line for standard error, even if a file's name has line breaks.
fn line(text: &str) -> String {
    format!("tokapi: {}\n", text.replace(['\n', '\r'], " "))
}

/// Prints one line on a panic, and none if the library makes an error of it.
fn report_panic(panic: &std::panic::PanicHookInfo<'_>) {
    if !tokapi_storage::guard::catches_panic() {
        note(&line(&format!("a bug, please report it: {panic}")));
    }
}

/// Prints the library's log on standard error.
struct Log;

impl log::Log for Log {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.target().starts_with("tokapi")
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            note(&line(&record.args().to_string()));
        }
    }

    fn flush(&self) {}
}

fn log_to_stderr(verbosity: u8) {
    let level = match verbosity {
        0 => return,
        1 => log::LevelFilter::Info,
        _ => log::LevelFilter::Debug,
    };
    if log::set_logger(&Log).is_ok() {
        log::set_max_level(level);
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Program::command().debug_assert();
    }
}
