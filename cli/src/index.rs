//! `tokapi index`: makes an index of documents or of a CIFF file, or adds documents to one.

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};
use tokapi::Analyzer;
use tokapi::{
    AddOptions, Built, ImportOptions, IndexBuilder, IndexInfo, IndexWriter, Keep, Repeated,
    Replaced,
};
use tokapi::{BuildOptions, Corpus, Error, Index, Progress};

use crate::reorder::Which;
use crate::summary::{Summary, counted, note, print};
use crate::{formula, input, progress, storage};

/// Build an index, or add documents to one
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
      a smaller index and faster queries; indexing takes longer
  tokapi index lucene.ciff.gz -o index --stemmer english
      imports an index of another search engine; the options of terms are for queries
  tokapi search index 'boundary layer flow'")]
pub struct Args {
    /// The folder of the index; it appears under its name when it is whole
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,

    /// Replace the index in that folder; it answers queries until the new one is whole
    ///
    /// The folder must hold an index, or nothing. A program that has the old index open keeps it. There must be room for
    /// both.
    #[arg(long, conflicts_with = "append")]
    overwrite: bool,

    /// Add the documents to the index in that folder, all or none
    ///
    /// The analyzer and the kept content are those of the index.
    #[arg(long)]
    append: bool,

    /// Let new documents replace those with the same id
    #[arg(long, requires = "append")]
    replace: bool,

    #[command(flatten)]
    input: input::Args,

    #[command(flatten)]
    kept: Kept,

    /// Order the documents so that the index is smaller and queries are faster
    ///
    /// Documents with equal scores come in the new order; apart from that, answers are the same. Indexing takes longer and
    /// twice the disk space. `tokapi merge --reorder` does it later.
    #[arg(
        long,
        value_enum,
        value_name = "ORDER",
        conflicts_with = "append",
        help_heading = "Layout"
    )]
    reorder: Option<Which>,

    /// Store the weight of every term in every document, in 8 bits, instead of its frequency
    ///
    /// Queries are somewhat faster, scores are approximate, and the index is larger. The formula is fixed, and documents can
    /// be neither added nor deleted.
    #[arg(long, conflicts_with = "append", help_heading = "Layout")]
    impacts: bool,

    #[command(flatten)]
    formula: formula::Args,

    #[command(flatten)]
    storage: storage::Args,

    /// Print the summary as one JSON object
    #[arg(long)]
    json: bool,
}

/// The content of documents that an index keeps beside their terms.
#[derive(Debug, clap::Args)]
#[group(skip)]
#[command(next_help_heading = "Kept content")]
struct Kept {
    /// Keep the text of every document, for snippets
    ///
    /// With --store, --field or --positions the input is read twice. Input that can be read only once is copied to a file
    /// beside the output first.
    #[arg(long)]
    store: bool,

    /// Keep these fields, columns or elements, for --filter and for display
    ///
    /// Values are strings, numbers, booleans and lists of these. A filter finds values of up to 1024 bytes.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    field: Vec<String>,

    /// Keep the order of the terms of every document, for phrases
    #[arg(long)]
    positions: bool,
}

pub fn run(args: &Args, threads: usize) -> Result<(), Error> {
    let started = Instant::now();
    if args.formula.is_given() && !args.impacts {
        return Err(Error::Usage(
            "the formula of an index is chosen with the query: drop it here, or add --impacts"
                .into(),
        ));
    }
    args.formula.bm25().check()?;
    let mut target = Target::open(args, threads)?;
    if let Some(file) = args.input.reading.ciff()? {
        return import(args, file, threads, target);
    }
    let analyzer = target.analyzer(args)?;
    let keep = target.keep(args)?;
    let outputs = [args.output.clone()];
    let (built, done, more) =
        args.input
            .read_spilling(threads, &outputs, &args.storage, |corpus, options| {
                target.write(corpus, options, keep, &analyzer, args)
            })?;
    input::note_fallback(built.fallback.as_deref());
    let mut summary = Summary::of_built(started, &built);
    let merged = target.wait();
    let info = Index::open(&args.output)?.info();
    summary.terms = info.terms;
    summary.terms_of_index = args.append;
    say(args, &summary, &info, &done, more)?;
    merged
}

/// Makes an index of a file in the Common Index File Format.
fn import(args: &Args, file: &Path, threads: usize, target: Target) -> Result<(), Error> {
    let started = Instant::now();
    if args.append
        || args.impacts
        || args.kept.store
        || args.kept.positions
        || !args.kept.field.is_empty()
    {
        return Err(Error::Usage(
            "a CIFF file makes a new index, and has only postings: drop --append, --impacts, --store, --field and \
             --positions"
                .into(),
        ));
    }
    if args.reorder.is_some() {
        return Err(Error::Usage(
            "a CIFF file is imported in its own order: drop --reorder, then run `tokapi merge --reorder`"
                .into(),
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
    let progress = Progress::new();
    let options = ImportOptions::default()
        .threads(threads)
        .memory(memory)
        .replaced(replaced)
        .progress(progress.clone());
    progress::show(&progress, || {
        Index::import_ciff(file, &analyzer, &args.output, options)
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
        match replaced {
            Some(_) => note_dropped(args),
            None => Index::check_new(&args.output).map_err(suggest_overwriting)?,
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
            "{} has another analyzer ({has}): drop the options of terms, or build a new index",
            args.output.display(),
        )))
    }

    /// Waits for merges in the background. If one fails, the documents are in the index nevertheless.
    fn wait(&mut self) -> Result<(), Error> {
        match self {
            Target::New(_) => Ok(()),
            Target::There(writer) => writer.wait(),
        }
    }

    /// The content that is kept of the documents.
    fn keep(&self, args: &Args) -> Result<Keep, Error> {
        let asked = Keep::default()
            .text(args.kept.store)
            .fields(args.kept.field.clone())
            .positions(args.kept.positions);
        let Target::There(writer) = self else {
            return Ok(asked);
        };
        let has = writer.keep();
        match asked.is_nothing() || asked == has {
            true => Ok(has),
            false => Err(Error::Usage(format!(
                "{} keeps {has}: drop --store, --field and --positions, or build a new index",
                args.output.display(),
            ))),
        }
    }

    /// Indexes `corpus`. Gives the counts, and a report in words and one for programs.
    fn write(
        &mut self,
        corpus: Corpus,
        options: BuildOptions,
        keep: Keep,
        analyzer: &Analyzer,
        args: &Args,
    ) -> Result<(Built, String, Value), Error> {
        let storage = args.storage.storage(None)?;
        let writer = match self {
            Target::There(writer) => writer,
            Target::New(replaced) => {
                let built = IndexBuilder::new(&args.output)
                    .keep(keep)
                    .impacts(args.impacts.then(|| args.formula.bm25()))
                    .reorder(args.reorder.map(Into::into))
                    .replace(replaced.take())
                    .memory(storage.memory)
                    .scratch(storage.scratch)
                    .options(options)
                    .analyzer(analyzer)
                    .build(corpus)?;
                return Ok((built, "wrote".into(), Value::Null));
            }
        };
        let repeated = match (args.replace, args.input.reading.skips()) {
            (true, _) => Repeated::Replace,
            (false, true) => Repeated::Skip,
            (false, false) => Repeated::Stop,
        };
        let options = AddOptions::default()
            .repeated(repeated)
            .build(options)
            .scratch(storage.scratch);
        let added = writer.add(corpus, &options).map_err(suggest_replacing)?;
        let (documents, again) = (added.documents, added.repeated);
        let repeats = match (again, args.replace) {
            (0, _) => String::new(),
            (_, true) => format!("; {} replaced", counted(again, "document")),
            (_, false) => format!(
                "; {} left out, their ids are taken",
                counted(again, "document")
            ),
        };
        Ok((
            added.built,
            format!("added {}{repeats}:", counted(documents, "document")),
            json!({ "added": documents, "repeated": again }),
        ))
    }
}

/// Names the content that the index in the place of the new one keeps, and the new one will not.
fn note_dropped(args: &Args) {
    // An index that cannot be read is replaced too.
    let Ok(index) = Index::open(&args.output) else {
        return;
    };
    let has = index.keep();
    let is_dropped = |field: &&String| !args.kept.field.contains(field);
    let fields: Vec<String> = has.fields.iter().filter(is_dropped).cloned().collect();
    let (text, positions) = (
        has.text && !args.kept.store,
        has.positions && !args.kept.positions,
    );
    let mut options = Vec::new();
    if text {
        options.push("--store".to_owned());
    }
    if !fields.is_empty() {
        options.push(format!("--field {}", fields.join(",")));
    }
    if positions {
        options.push("--positions".to_owned());
    }
    let dropped = Keep::default()
        .text(text)
        .fields(fields)
        .positions(positions);
    if !dropped.is_nothing() {
        note(&format!(
            "tokapi: the old index keeps {dropped}, and the new one does not: {} keeps them\n",
            options.join(" ")
        ));
    }
}

fn suggest_overwriting(error: Error) -> Error {
    match error {
        Error::Usage(what) => Error::Usage(what + ", or use --append or --overwrite"),
        other => other,
    }
}

/// A repeated id is a fault of the data; adds the ways on.
fn suggest_replacing(error: Error) -> Error {
    const WAYS: &str = " (--replace takes the new documents, --on-error skip the old ones)";
    match error {
        Error::Input { place, what } => Error::Input {
            place,
            what: what + WAYS,
        },
        other => other,
    }
}
