//! `tokapi tune sort`: the best chunk size for files of numbers.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use tokapi::Error;
use tokapi::sort::{Layout, sort_file};
use tokapi_sort::{Algorithm, chunk_limit};
use tokapi_storage::apart::Paths;
use tokapi_storage::tune::{Growth, Load, Measured, Shape};
use tokapi_storage::whole::{Staged, StagedFolder};

use super::{How, Tuned, forget};
use crate::{sort, tuned};

/// The help of --output.
const OUTPUT: &str =
    "The output of the real job; the measurements write and remove files beside it";

/// Find the best chunk size for sorting a file of numbers
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokapi tune sort keys.u32 -o sorted.u32
  tokapi tune sort keys.u32 -o sorted.u32 --engine gpu --algorithm bitonic --sweep")]
#[command(mut_arg("output", |output| output.help(OUTPUT).long_help(OUTPUT)))]
pub struct Args {
    #[command(flatten)]
    sort: sort::Args,

    #[command(flatten)]
    how: How,
}

pub fn run(args: &Args, threads: usize) -> Result<(), Error> {
    let mut options = args.sort.options()?;
    options.spill = true;
    let mut paths = Paths::default();
    paths.read(&args.sort.input);
    args.how.svg().iter().for_each(|file| paths.write(file));
    paths.check()?;
    Staged::check(&args.sort.output)?;
    if let Some(svg) = &args.how.svg() {
        Staged::check(svg)?;
    }
    let folder = StagedFolder::create(&args.sort.output.with_file_name(".tune"))?;
    let input = sample(
        &args.sort.input,
        args.how.sample,
        folder.temporary(),
        options.layout,
    )?;
    let output = folder.temporary().join("sorted");
    let engine = args.sort.engine()?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| Error::Limit(format!("cannot start threads: {error}")))?;
    let bytes = std::fs::metadata(&input).map_or(0, |metadata| metadata.len());
    let whole = std::fs::metadata(&args.sort.input).map_or(bytes, |metadata| metadata.len());
    let limit = pool.install(|| chunk_limit(&options, &*engine))?;
    let algorithm = args.sort.algorithm();
    Tuned {
        engine: tuned::sorting(&args.sort.engine_name(&options)),
        content: "numbers",
        // An engine sorts a chunk on all of its threads.
        parallel_chunks: 1,
        threads: threads as u64,
        local: Shape {
            growth: match algorithm {
                Algorithm::Radix => Growth::Constant,
                Algorithm::Bitonic => Growth::LogSquared,
                _ => Growth::Log,
            },
            terms: false,
        },
        global: Shape {
            growth: Growth::Constant,
            terms: false,
        },
        bytes: whole,
        sample_bytes: bytes,
        most: (bytes / 2).min(limit as u64),
    }
    .measure(&args.how, |chunk_bytes| {
        forget(&input);
        let mut options = options.clone();
        options.chunk_bytes = usize::try_from(chunk_bytes).ok();
        let (started, load) = (Instant::now(), Load::now());
        let sorted = pool.install(|| sort_file(&input, &output, &options, &*engine))?;
        Ok(Measured {
            chunk_bytes,
            bytes,
            local: sorted.local,
            global: sorted.global,
            seconds: started.elapsed().as_secs_f64(),
            others: Load::now().others_since(&load),
        })
    })
}

/// The file, or a copy of its beginning if it is larger than `bytes`.
fn sample(path: &Path, bytes: u64, folder: &Path, layout: Layout) -> Result<PathBuf, Error> {
    let failed = |source| Error::Read {
        path: path.to_path_buf(),
        source,
    };
    let file = File::open(path).map_err(failed)?;
    if file.metadata().map_err(failed)?.len() <= bytes {
        return Ok(path.to_path_buf());
    }
    let mut text = Vec::new();
    // A whole number of records, whatever their width.
    let taken = bytes / 16 * 16;
    file.take(taken).read_to_end(&mut text).map_err(failed)?;
    if layout == Layout::Text {
        let end = text.iter().rposition(|&byte| byte == b'\n');
        text.truncate(end.map_or(0, |end| end + 1));
    }
    let copy = folder.join("sample");
    let written = File::create(&copy).and_then(|mut file| file.write_all(&text));
    written.map_err(Error::writing(&copy))?;
    Ok(copy)
}
