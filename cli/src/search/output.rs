//! The output of a file of queries: whole, or not at all.

use std::io::Write;
use std::path::Path;

use tokapi::Error;
use tokapi_storage::whole::Staged;

use crate::summary::print;

pub enum Output {
    /// A file.
    File(Staged),
    /// Standard output, printed at the end.
    Printed(String),
}

impl Output {
    /// To the file `path`, or to standard output.
    pub fn create(path: Option<&Path>) -> Result<Self, Error> {
        Ok(match path {
            Some(path) => Output::File(Staged::create(path)?),
            None => Output::Printed(String::new()),
        })
    }

    pub fn write(&mut self, lines: String) -> Result<(), Error> {
        match self {
            Output::Printed(all) if all.is_empty() => *all = lines,
            Output::Printed(all) => all.push_str(&lines),
            Output::File(staged) => {
                let written = staged.write_all(lines.as_bytes());
                written.map_err(|source| staged.failed(source))?;
            }
        }
        Ok(())
    }

    pub fn finish(self) -> Result<(), Error> {
        match self {
            Output::File(staged) => staged.commit(),
            Output::Printed(all) => print(all.as_bytes()),
        }
    }
}
