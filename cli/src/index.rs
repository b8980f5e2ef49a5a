//! `tokapi index`: documents or a CIFF file in, an index out.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use serde_json::{Value, json};
use tokapi::analyze::Analyzer;
use tokapi::collection::Stored;
use tokapi::index::{
    Contents, IndexInfo, IndexOptions, IndexWriter, Keep, ReorderProgress, Reordering, Repeated,
    Replaced,
};
use tokapi::{BuildOptions, Compression, Corpus, Error, Index};

use crate::reorder::Which;
use crate::summary::{Summary, note, print};
use crate::{formula, input, progress, storage};

/// Build an index that queries are answered from
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokapi index docs.jsonl -o index
  tokapi index docs/ -o index --stop-words english --stemmer english
  tokapi index huge.tsv.zst -o index --memory 2GB
  tokapi index more.jsonl -o index --append --replace
  tokapi index docs.jsonl -o index --overwrite
  tokapi index docs.jsonl -o index --store --field lang,year
  tokapi index docs.jsonl -o index --impacts --k1 0.9 --b 0.4
  tokapi index docs.jsonl -o index --reorder graph
      smaller, and queries are faster; takes longer
  tokapi index lucene.ciff.gz -o index --stemmer english
      the index of another search engine; the options of terms say how queries are cut
  tokapi search index 'boundary layer flow'")]
pub struct Args {
    #[command(flatten)]
    input: input::Args,

    #[command(flatten)]
    storage: storage::Args,

    /// The folder to write; it appears under its name when it is whole
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    output: PathBuf,

    /// Replace the index that is there: at one moment, when the new one is whole; until then it answers queries
    ///
    /// What is there must be an index, or nothing. Whoever has it open goes on with what it was. Takes the room of both
    /// meanwhile.
    #[arg(long, conflicts_with = "append", help_heading = "Output")]
    overwrite: bool,

    /// Add the documents to the index that is there, all or none; terms are cut and documents kept as that index has
    /// them
    #[arg(long, help_heading = "Output")]
    append: bool,

    /// Let new documents take the place of those with the same id
    #[arg(long, requires = "append", help_heading = "Output")]
    replace: bool,

    /// Put the documents in another order than they come in, so that the index is smaller and queries are faster
    ///
    /// Answers are the same, but that documents of the same score come in that order. It takes longer, and twice the
    /// room meanwhile. Later, `tokapi merge --reorder` does it.
    #[arg(
        long,
        value_enum,
        value_name = "WHICH",
        conflicts_with = "append",
        help_heading = "Output"
    )]
    reorder: Option<Which>,

    /// Keep every document's text, for snippets
    ///
    /// The input is read twice where something is kept; what cannot be read twice goes to a file beside the output first.
    #[arg(long, help_heading = "Kept")]
    store: bool,

    /// Fields, columns or elements to keep, for --filter and for display
    ///
    /// Values are strings, numbers, booleans and lists of these. Documents are found by values of up to 1024 bytes.
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        help_heading = "Kept"
    )]
    field: Vec<String>,

    /// Keep the order of every document's terms, for phrases
    #[arg(long, help_heading = "Kept")]
    positions: bool,

    /// Weigh every term in every document now, and keep the weights in 8 bits in the place of frequencies
    ///
    /// Scores are sums of these then, near those of the formula; queries are somewhat faster and the index is larger. The
    /// formula cannot be chosen with the query any more, and documents can be neither added nor deleted.
    #[arg(long, conflicts_with = "append", help_heading = "Weights")]
    impacts: bool,

    #[command(flatten)]
    formula: formula::Args,

    /// Print the summary as one JSON object
    #[arg(long, help_heading = "Output")]
    json: bool,
}

pub fn run(args: &Args, threads: usize) -> Result<(), Error> {
    let started = Instant::now();
    if args.formula.is_given() && !args.impacts {
        return Err(Error::Usage(
            "an index is weighed when it is searched; give the formula there, or --impacts here"
                .into(),
        ));
    }
    args.formula.bm25().check()?;
    let mut target = Target::open(args, threads)?;
    if let Some(file) = args.input.reading.ciff()? {
        return import(args, file, threads, target);
    }
    let analyzer = target.analyzer(args)?;
    let outputs = [args.output.clone()];
    let storage = args.storage.storage(Some(&args.output))?;
    let options = BuildOptions::default().threads(threads);
    let keep = target.keep(args)?;
    let mut kept = None;
    let prepare = |corpus: &mut Corpus| {
        if !keep.is_nothing() {
            corpus.keep_fields(&keep.fields)?;
            let spooled = corpus.spool(&args.output)?;
            let again = corpus.again();
            let contents = Contents::new(again, keep, &options, &storage);
            kept = Some((contents, spooled));
        }
        Ok(())
    };
    let collection = args
        .input
        .read(&analyzer, threads, &outputs, prepare, &args.storage)?;
    let mut summary = Summary::new(started, &collection);
    let collected = collection.progress().clone();
    let progress = ReorderProgress::default();
    let how = args
        .reorder
        .map(|which| which.reordering(storage.memory, threads, &progress));
    let (contents, _spooled) = kept.unzip();
    let write = || target.write(collection, contents, &analyzer, how.as_ref(), args);
    let written = match &how {
        Some(_) => progress::with_reordering(&progress, write),
        None => progress::show(&collected, write),
    };
    let (done, more) = written.map_err(storage::suggest_resuming)?;
    let merged = target.wait();
    let info = Index::open(&args.output)?.info();
    summary.terms = info.terms;
    say(args, &summary, &info, &done, more)?;
    merged
}

/// Makes an index of a file in the Common Index File Format.
fn import(args: &Args, file: &Path, threads: usize, target: Target) -> Result<(), Error> {
    let started = Instant::now();
    if args.append || args.impacts || args.store || args.positions || !args.field.is_empty() {
        return Err(Error::Usage(
            "a CIFF file makes a new index of postings alone; leave --append, --impacts, --store, --field and --positions away"
                .into(),
        ));
    }
    if args.reorder.is_some() {
        return Err(Error::Usage(
            "a CIFF file is indexed as it is; then reorder it with `tokapi merge --reorder`".into(),
        ));
    }
    let mut paths = args.input.reading.paths(std::slice::from_ref(&args.output));
    paths.read(file);
    paths.check()?;
    let replaced = match target {
        Target::New(replaced) => replaced,
        Target::There(_) => None,
    };
    let memory = args.storage.storage(None)?.memory;
    let analyzer = args.input.reading.analyzer()?;
    let bytes = std::fs::metadata(file).map_or(0, |metadata| metadata.len());
    // What a compressed file holds is not known yet.
    let total = (Compression::of_name(file) == Compression::None).then_some(bytes);
    let read_bytes = AtomicU64::new(0);
    progress::with_bar(total, &read_bytes, || {
        let (path, done) = (&args.output, &read_bytes);
        Index::import_ciff(file, &analyzer, threads, &memory, path, replaced, done)
    })?;
    let info = Index::open(&args.output)?.info();
    let summary = Summary::of_index(started, &info, bytes);
    say(args, &summary, &info, "wrote", Value::Null)
}

fn say(
    args: &Args,
    summary: &Summary,
    info: &IndexInfo,
    done: &str,
    more: Value,
) -> Result<(), Error> {
    let bytes: u64 = info.files.iter().map(|(_, bytes)| bytes).sum();
    if args.json {
        let mut object = json!({ "index": args.output, "index_bytes": bytes });
        if let (Some(object), Value::Object(more)) = (object.as_object_mut(), more) {
            object.extend(more);
        }
        return print((summary.json(object) + "\n").as_bytes());
    }
    note(&format!(
        "{done} {} ({bytes} bytes)\n",
        args.output.display()
    ));
    note(&summary.text());
    Ok(())
}

/// Where the documents go.
enum Target {
    /// A new index, perhaps in the place of another.
    New(Option<Replaced>),
    There(IndexWriter),
}

impl Target {
    fn open(args: &Args, threads: usize) -> Result<Self, Error> {
        if args.append {
            let memory = args.storage.storage(None)?.memory;
            return IndexWriter::open_within(&args.output, threads, memory).map(Target::There);
        }
        let replaced = match args.overwrite {
            true => Replaced::lock(&args.output)?,
            false => None,
        };
        if replaced.is_none() {
            Index::check_new(&args.output).map_err(suggest_overwriting)?;
        }
        Ok(Target::New(replaced))
    }

    fn analyzer(&self, args: &Args) -> Result<Analyzer, Error> {
        let asked = args.input.reading.analyzer()?;
        let Target::There(writer) = self else {
            return Ok(asked);
        };
        let has = writer.analyzer()?;
        let is_usual = args.input.reading.has_usual_terms()?;
        if is_usual || asked.options() == has.options() {
            return Ok(has);
        }
        Err(Error::Usage(format!(
            "{} has terms by {}; leave the options of terms away to add such",
            args.output.display(),
            has.description()
        )))
    }

    /// Waits until no parts are merged any more. If that fails, the documents are in the index all the same.
    fn wait(&mut self) -> Result<(), Error> {
        match self {
            Target::New(_) => Ok(()),
            Target::There(writer) => writer.wait(),
        }
    }

    /// What is kept of the documents.
    fn keep(&self, args: &Args) -> Result<Keep, Error> {
        let asked = Keep {
            text: args.store,
            fields: args.field.clone(),
            positions: args.positions,
        };
        let Target::There(writer) = self else {
            return Ok(asked);
        };
        let has = writer.keep();
        match asked.is_nothing() || asked == has {
            true => Ok(has),
            false => Err(Error::Usage(format!(
                "{} keeps {has}; leave --store, --field and --positions away to keep the same",
                args.output.display(),
            ))),
        }
    }

    /// Gives what was done, in words and for programs.
    fn write(
        &mut self,
        collection: Stored,
        contents: Option<Contents<'_>>,
        analyzer: &Analyzer,
        how: Option<&Reordering<'_>>,
        args: &Args,
    ) -> Result<(String, Value), Error> {
        let writer = match self {
            Target::There(writer) => writer,
            Target::New(replaced) => {
                let options = IndexOptions {
                    contents,
                    reorder: how,
                    impacts: args.impacts.then(|| args.formula.bm25()),
                    replaced: replaced.take(),
                    memory: Some(args.storage.storage(None)?.memory),
                };
                Index::build_with(collection, analyzer, &args.output, options)?;
                return Ok(("wrote".into(), Value::Null));
            }
        };
        let repeated = match (args.replace, args.input.reading.skips()) {
            (true, _) => Repeated::Replace,
            (false, true) => Repeated::Skip,
            (false, false) => Repeated::Stop,
        };
        let appended = writer
            .append(collection, contents, repeated)
            .map_err(suggest_replacing)?;
        let (documents, again) = (appended.documents, appended.repeated);
        let what = match (again, args.replace) {
            (0, _) => String::new(),
            (_, true) => format!(", {again} of them for others,"),
            (_, false) => format!(", {again} left out that were there,"),
        };
        Ok((
            format!("added {documents} documents{what} to"),
            json!({ "added": documents, "repeated": again }),
        ))
    }
}

fn suggest_overwriting(error: Error) -> Error {
    match error {
        Error::Usage(what) => Error::Usage(what + ", or --append to an index, or --overwrite it"),
        other => other,
    }
}

fn suggest_replacing(error: Error) -> Error {
    match error {
        Error::Usage(what) => {
            Error::Usage(what + " (--replace replaces, --on-error skip keeps them)")
        }
        other => other,
    }
}
