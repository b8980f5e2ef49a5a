//! Indexes one collection with tantivy and prints what it took as one line of JSON.
//!
//! In: a `.terms` file (one term per line, an empty line ends a document) or JSONL with
//! `contents`. Out: an index in a temporary folder (under `TMPDIR`), removed at the end, of one
//! text field with frequencies and field norms, which is all that BM25 needs: no positions,
//! nothing stored, no fast field.
//!
//! The clock runs from opening the input to the end of the commit.

use std::borrow::Cow;
use std::error::Error;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Instant;

use memchr::memmem::Finder;
use serde::Deserialize;
use tantivy::indexer::NoMergePolicy;
use tantivy::schema::{Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{LowerCaser, SimpleTokenizer, TextAnalyzer};
use tantivy::{Index, IndexWriter, TantivyDocument};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// How much text is read at a time.
const BLOCK_BYTES: u64 = 4 << 20;

/// What each indexing thread may hold before it writes a segment: more than it needs for 500 MB
/// of text on two threads (0.4 GB in all), where 0.5 GB and 3 GB took the same time.
const MEMORY_BYTES_PER_THREAD: usize = 1_000_000_000;

#[derive(Deserialize)]
struct Record<'a> {
    #[serde(borrow)]
    contents: Cow<'a, str>,
}

/// Calls `feed` with each stretch of `input` that `separator` ends, and with what is left.
fn split(
    mut input: impl Read,
    separator: &[u8],
    mut feed: impl FnMut(&[u8]) -> Outcome<()>,
) -> Outcome<()> {
    let finder = Finder::new(separator);
    let mut text = Vec::new();
    loop {
        let read = input.by_ref().take(BLOCK_BYTES).read_to_end(&mut text)?;
        let mut start = 0;
        while let Some(length) = finder.find(&text[start..]) {
            feed(&text[start..start + length])?;
            start += length + separator.len();
        }
        text.drain(..start);
        if read == 0 {
            break;
        }
    }
    if text.is_empty() { Ok(()) } else { feed(&text) }
}

fn add_all(path: &Path, field: Field, writer: &IndexWriter) -> Outcome<()> {
    let input = File::open(path)?;
    let add = |contents: &str| -> Outcome<()> {
        let mut document = TantivyDocument::default();
        document.add_text(field, contents);
        writer.add_document(document)?;
        Ok(())
    };
    if path
        .extension()
        .is_some_and(|extension| extension == "terms")
    {
        split(input, b"\n\n", |lines| add(std::str::from_utf8(lines)?))
    } else {
        split(input, b"\n", |line| {
            add(&serde_json::from_slice::<Record>(line)?.contents)
        })
    }
}

fn main() -> Outcome<()> {
    let path = std::env::args_os()
        .nth(1)
        .ok_or("which file? tantivy-peer FILE")?;
    let threads = std::thread::available_parallelism()?.get();
    let indexing = TextFieldIndexing::default()
        .set_tokenizer("alphanumeric")
        .set_index_option(IndexRecordOption::WithFreqs);
    let options = TextOptions::default().set_indexing_options(indexing);
    let mut schema = Schema::builder();
    let field = schema.add_text_field("contents", options);
    let folder = tempfile::tempdir()?;

    let clock = Instant::now();
    let index = Index::create_in_dir(folder.path(), schema.build())?;
    let tokenizer = TextAnalyzer::builder(SimpleTokenizer::default()).filter(LowerCaser);
    index
        .tokenizers()
        .register("alphanumeric", tokenizer.build());
    let mut writer: IndexWriter =
        index.writer_with_num_threads(threads, threads * MEMORY_BYTES_PER_THREAD)?;
    // Each thread leaves one segment: merging from eight on, as tantivy would, only adds work.
    writer.set_merge_policy(Box::new(NoMergePolicy));
    add_all(&PathBuf::from(path), field, &writer)?;
    writer.commit()?;
    writer.wait_merging_threads()?;
    let seconds = clock.elapsed().as_secs_f64();

    let searcher = index.reader()?.searcher();
    let mut tokens = 0;
    for segment in searcher.segment_readers() {
        tokens += segment.inverted_index(field)?.total_num_tokens();
    }
    let summary = serde_json::json!({
        "version": tantivy::version_string(),
        "seconds": seconds,
        "documents": searcher.num_docs(),
        "tokens": tokens,
        "segments": searcher.segment_readers().len(),
        "index_bytes": searcher.space_usage()?.total().get_bytes(),
    });
    println!("{summary}");
    Ok(())
}
