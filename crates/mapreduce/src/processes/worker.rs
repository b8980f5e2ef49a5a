//! A worker: it reads tasks from standard input, one a line, and answers on standard output.

use std::io::{self, BufRead, Write};

use crossbeam_channel::{Receiver, bounded, unbounded};

use super::protocol::{Answer, Failure, Task};
use super::pulse::Pulse;
use super::registry::Registry;
use tokapi_storage::error::{Error, Result};

/// Runs the tasks of `registry`'s jobs that arrive on standard input. This is the whole main
/// function of a worker program. It returns when standard input is closed, because the coordinator
/// has ended. The program must then exit: a running task continues until it does, and its result
/// is not used.
///
/// ```no_run
/// # use tokapi_mapreduce::{Registry, jobs::WordCount, work};
/// # use tokapi_storage::error::Result;
/// fn main() -> Result<()> {
///     work(Registry::default().text::<WordCount>())
/// }
/// ```
///
/// # Errors
/// A line is not a valid task; the answer cannot be written.
pub fn work(registry: Registry) -> Result<()> {
    let (sender, lines) = unbounded();
    // Both threads may end; the first to end counts.
    let (end, ended) = bounded(2);
    let closed = end.clone();
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(io::Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
        // If nobody receives it, the tasks have ended with an error.
        let _ = closed.send(Ok(()));
    });
    std::thread::spawn(move || {
        if let Err(error) = do_tasks(&registry, &lines) {
            let _ = end.send(Err(error));
        }
    });
    ended.recv().unwrap_or_else(|_| {
        Err(Error::Verification(
            "a thread of the worker panicked outside of a job".into(),
        ))
    })
}

fn do_tasks(registry: &Registry, lines: &Receiver<String>) -> Result<()> {
    let pulse = Pulse::start(|| say(&Answer::Alive));
    let mut kept = None;
    for line in lines {
        let task: Task = serde_json::from_str(&line).map_err(|error| {
            Error::Usage(format!(
                "this command is for a coordinator, which sends tasks: {error}"
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
