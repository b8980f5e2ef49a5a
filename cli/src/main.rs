//! The program `tokapi`.

use std::process::ExitCode;

fn main() -> ExitCode {
    tokapi_cli::main()
}
