//! The program `tokapi`: one file for each command.

mod completions;
mod copy;
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
mod remedy;
mod reorder;
#[cfg(feature = "cuda")]
pub mod routing;
mod search;
mod serve;
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

use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, FromArgMatches, Parser};

use summary::note;

/// BM25 weights of whole collections, and exact search in them: fast and in parallel
#[derive(Parser)]
#[command(
    name = "tokapi",
    version,
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
    #[command(alias = "build")]
    Index(index::Args),
    #[command(aliases = ["find", "query"])]
    Search(search::Args),
    Serve(serve::Args),
    Delete(update::DeleteArgs),
    Merge(update::MergeArgs),
    Copy(copy::Args),
    Info(inspect::InfoArgs),
    Check(inspect::CheckArgs),
    Export(export::Args),
    Eval(eval::Args),
    Stats(stats::Args),
    Generate(generate::Args),
    Dictionary(dictionary::Args),
    Sort(sort::Verb),
    Mapreduce(mapreduce::Args),
    MapreduceWorker(mapreduce::WorkerArgs),
    Tune(tune::Args),
    Devices(devices::Args),
    Completions(completions::Args),
    Man(man::Args),
}

/// Runs the program with the arguments of the process.
pub fn main() -> ExitCode {
    std::panic::set_hook(Box::new(report_panic));
    signals::end_in_order();
    let program = parse();
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
        Command::Serve(args) => serve::run(&args, program.threads.map(usize::from)),
        Command::Delete(args) => update::delete(&args, threads),
        Command::Merge(args) => update::merge(&args, threads),
        Command::Copy(args) => copy::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Info(args) => inspect::info(&args),
        Command::Check(args) => inspect::check(&args),
        Command::Eval(args) => eval::run(&args),
        Command::Devices(args) => devices::run(&args),
        Command::Tune(args) => tune::run(args, threads),
        Command::Dictionary(args) => dictionary::run(args, threads),
        Command::Completions(args) => completions::run(args, command()),
        Command::Man(args) => man::run(args, command()),
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
            let error = remedy::of_index(error);
            note(&message(&error));
            ExitCode::from(if is_wrong_usage(&error) { 2 } else { 1 })
        }
    }
}

/// The commands that run on one thread.
const ON_ONE_THREAD: [&str; 8] = [
    "copy",
    "info",
    "check",
    "export",
    "eval",
    "devices",
    "completions",
    "man",
];

/// The command line. The help of a command that runs on one thread does not show `--threads`.
fn command() -> clap::Command {
    let program = Program::command();
    let threads = program
        .get_arguments()
        .find(|arg| arg.get_id() == "threads");
    let hidden = threads.cloned().map(|threads| threads.hide(true));
    let hide_in = |command: clap::Command, names: &[&str]| match names.contains(&command.get_name())
    {
        true => command.args(hidden.clone()),
        false => command,
    };
    program.mut_subcommands(|command| match command.get_name() {
        "dictionary" => command.mut_subcommands(|command| hide_in(command, &["stats", "lookup"])),
        _ => hide_in(command, &ON_ONE_THREAD),
    })
}

/// The arguments of the process; help and errors end it.
fn parse() -> Program {
    let program = command().try_get_matches().and_then(|mut matches| {
        let program = Program::from_arg_matches_mut(&mut matches);
        program.map_err(|error| error.format(&mut command()))
    });
    program.unwrap_or_else(|error| without_misleading_tip(error).exit())
}

/// For an unknown option such as `--size`, clap advises to pass it as a value: `-- --size`. Nobody means that. For a word
/// such as `-size`, which a query may exclude, the advice is right.
fn without_misleading_tip(mut error: clap::Error) -> clap::Error {
    let is_option = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(arg)) => arg.starts_with("--"),
        _ => false,
    };
    if is_option
        && let Some(ContextValue::StyledStrs(mut tips)) = error.remove(ContextKind::Suggested)
    {
        tips.retain(|tip| !tip.to_string().contains("as a value"));
        if !tips.is_empty() {
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
        }
    }
    error
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

/// An error as a line for standard error.
fn message(error: &tokapi::Error) -> String {
    line(&format!("{error}{}", remedy::flag(error)))
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

/// Prints the library's log on standard error: warnings at least.
struct Log;

impl log::Log for Log {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.target().starts_with("tokapi")
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            let line = line(&record.args().to_string());
            // A progress bar may stand there.
            let clear = match io::stderr().is_terminal() {
                true => "\r\x1b[K",
                false => "",
            };
            note(&format!("{clear}{line}"));
        }
    }

    fn flush(&self) {}
}

fn log_to_stderr(verbosity: u8) {
    let level = match verbosity {
        0 => log::LevelFilter::Warn,
        1 => log::LevelFilter::Info,
        _ => log::LevelFilter::Debug,
    };
    if log::set_logger(&Log).is_ok() {
        log::set_max_level(level);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        super::command().debug_assert();
    }

    /// clap breaks longer lines, and the rest of a line then stands alone.
    #[test]
    fn examples_fit_the_width_of_the_help() {
        let mut left = vec![super::command()];
        while let Some(command) = left.pop() {
            let text = command.get_after_help().map(ToString::to_string);
            for line in text.unwrap_or_default().lines() {
                let name = command.get_name();
                assert!(line.chars().count() <= 98, "{name}: {line}");
            }
            left.extend(command.get_subcommands().cloned());
        }
    }
}
