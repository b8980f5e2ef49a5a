//! The command line of a peer that is written in Rust.
//!
//! `build TEXT INDEX [--positions]` indexes a TSV file of `id<TAB>text`, whose ids are line numbers.
//! `search INDEX QUERIES --task count|top10|top100|top1000 --threads T --repeat R --answers FILE`
//! runs a TSV file of `number<TAB>kind<TAB>terms`. Both print one line of JSON.

mod query;
mod timing;

pub use query::{Kind, Query, Task, read_queries};

use std::error::Error;
use std::path::Path;

const USAGE: &str = "usage: build TEXT INDEX [--positions]\n       search INDEX QUERIES --task TASK --threads T \
    --repeat R --answers FILE";

pub type Outcome<T> = Result<T, Box<dyn Error>>;

/// What a build has made, beside the folder itself.
pub struct Built {
    pub seconds: f64,
    /// What the postings lists take, where the peer tells it apart.
    pub postings_bytes: Option<u64>,
}

/// What one query comes to.
pub enum Answer {
    Count(u64),
    /// Documents and their scores, best first.
    Top(Vec<(u64, f32)>),
}

/// An open index. Only [`Engine::search`] is timed.
pub trait Engine: Sync + Sized {
    /// A query as the engine takes it.
    type Prepared: Sync;
    /// What a search hands back, with the engine's own document numbers.
    type Found;

    /// Indexes a text, with what phrases need where `positions` are wanted.
    fn build(text: &Path, index: &Path, positions: bool) -> Outcome<Built>;
    fn open(index: &Path) -> Outcome<Self>;
    /// The reason why the engine cannot do this, if it cannot.
    fn unsupported(kind: Kind, task: Task) -> Option<String>;
    fn prepare(&self, query: &Query, task: Task) -> Self::Prepared;
    fn search(&self, query: &Self::Prepared) -> Outcome<Self::Found>;
    /// The same with the ids of the text.
    fn answer(&self, found: Self::Found) -> Outcome<Answer>;
}

/// Runs the command that the program was given.
pub fn run<E: Engine>() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["build", text, index] | ["build", text, index, "--positions"] => {
            let positions = arguments.len() > 3;
            let built = E::build(Path::new(text), Path::new(index), positions)?;
            let bytes = folder_bytes(Path::new(index))?;
            let postings = built.postings_bytes;
            let postings = postings.map_or("null".into(), |bytes| bytes.to_string());
            println!(
                r#"{{"seconds": {}, "bytes": {bytes}, "postings_bytes": {postings}}}"#,
                built.seconds
            );
            Ok(())
        }
        [
            "search",
            index,
            queries,
            "--task",
            task,
            "--threads",
            threads,
            "--repeat",
            repeat,
            "--answers",
            answers,
        ] => timing::search::<E>(
            Path::new(index),
            &read_queries(Path::new(queries))?,
            task.parse()?,
            threads.parse()?,
            repeat.parse()?,
            Path::new(answers),
        ),
        _ => Err(USAGE.into()),
    }
}

fn folder_bytes(folder: &Path) -> Outcome<u64> {
    let mut bytes = 0;
    for entry in folder.read_dir()? {
        let entry = entry?;
        bytes += if entry.file_type()?.is_dir() {
            folder_bytes(&entry.path())?
        } else {
            entry.metadata()?.len()
        };
    }
    Ok(bytes)
}
