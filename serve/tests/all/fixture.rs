//! A server of three indexes of the Cranfield collection.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use tempfile::TempDir;
use tokapi::{
    Analyzer, AnalyzerOptions, Bm25, Corpus, CorpusOptions, Document, Index, IndexBuilder,
};
use tokapi_serve::{Options, Server};

use crate::client::Client;

/// A server of `full` (texts, fields, positions), `bare` (postings only) and `impacts`.
pub struct Fixture {
    pub full: Index,
    pub bare: Index,
    server: Option<Server>,
    _folder: TempDir,
}

impl Fixture {
    pub fn new() -> Self {
        Fixture::with(|_| {})
    }

    /// A server with other options.
    pub fn with(change: impl FnOnce(&mut Options)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let build = |name: &str, change: fn(IndexBuilder) -> IndexBuilder| -> PathBuf {
            let path = folder.path().join(name);
            let corpus = Corpus::from_documents(documents(), CorpusOptions::default());
            change(IndexBuilder::new(&path).threads(1))
                .build(corpus)
                .unwrap();
            path
        };
        let full = build("full", |builder| {
            let stemmed = AnalyzerOptions::default().stemmer("english".to_owned());
            let builder = builder.analyzer(Analyzer::new(&stemmed).unwrap());
            let builder = builder.store(true).positions(true);
            builder.field("year").field("kind").field("tags")
        });
        let bare = build("bare", |builder| builder);
        let impacts = build("impacts", |builder| {
            builder.impacts(Bm25::default().k1(0.9)).store(true)
        });
        let mut options = Options::default();
        let paths = [
            ("full", full.clone()),
            ("bare", bare.clone()),
            ("impacts", impacts),
        ];
        options.indexes = paths.map(|(name, path)| (name.to_owned(), path)).into();
        options.listen.set_port(0);
        options.threads = 2;
        options.drain_delay_ms = 0;
        change(&mut options);
        Fixture {
            full: Index::open(&full).unwrap(),
            bare: Index::open(&bare).unwrap(),
            server: Some(Server::start(&options).unwrap()),
            _folder: folder,
        }
    }

    pub fn server(&self) -> &Server {
        self.server.as_ref().unwrap()
    }

    pub fn client(&self) -> Client {
        Client::new(self.server().address())
    }

    /// The server, to be ended.
    pub fn take(&mut self) -> Server {
        self.server.take().unwrap()
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.stopper().stop();
            server.wait().unwrap();
        }
    }
}

/// The documents of Cranfield with some fields.
pub fn documents() -> Vec<Document> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/cranfield/docs.jsonl.zst");
    let file = std::fs::File::open(path).unwrap();
    let mut text = String::new();
    let mut reader = zstd::Decoder::new(file).unwrap();
    reader.read_to_string(&mut text).unwrap();
    let lines = text.lines().enumerate().map(|(number, line)| {
        let document: Json = serde_json::from_str(line).unwrap();
        let of = |name: &str| document[name].as_str().unwrap().to_owned();
        let kind = ["report", "article", "a thesis"][number % 3];
        let document = Document::new(of("id"), of("contents"))
            .field("year", (1940 + number % 25) as f64)
            .field("kind", kind);
        match number % 4 {
            0 => document,
            tag => document.field("tags", format!("tag{tag}")),
        }
    });
    lines.collect()
}
