//! From options to a file, a folder or a stream; files and folders appear whole or not at all.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

use super::block::Renderer;
use super::sink::{Packing, Rows, Sink, Stream};
use super::{Compression, Format, Options, Summary, pipeline};
use crate::{Error, Result};

/// Generates a collection under the name `path`, a folder for [`Format::Text`].
///
/// It grows under a temporary name beside `path` and is renamed when it is whole; a file that was there before is
/// replaced then. A device or a named pipe is written to directly. `written` counts the bytes as [`Summary::bytes`]
/// does, for a progress bar.
///
/// # Errors
/// [`Error::Write`] when the output cannot be written; [`Error::Usage`] when the options contradict one another, when a
/// term cannot be written in the format, and when a folder stands in the way (of a file: any; of a folder: one with
/// something in it).
pub fn to_path(options: &Options, path: &Path, written: &AtomicU64) -> Result<Summary> {
    let renderer = prepare(options)?;
    let fail = |source| Error::Write {
        path: path.to_owned(),
        source,
    };
    if options.format == Format::Text {
        return to_folder(options, &renderer, path, written);
    }
    // A link is followed, so that its target is replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    match fs::metadata(&target) {
        Ok(there) if there.is_dir() => {
            let name = path.display();
            return Err(Error::Usage(format!(
                "{name} is a folder; name a file, or choose the format text"
            )));
        }
        Ok(there) if !there.is_file() => {
            let device = File::options().write(true).open(&target).map_err(fail)?;
            return stream(options, &renderer, Box::new(device), written).map_err(fail);
        }
        _ => {}
    }
    let run = || {
        let temporary = builder(0o666).tempfile_in(parent(&target))?;
        let summary = stream(options, &renderer, Box::new(temporary.reopen()?), written)?;
        temporary.persist(&target)?;
        Ok(summary)
    };
    run().map_err(fail)
}

/// Generates a collection into a stream, `name` in errors. `written` is as for [`to_path`].
///
/// When the stream is a pipe whose reader closes it early, that is no error: the summary then counts the whole blocks
/// that were written.
///
/// # Errors
/// [`Error::Write`] when the stream cannot be written; [`Error::Usage`] as for [`to_path`], and for [`Format::Text`].
pub fn to_stream(
    options: &Options,
    output: Box<dyn io::Write + Send>,
    name: &Path,
    written: &AtomicU64,
) -> Result<Summary> {
    if options.format == Format::Text {
        let what = "plain text is a folder with a file for every document; choose another format for a stream";
        return Err(Error::Usage(what.to_owned()));
    }
    let renderer = prepare(options)?;
    stream(options, &renderer, output, written).map_err(|source| Error::Write {
        path: name.to_owned(),
        source,
    })
}

fn prepare(options: &Options) -> Result<Renderer<'_>> {
    if options.compression != Compression::None
        && matches!(options.format, Format::Text | Format::Parquet)
    {
        let what =
            "a folder or a Parquet file cannot be compressed as a whole; leave .gz or .zst away";
        return Err(Error::Usage(what.to_owned()));
    }
    Renderer::new(&options.vocabulary, options.format, options.seed)
}

fn stream(
    options: &Options,
    renderer: &Renderer<'_>,
    output: Stream,
    written: &AtomicU64,
) -> io::Result<Summary> {
    let packing = Packing::new(options.compression);
    let sink = match (options.format, options.compression) {
        (Format::Parquet, _) => Sink::Parquet(Box::new(Rows::new(output)?)),
        (_, Compression::None) => Sink::Text(output),
        _ => Sink::Packed(output),
    };
    let threads = options.threads.max(1);
    let (summary, sink) =
        pipeline::run(renderer, options.extent, threads, &packing, sink, written)?;
    match sink.finish() {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(summary),
    }
}

fn to_folder(
    options: &Options,
    renderer: &Renderer<'_>,
    path: &Path,
    written: &AtomicU64,
) -> Result<Summary> {
    let occupied = match fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_some(),
        Err(_) => path.exists(),
    };
    if occupied {
        let name = path.display();
        return Err(Error::Usage(format!(
            "{name} exists already; name a new or an empty folder"
        )));
    }
    let run = || {
        let temporary = builder(0o777).tempdir_in(parent(path))?;
        let packing = Packing::Files(temporary.path().to_owned());
        let threads = options.threads.max(1);
        let (summary, _) = pipeline::run(
            renderer,
            options.extent,
            threads,
            &packing,
            Sink::Files,
            written,
        )?;
        fs::rename(temporary.path(), path)?;
        // The folder has moved: there is nothing to remove under the temporary name.
        let _ = temporary.keep();
        Ok(summary)
    };
    run().map_err(|source| Error::Write {
        path: path.to_owned(),
        source,
    })
}

/// A temporary name, with the permissions (less the user's mask) that the final one is to have.
fn builder(mode: u32) -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".tokapi-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
    #[cfg(not(unix))]
    let _ = mode;
    builder
}

fn parent(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}
