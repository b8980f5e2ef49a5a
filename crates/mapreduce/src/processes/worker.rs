//! A worker: takes tasks from standard input, one on a line, and answers on standard output.

use std::io::{self, BufRead, Write};

use super::protocol::{Answer, Failure, Task};
use super::pulse::Pulse;
use super::registry::Registry;
use tokapi_storage::error::{Error, Result};

/// What the program that a coordinator starts as a worker does, and nothing else: the tasks of
/// `registry`'s jobs that come on standard input. When that is closed, because the coordinator
/// has ended, so does this process, whatever it is doing.
///
/// # Errors
/// What comes is no task; the coordinator cannot be told.
pub fn work(registry: &Registry) -> Result<()> {
    let (sender, tasks) = crossbeam_channel::unbounded();
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(io::Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
        // The task under way is of use to nobody; what it has written goes with its job.
        std::process::exit(0);
    });
    let pulse = Pulse::start(|| say(&Answer::Alive));
    let mut kept = None;
    for line in tasks {
        let task: Task = serde_json::from_str(&line).map_err(|error| {
            Error::Usage(format!(
                "a worker is started by `tokapi mapreduce`: {error}"
            ))
        })?;
        let done = pulse.at_task(|| registry.run(&task, &mut kept, &pulse));
        let answer = match done {
            Ok(counts) => Answer::Done(counts),
            Err(error) => Answer::Failed(Failure::from(error)),
        };
        say(&answer)?;
    }
    Ok(())
}

fn say(answer: &Answer) -> Result<()> {
    let said = serde_json::to_string(answer).map_err(io::Error::other);
    let said = said.and_then(|mut line| {
        line.push('\n');
        let mut stdout = io::stdout().lock();
        stdout.write_all(line.as_bytes())?;
        stdout.flush()
    });
    said.map_err(Error::writing("-".as_ref()))
}
