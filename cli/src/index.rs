//! `tokapi index`: documents or a CIFF file in, an index out.

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};
use tokapi::analyze::Analyzer;
use tokapi::index::{
    AddOptions, Built, ImportOptions, IndexBuilder, IndexInfo, IndexWriter, Keep, Repeated,
    Replaced,
};
use tokapi::{BuildOptions, Corpus, Error, Index, Progress};

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

    /// Indexes `corpus`. Gives what was read, and what was done, in words and for programs.
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
        let what = match (again, args.replace) {
            (0, _) => String::new(),
            (_, true) => format!(", {again} of them for others,"),
            (_, false) => format!(", {again} left out that were there,"),
        };
        Ok((
            added.built,
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
        Error::Usage(what) if what.ends_with("nothing was added") => {
            Error::Usage(what + " (--replace replaces, --on-error skip keeps them)")
        }
        other => other,
    }
}
