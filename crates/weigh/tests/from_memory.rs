//! Documents from memory are the same collection as the same documents in a file.

use std::fs;
use std::path::Path;

use tokapi_storage::error::{Error, Result};
use tokapi_storage::memory::Memory;
use tokapi_text::corpus::{Corpus, CorpusOptions, Document, OnError, Value};
use tokapi_weigh::collection::{BuildOptions, Collection, Storage, Stored};
use tokapi_weigh::formula::Bm25;
use tokapi_weigh::output::{Output, Target};

const FIELDS: [&str; 3] = ["lang", "year", "open"];

fn documents() -> impl Iterator<Item = Document> + Send + Clone {
    (0..500_u64).map(|n| {
        let text = format!("term{} word{} the Straße end{n}", n % 7, n % 31);
        let mut document = Document::new(format!("id{n}"), text);
        if n % 3 > 0 {
            document = document.field("year", 1900.5 + n as f64);
        }
        if n % 5 == 0 {
            // No number of 64 bits with a point has this value.
            document = document.field("year", u64::MAX - n);
        }
        document = document.field("lang", "de").field("other", "x");
        if n % 2 == 0 {
            document = document.field("lang", "en").field("open", n % 4 == 0);
        }
        document
    })
}

/// The same as JSON, a line each.
fn jsonl() -> String {
    let line = |document: Document| {
        let values = |name: &str| -> Vec<serde_json::Value> {
            let of_name = document.fields.iter().filter(|(field, _)| field == name);
            of_name
                .map(|(_, value)| match value {
                    Value::Text(text) => text.as_str().into(),
                    Value::Number(number) => (*number).into(),
                    Value::Integer(number) => u64::try_from(*number).unwrap().into(),
                    Value::Boolean(value) => (*value).into(),
                    _ => serde_json::Value::Null,
                })
                .collect()
        };
        let [lang, year, open] = FIELDS.map(values);
        let object = serde_json::json!({
            "id": document.id, "text": document.text, "lang": lang, "year": year, "open": open,
        });
        format!("{object}\n")
    };
    documents().map(line).collect()
}

fn options(chunk_bytes: usize) -> CorpusOptions {
    CorpusOptions::default()
        .chunk_bytes(chunk_bytes)
        .fields(FIELDS)
}

/// The same documents from a file, an iterator, a channel and a spooled iterator.
fn corpora(chunk_bytes: usize, folder: &Path) -> Vec<Corpus> {
    let (sender, channel) = Corpus::channel(options(chunk_bytes));
    std::thread::spawn(move || documents().try_for_each(|document| sender.send(document)));
    let mut spooled = Corpus::from_documents(documents(), options(chunk_bytes));
    let files = spooled.spool(&folder.join("x")).unwrap();
    let again = spooled.again();
    // The files are removed with the folder.
    std::mem::forget(files);
    vec![
        Corpus::from_bytes("docs.jsonl", jsonl(), options(chunk_bytes)),
        Corpus::from_documents(documents(), options(chunk_bytes)),
        channel,
        spooled,
        again,
    ]
}

#[test]
fn texts_ids_and_fields_are_those_of_a_file() {
    for chunk_bytes in [1, 1000, 7777, 1 << 20] {
        let folder = tempfile::tempdir().unwrap();
        let mut all = Vec::new();
        for mut corpus in corpora(chunk_bytes, folder.path()) {
            let mut documents = Vec::new();
            while let Some((chunk, _)) = corpus.next_chunk().unwrap() {
                for document in 0..chunk.len() {
                    let values = chunk
                        .values(document)
                        .map(|value| (value.field, value.kind, value.text.to_vec()));
                    let values: Vec<_> = values.collect();
                    let text = chunk.text(document).to_vec();
                    documents.push((chunk.id(document).to_vec(), text, values));
                }
            }
            all.push(documents);
        }
        assert_eq!(all[0].len(), 500);
        for documents in &all {
            assert!(*documents == all[0], "{chunk_bytes}");
        }
    }
}

fn storage(folder: &Path) -> Storage {
    Storage::new(Memory::new(1 << 30).unwrap().holding(0)).output(folder.join("w.tsv"))
}

#[test]
fn collections_are_those_of_a_file_in_memory_and_on_scratch() {
    for chunk_bytes in [500, 7777, 1 << 20] {
        let folder = tempfile::tempdir().unwrap();
        let mut in_memory = Vec::new();
        for corpus in corpora(chunk_bytes, folder.path()) {
            let collection = Collection::build(corpus, &BuildOptions::default()).unwrap();
            in_memory.push(collection.weigh(&Bm25::default()).unwrap());
        }
        assert_eq!(in_memory[0].documents.len(), 500);
        assert!(in_memory.iter().all(|weights| *weights == in_memory[0]));
        let mut on_scratch = Vec::new();
        for corpus in corpora(chunk_bytes, folder.path()) {
            let folder = tempfile::tempdir().unwrap();
            let options = BuildOptions::default().threads(2);
            let stored = Stored::build(corpus, &options, &storage(folder.path())).unwrap();
            let path = folder.path().join("w.tsv");
            let output = Output::new(path.clone(), Target::Tsv);
            output.write(stored, &Bm25::default()).unwrap();
            on_scratch.push(fs::read(path).unwrap());
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        }
        assert!(on_scratch.iter().all(|bytes| *bytes == on_scratch[0]));
    }
}

fn build(corpus: Corpus) -> Result<Collection> {
    Collection::build(corpus, &BuildOptions::default())
}

#[test]
fn errors_name_the_document() {
    let text = |result: Result<Collection>| result.err().unwrap().to_string();
    let of_ids = |ids: &[&'static str]| {
        let documents: Vec<_> = ids.iter().map(|id| Document::new(*id, "one two")).collect();
        Corpus::from_documents(documents, options(1000))
    };
    let repeated = text(build(of_ids(&["a", "b", "c", "b"])));
    let expected = "documents: document 4 of the input has the id `b` of document 2";
    assert!(repeated.starts_with(expected), "{repeated}");
    let empty = text(build(of_ids(&["a", "b", ""])));
    assert!(empty.starts_with("documents, document 3: "), "{empty}");
    // Left out and counted where that is asked for.
    let skip = options(1000).on_error(OnError::Skip);
    let documents = ["a", "", "a", "b"].map(|id| Document::new(id, "one"));
    let collection = build(Corpus::from_documents(documents, skip)).unwrap();
    assert_eq!(collection.documents().len(), 2);
    assert_eq!(collection.skipped().count, 2);
}

#[test]
fn a_second_reading_needs_a_spool_file() {
    let corpus = Corpus::from_documents(documents(), options(1000));
    let error = corpus.again().next_chunk().err().unwrap();
    assert!(matches!(&error, Error::Usage(what) if what.contains("only once")));
    let folder = tempfile::tempdir().unwrap();
    let mut storage = storage(folder.path());
    storage.scratch.resume = true;
    let error = Stored::build(corpus, &BuildOptions::default(), &storage);
    let error = error.err().unwrap().to_string();
    assert!(error.contains("cannot be resumed"), "{error}");
}

#[test]
fn what_scratch_holds_of_documents_from_memory_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = Corpus::from_documents(documents(), options(1000));
    let stored = Stored::build(corpus, &BuildOptions::default(), &storage(folder.path()));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    drop(stored);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
