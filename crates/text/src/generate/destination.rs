//! The destination of a collection: a file, a folder or a stream. Files and folders appear whole or not at all.

use std::io;
use std::path::Path;

use super::block::Renderer;
use super::sink::{Packing, Rows, Sink, Stream};
use super::{Compression, Format, Options, Summary, pipeline};
use tokapi_storage::error::{Error, Result};
use tokapi_storage::progress::Progress;
use tokapi_storage::whole::{Staged, StagedFolder, unless_closed};

/// Generates a collection at `path`. [`Format::Text`] makes a folder; `-` is standard output.
///
/// The output grows under a temporary name beside `path`, and is renamed when it is whole. An existing file is replaced
/// then. Devices and pipes are written directly. `progress` counts bytes as [`Summary::bytes`] does.
///
/// # Errors
/// [`Error::Write`] if the output cannot be written; [`Error::Cancelled`]; [`Error::Usage`] if the options contradict
/// one another, if a term cannot be written in the format, or if a folder is in the way (for a file: any folder; for a
/// folder: one that is not empty).
pub fn to_path(options: &Options, path: &Path, progress: &Progress) -> Result<Summary> {
    if options.format == Format::Text && path != Path::new("-") {
        return to_folder(options, path, progress);
    }
    if path.is_dir() {
        let name = path.display();
        return Err(Error::Usage(format!(
            "{name} is a folder; name a file, or choose the format text"
        )));
    }
    let renderer = for_stream(options)?;
    let mut staged = Staged::create(path)?;
    let summary = stream(options, &renderer, &mut staged, progress);
    progress.check()?;
    let summary = summary.map_err(|source| staged.failed(source))?;
    staged.rename()?;
    Ok(summary)
}

/// Generates a collection into a stream, which errors call `name`. `progress` is as for [`to_path`].
///
/// A pipe whose reader closes it early is no error: the summary then counts the whole blocks that were written.
///
/// # Errors
/// [`Error::Write`] if the stream cannot be written; [`Error::Usage`] as for [`to_path`], and for [`Format::Text`].
pub fn to_stream(
    options: &Options,
    output: &mut (dyn io::Write + Send),
    name: &Path,
    progress: &Progress,
) -> Result<Summary> {
    let renderer = for_stream(options)?;
    let summary = stream(options, &renderer, output, progress);
    progress.check()?;
    summary.map_err(Error::writing(name))
}

fn for_stream(options: &Options) -> Result<Renderer<'_>> {
    if options.format == Format::Text {
        let what = "plain text is a folder with a file for every document; choose another format for a stream";
        return Err(Error::Usage(what.to_owned()));
    }
    prepare(options)
}

fn prepare(options: &Options) -> Result<Renderer<'_>> {
    if options.format == Format::Json {
        let what = "no collection is written as a JSON array; choose JSONL, an object a line";
        return Err(Error::Usage(what.to_owned()));
    }
    if options.compression != Compression::None
        && matches!(options.format, Format::Text | Format::Parquet)
    {
        let what = "a folder or a Parquet file cannot be compressed as a whole; drop .gz or .zst";
        return Err(Error::Usage(what.to_owned()));
    }
    Renderer::new(
        &options.vocabulary,
        options.format,
        options.seed,
        options.words,
    )
}

fn stream(
    options: &Options,
    renderer: &Renderer<'_>,
    output: Stream<'_>,
    progress: &Progress,
) -> io::Result<Summary> {
    let packing = Packing::Stream(options.compression);
    let sink = match (options.format, options.compression) {
        (Format::Parquet, _) => Sink::Parquet(Box::new(Rows::new(output)?)),
        (_, Compression::None) => Sink::Text(output),
        _ => Sink::Packed(output),
    };
    let (summary, sink) = pipeline::run(renderer, options, &packing, sink, progress)?;
    unless_closed(sink.finish())?;
    Ok(summary)
}

fn to_folder(options: &Options, path: &Path, progress: &Progress) -> Result<Summary> {
    let renderer = prepare(options)?;
    let folder = StagedFolder::create(path)?;
    let packing = Packing::Files(folder.temporary().to_owned());
    let (summary, _) = pipeline::run(&renderer, options, &packing, Sink::Files, progress)
        .map_err(Error::writing(path))?;
    progress.check()?;
    folder.rename()?;
    Ok(summary)
}
