//! The files between the two passes of BM25: term lists, df table, documents.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::super::{Documents, Lines, Report, Room, Runner, TextWriter};
use super::frequencies::FrequencyTable;
use super::table::DocumentTableWriter;
use super::tsv::unescaped;
use super::two_pass::{DocumentFrequencies, GlobalPass, LocalPass};
use tokapi_storage::error::{Error, Place, Position, Result};
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
    local.documents(|id, length| {
        line.clear();
        push_field(&mut line, id);
        line.extend_from_slice(format!("\t{length}\n").as_bytes());
        table.push(&line)
    })?;
    table.finish()?.commit()?;
    staged.rename()?;
    Ok(report)
}

/// The global pass over what [`write_local`] left in `folder`: the job and its input.
///
/// # Errors
/// The folder is not one of a local pass.
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
        documents.push(&unescaped(id), length)
    })?;
    let dfs = FrequencyTable::open(&folder.join(TERMS), half.memory_bytes)?;
    let job = GlobalPass::of_tables(bm25, documents.finish()?, dfs);
    let lists = Lines::open(&[folder.join(LISTS)], OnError::Stop, runner.tasks())?;
    Ok((job, lists))
}

/// The files of a folder that [`open_global`] reads.
pub fn local_files(folder: &Path) -> [PathBuf; 3] {
    [LISTS, TERMS, DOCUMENTS].map(|name| folder.join(name))
}

/// Gives the lines of a table to `each`: where the line stands, its bytes with its end, its text
/// and its number.
pub(super) fn each_row<N: FromStr>(
    path: &Path,
    mut each: impl FnMut(u64, u64, &[u8], N) -> Result<()>,
) -> Result<()> {
    let failed = |source| Error::Read {
        path: path.to_path_buf(),
        source,
    };
    let mut file = BufReader::new(File::open(path).map_err(failed)?);
    let (mut line, mut at) = (Vec::new(), 0);
    for number in 1.. {
        line.clear();
        let bytes = file.read_until(b'\n', &mut line).map_err(failed)? as u64;
        if bytes == 0 {
            break;
        }
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        if !text.is_empty() {
            let (text, value) = row(text).ok_or_else(|| Error::Input {
                place: Place {
                    path: path.to_path_buf(),
                    position: Position::Line(number),
                },
                what: "a text and a number are expected; run bm25-local again".into(),
            })?;
            each(at, bytes, text, value)?;
        }
        at += bytes;
    }
    Ok(())
}

/// The text and the number of a line.
pub(super) fn row<N: FromStr>(line: &[u8]) -> Option<(&[u8], N)> {
    let tab = line.iter().rposition(|&byte| byte == b'\t')?;
    let number = std::str::from_utf8(&line[tab + 1..]).ok()?;
    Some((&line[..tab], number.parse().ok()?))
}
