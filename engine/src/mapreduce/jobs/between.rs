//! The files between the two passes of BM25: term lists, df table, documents.

use std::fs;
use std::path::{Path, PathBuf};

use super::super::{Documents, Lines, Report, Runner, TextWriter};
use super::tsv::unescaped;
use super::two_pass::{DocumentFrequencies, GlobalPass, LocalPass};
use crate::corpus::OnError;
use crate::error::{Error, Place, Position, Result};
use crate::output::{StagedFolder, push_field};
use crate::weigh::Bm25;

/// Lines `term<TAB>document<TAB>tf`, chunk by chunk.
const LISTS: &str = "lists.tsv";
/// Lines `term<TAB>df`.
const TERMS: &str = "terms.tsv";
/// Lines `id<TAB>length`, by number.
const DOCUMENTS: &str = "documents.tsv";

/// Runs the local pass over `documents` into the new folder `folder`.
///
/// # Errors
/// What the runner says; the folder exists already or cannot be written.
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
    let lines = Lines::open(&[path(LISTS)], OnError::Stop, runner.tasks())?;
    let (terms, step) = runner.text(&mut DocumentFrequencies, lines, &path(TERMS))?;
    terms.commit()?;
    report.append(step);
    let mut table = TextWriter::create(&path(DOCUMENTS))?;
    let mut line = Vec::new();
    for (id, length) in local.documents() {
        line.clear();
        push_field(&mut line, id);
        line.extend_from_slice(format!("\t{length}\n").as_bytes());
        table.push(&line)?;
    }
    table.finish()?.commit()?;
    staged.rename()?;
    Ok(report)
}

/// The global pass over what [`write_local`] left in `folder`: the job and its input.
///
/// # Errors
/// The folder is not one of a local pass.
pub fn open_global(folder: &Path, bm25: Bm25, threads: usize) -> Result<(GlobalPass, Lines)> {
    if !folder.join(LISTS).is_file() {
        return Err(Error::Usage(format!(
            "{}: give the folder that bm25-local has written",
            folder.display()
        )));
    }
    let documents = rows(&folder.join(DOCUMENTS))?;
    let documents = documents
        .into_iter()
        .map(|(id, length)| (unescaped(&id), length));
    let mut dfs = Vec::new();
    for (term, df) in rows::<u64>(&folder.join(TERMS))? {
        let term = String::from_utf8_lossy(&term).into_owned();
        dfs.push((term.into_boxed_str(), df));
    }
    let job = GlobalPass::new(bm25, documents, dfs);
    let lists = Lines::open(&[folder.join(LISTS)], OnError::Stop, threads)?;
    Ok((job, lists))
}

/// The files of a folder that [`open_global`] reads.
pub fn local_files(folder: &Path) -> [PathBuf; 3] {
    [LISTS, TERMS, DOCUMENTS].map(|name| folder.join(name))
}

/// The lines of a table: a text and a number.
fn rows<N: std::str::FromStr>(path: &Path) -> Result<Vec<(Vec<u8>, N)>> {
    let text = fs::read(path).map_err(|source| Error::Read {
        path: path.to_path_buf(),
        source,
    })?;
    let mut rows = Vec::new();
    for (line, number) in text.split(|&byte| byte == b'\n').zip(1..) {
        if line.is_empty() {
            continue;
        }
        let fields = line
            .iter()
            .rposition(|&byte| byte == b'\t')
            .and_then(|tab| {
                let number = std::str::from_utf8(&line[tab + 1..]).ok()?;
                Some((line[..tab].to_vec(), number.parse().ok()?))
            });
        rows.push(fields.ok_or_else(|| Error::Input {
            place: Place {
                path: path.to_path_buf(),
                position: Position::Line(number),
            },
            what: "a text and a number are expected; run bm25-local again".into(),
        })?);
    }
    Ok(rows)
}
