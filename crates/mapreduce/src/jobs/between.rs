//! The files between the two passes of BM25: term lists, df table, documents.

use std::path::{Path, PathBuf};

use super::super::{Documents, Lines, Report, Room, Runner, TextWriter};
use super::frequencies::FrequencyTable;
use super::rows::each_row;
use super::table::DocumentTableWriter;
use super::tsv::unescaped;
use super::two_pass::{DocumentFrequencies, GlobalPass, LocalPass};
use tokapi_storage::error::{Error, Result};
use tokapi_storage::whole::StagedFolder;
use tokapi_text::corpus::OnError;
use tokapi_weigh::formula::Bm25;
use tokapi_weigh::output::push_field;

/// Lines `term<TAB>document<TAB>tf`, chunk by chunk.
const LISTS: &str = "lists.tsv";
/// Lines `term<TAB>df`.
const TERMS: &str = "terms.tsv";
/// Lines `id<TAB>length`, by number.
const DOCUMENTS: &str = "documents.tsv";

/// Runs the local pass over `documents` into the new folder `folder`.
///
/// # Errors
/// An error of the runner; the folder exists already or cannot be written.
pub fn write_local(
    runner: &impl Runner,
    documents: Documents,
    on_error: OnError,
    folder: &Path,
) -> Result<Report> {
    let staged = StagedFolder::create(folder)?;
    let path = |name| staged.temporary().join(name);
    let mut local = LocalPass::new(on_error);
    let (lists, mut report) = runner.text(&mut local, documents, &path(LISTS))?;
    lists.commit()?;
    report.skipped.append(local.skipped().clone());
    let lines = Lines::open(&[path(LISTS)], OnError::Stop, runner.tasks())?
        .with_progress(runner.progress().clone());
    let (terms, step) = runner.text(&mut DocumentFrequencies, lines, &path(TERMS))?;
    terms.commit()?;
    report.append(step);
    let mut table = TextWriter::create(&path(DOCUMENTS))?;
    let mut line = Vec::new();
    local.documents(|id, length| {
        runner.progress().check()?;
        line.clear();
        push_field(&mut line, id);
        line.extend_from_slice(format!("\t{length}\n").as_bytes());
        table.push(&line)
    })?;
    table.finish()?.commit()?;
    staged.rename()?;
    Ok(report)
}

/// The global pass over the files that [`write_local`] left in `folder`: the job and its input.
///
/// # Errors
/// The folder was not written by a local pass.
pub fn open_global(runner: &impl Runner, folder: &Path, bm25: Bm25) -> Result<(GlobalPass, Lines)> {
    if !folder.join(LISTS).is_file() {
        return Err(Error::Usage(format!(
            "{}: give the folder that bm25-local has written",
            folder.display()
        )));
    }
    let room = runner.room();
    let half = Room {
        memory_bytes: room.memory_bytes / 2,
        ..room
    };
    let mut documents = DocumentTableWriter::new(&half);
    each_row(&folder.join(DOCUMENTS), |_, _, id, length| {
        runner.progress().check()?;
        documents.push(&unescaped(id), length)
    })?;
    let dfs = FrequencyTable::open(&folder.join(TERMS), half.memory_bytes)?;
    let job = GlobalPass::of_tables(bm25, documents.finish()?, dfs);
    let lists = Lines::open(&[folder.join(LISTS)], OnError::Stop, runner.tasks())?
        .with_progress(runner.progress().clone());
    Ok((job, lists))
}

/// The files of a folder that [`open_global`] reads.
pub fn local_files(folder: &Path) -> [PathBuf; 3] {
    [LISTS, TERMS, DOCUMENTS].map(|name| folder.join(name))
}
