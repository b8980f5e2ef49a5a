//! `tokapi serve`: indexes behind HTTP.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use tokapi::{Analyzer, AnalyzerOptions, Corpus, CorpusOptions, StopWords};
use tokapi::{Error, Index, IndexBuilder};
use tokapi_serve::options::{EngineName, LogFormat};
use tokapi_serve::served::name_of;
use tokapi_serve::{Listener, Options};
use tokapi_storage::apart::{has_epoch, is_index};
use tokapi_storage::whole::StagedFolder;
use tokapi_text::analyze::STEMMERS;

use crate::summary::{counted, note, print};
use crate::{progress, signals, size};

/// Answer searches over HTTP, with a page for browsers
///
/// Settings come from flags, from environment variables (TOKAPI_SERVE_LISTEN, TOKAPI_SERVE_LIMITS_K and so on), and from a
/// TOML file, in this order. SIGTERM or Ctrl-C ends the server: it answers what is under way first.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokapi serve index
  tokapi serve docs.jsonl
      builds a temporary index first, and removes it at the end
  tokapi serve news=/data/news-2024 papers=/data/papers --listen 0.0.0.0:7878
  tokapi serve --config serve.toml --check
  tokapi serve --data indexes --write
      indexes that clients create and change
  curl 'http://127.0.0.1:7878/v1/indexes/index/search?q=boundary+layer'")]
pub struct Args {
    /// Folders of indexes, or documents; NAME=INDEX gives a name
    ///
    /// An index without a name gets that of its folder. The indexes of the settings are served too.
    #[arg(value_name = "INDEX", required_unless_present_any = ["config", "data"])]
    indexes: Vec<String>,

    /// The address and port to listen on; port 0 takes any free one [default: 127.0.0.1:7878]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,

    /// The file with the certificate of the server, as PEM; clients then use https
    ///
    /// Certificates of issuers follow in the same file. The files are read again when they change, and at SIGHUP.
    #[arg(long, value_name = "FILE")]
    tls_certificate: Option<PathBuf>,

    /// The file with the private key of the certificate, as PEM
    #[arg(long, value_name = "FILE")]
    tls_key: Option<PathBuf>,

    /// The TOML file of settings
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Check the settings, open the indexes, and stop
    #[arg(long)]
    check: bool,

    /// Let clients change the indexes
    ///
    /// A change is answered when it is on disk. Other programs cannot change the indexes meanwhile.
    #[arg(long, help_heading = "Changes")]
    write: bool,

    /// The folder of indexes that clients create; those that it has are served too
    #[arg(long, value_name = "DIR", help_heading = "Changes")]
    data: Option<PathBuf>,

    /// The folder of snapshots, which clients take, restore and remove
    #[arg(long, value_name = "DIR", help_heading = "Changes")]
    snapshots: Option<PathBuf>,

    /// Send the header X-Elastic-Product, without which Elasticsearch's own clients stop
    #[arg(long, help_heading = "Clients of Elasticsearch")]
    elastic_product: bool,

    /// The processors that answer [default: cpu]
    #[arg(long, value_enum, value_name = "ENGINE", help_heading = "Engine")]
    engine: Option<ServeEngine>,

    /// The number of the GPU, as `tokapi devices` lists them
    #[arg(long, value_name = "NUMBER", help_heading = "Engine")]
    device: Option<u32>,

    /// The memory for answers to repeated searches; 0 keeps none [default: 64MiB]
    #[arg(long, value_name = "SIZE", value_parser = cache_size, help_heading = "Engine")]
    cache: Option<u64>,

    /// The most searches that wait; more are refused [default: 4096]
    #[arg(long, value_name = "COUNT", help_heading = "Engine")]
    queue: Option<usize>,

    /// Refuse searches that would wait for more milliseconds; 0 refuses none for that [default: 50]
    #[arg(long, value_name = "COUNT", help_heading = "Engine")]
    queue_ms: Option<u64>,

    /// The form of the log on standard error [default: text]
    #[arg(long, value_enum, value_name = "FORMAT", help_heading = "Log")]
    log: Option<ServeLog>,

    /// Log every request
    #[arg(long, help_heading = "Log")]
    access_log: bool,

    /// Log searches that take this many milliseconds or more; 0 logs none [default: 1000]
    #[arg(long, value_name = "MS", help_heading = "Log")]
    slow_ms: Option<u64>,

    #[command(flatten)]
    temporary: Temporary,
}

/// The options of temporary indexes.
#[derive(Debug, clap::Args)]
#[group(skip)]
#[command(next_help_heading = "Documents in place of an index")]
struct Temporary {
    /// Keep these fields, columns or elements, for filters and for display
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    field: Vec<String>,

    /// The field, column or element with the id of a document
    #[arg(long, value_name = "NAME")]
    id_field: Option<String>,

    /// The fields, columns or elements with the text
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    text_field: Vec<String>,

    /// The terms to drop: none, english (the 33 of Lucene), or a file with a term on each line
    #[arg(long, value_name = "WHICH", default_value = "none")]
    stop_words: String,

    /// The language of the Snowball stemmer, or none
    #[arg(long, value_name = "LANGUAGE", default_value = "none", value_parser = stemmers())]
    stemmer: String,
}

fn stemmers() -> clap::builder::PossibleValuesParser {
    let names = STEMMERS.iter().map(|(name, _)| *name);
    ["none"].into_iter().chain(names).collect::<Vec<_>>().into()
}

fn cache_size(text: &str) -> Result<u64, String> {
    match text {
        "0" => Ok(0),
        size => size::parse(size),
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ServeEngine {
    /// A GPU and the CPU together; the CPU alone if no GPU can be used
    Auto,
    /// The CPU
    Cpu,
    /// A GPU and the CPU together; an error if no GPU can be used
    Gpu,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ServeLog {
    /// Lines for people
    Text,
    /// One JSON object on each line
    Json,
}

pub fn run(args: &Args, threads: Option<usize>) -> Result<(), Error> {
    let mut options = args.options(threads)?;
    let threads = options.search_threads();
    let mut documents = Vec::new();
    for argument in &args.indexes {
        let (name, path) = split(argument);
        let name = name_of(name.or_else(|| stem(&path)).as_deref(), &path)?;
        // A damaged index is not taken for documents.
        if !is_index(&path) && !has_epoch(&path) {
            documents.push((name.clone(), path.clone()));
        }
        if options.indexes.insert(name.clone(), path).is_some() {
            return Err(Error::Usage(format!(
                "two indexes are named `{name}`: name one of them, NAME=INDEX"
            )));
        }
    }
    if args.check {
        for (name, path) in documents {
            args.temporary.corpus(&path)?;
            options.indexes.remove(&name);
        }
        tokapi_serve::check(&options)?;
        return print(b"the settings are valid, and the indexes can be opened\n");
    }
    if options.indexes.is_empty() && options.data.is_none() {
        return Err(Error::Usage(
            "there is nothing to serve: name an index, or documents".into(),
        ));
    }
    // Before the work of temporary indexes.
    let listener = Listener::bind(&options)?;
    let mut temporary = Vec::new();
    for (name, path) in documents {
        let built = args.temporary.build(&path, threads)?;
        let index = built.temporary().join("index");
        options.indexes.insert(name, index);
        temporary.push(built);
    }
    let served = tokapi_serve::run(listener, &options, |server| {
        let stopper = server.stopper();
        signals::instead(move || stopper.stop());
        if let Some(certificate) = server.certificate() {
            signals::at_hangup(move || certificate.reload());
        }
        print(format!("{}\n", server.url()).as_bytes())
    });
    // They are removed only now.
    drop(temporary);
    served
}

impl Args {
    fn options(&self, threads: Option<usize>) -> Result<Options, Error> {
        // A name or value that is no text is no setting of this program.
        let environment = std::env::vars_os();
        let environment = environment.filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        let mut options = Options::load(self.config.as_deref(), environment)?;
        set(&mut options.threads, threads);
        set(&mut options.listen, self.listen);
        set(&mut options.device, self.device);
        set(&mut options.cache_bytes, self.cache);
        set(&mut options.queue, self.queue);
        set(&mut options.queue_ms, self.queue_ms);
        set(&mut options.slow_ms, self.slow_ms);
        options.access_log |= self.access_log;
        options.write |= self.write;
        options.elastic.product |= self.elastic_product;
        for (setting, flag) in [
            (&mut options.data, &self.data),
            (&mut options.snapshots, &self.snapshots),
            (&mut options.tls.certificate, &self.tls_certificate),
            (&mut options.tls.key, &self.tls_key),
        ] {
            if flag.is_some() {
                setting.clone_from(flag);
            }
        }
        let engine = self.engine.map(|engine| match engine {
            ServeEngine::Auto => EngineName::Auto,
            ServeEngine::Cpu => EngineName::Cpu,
            ServeEngine::Gpu => EngineName::Gpu,
        });
        set(&mut options.engine, engine);
        let log = self.log.map(|log| match log {
            ServeLog::Text => LogFormat::Text,
            ServeLog::Json => LogFormat::Json,
        });
        set(&mut options.log, log);
        Ok(options)
    }
}

fn set<T>(setting: &mut T, flag: Option<T>) {
    if let Some(value) = flag {
        *setting = value;
    }
}

/// The name and the path of `NAME=PATH`, or of a path alone.
fn split(argument: &str) -> (Option<String>, PathBuf) {
    match argument.split_once('=') {
        Some((name, path)) if !Path::new(argument).exists() => (Some(name.to_owned()), path.into()),
        _ => (None, argument.into()),
    }
}

/// The name of documents: that of their file without its endings. None for a folder, which has a name of its own.
fn stem(path: &Path) -> Option<String> {
    let name = path.file_name().filter(|_| path.is_file())?;
    let name = name.to_string_lossy();
    let stem = name.split('.').find(|part| !part.is_empty())?;
    Some(stem.to_owned())
}

impl Temporary {
    fn corpus(&self, path: &Path) -> Result<Corpus, Error> {
        let options = CorpusOptions::default()
            .id_field(self.id_field.clone())
            .text_fields(&self.text_field);
        Corpus::open(&[path], options)
    }

    fn analyzer(&self) -> Result<Analyzer, Error> {
        let stop_words = match self.stop_words.as_str() {
            "none" => StopWords::None,
            "english" => StopWords::English,
            file => StopWords::File(file.into()),
        };
        let stemmer = (self.stemmer != "none").then(|| self.stemmer.clone());
        let options = AnalyzerOptions::default();
        Analyzer::new(&options.stop_words(stop_words).stemmer(stemmer))
    }

    /// Builds an index of documents in a folder that is removed when dropped, and by a signal.
    fn build(&self, path: &Path, threads: usize) -> Result<StagedFolder, Error> {
        let corpus = self.corpus(path)?;
        let progress = corpus.progress();
        let folder = StagedFolder::create(&std::env::temp_dir().join("tokapi-serve"))?;
        let index = folder.temporary().join("index");
        let mut builder = IndexBuilder::new(&index)
            .store(true)
            .positions(true)
            .threads(threads)
            .analyzer(self.analyzer()?);
        for field in &self.field {
            builder = builder.field(field);
        }
        progress::show(&progress, || builder.build(corpus))?;
        let documents = Index::open(&index)?.statistics().documents;
        note(&format!(
            "tokapi: {}: a temporary index of {}; `tokapi index` makes one that stays\n",
            path.display(),
            counted(documents, "document")
        ));
        Ok(folder)
    }
}
