//! Files of an index with right checksums and whatever data.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use tempfile::TempDir;
use tokapi::Analyzer;
use tokapi::Storage;
use tokapi::{BuildOptions, Collection, Corpus, CorpusOptions, Index};
use tokapi::{Filter, Query, SearchOptions};
use tokapi::{IndexWriter, Keep, Missing};
use tokapi_index::{Contents, IndexOptions, forge};

/// An index with every kind of file.
fn template() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let mut lines = String::new();
    for number in 0..700 {
        let (a, b) = (number % 7, number % 50);
        let line =
            format!("{{\"id\":\"d{number}\",\"contents\":\"all a{a} b{b} all\",\"half\":{a}}}\n");
        lines.push_str(&line);
    }
    let docs = folder.path().join("docs.jsonl");
    std::fs::write(&docs, lines).expect("room");
    let keep = Keep::default().text(true).fields(["half"]).positions(true);
    let corpus = CorpusOptions::default().fields(keep.fields.clone());
    let corpus = Corpus::open(&[docs], corpus).expect("just written");
    let options = BuildOptions::default();
    let storage = Storage::default();
    let contents = Contents::new(corpus.again(), keep, &options, &storage);
    let analyzer = Analyzer::default();
    let collection =
        Collection::build(corpus, &options.clone().analyzer(&analyzer)).expect("just written");
    let path = folder.path().join("index");
    Index::build_with(
        collection,
        &path,
        IndexOptions {
            contents: Some(contents),
            ..Default::default()
        },
    )
    .expect("room");
    let mut writer = IndexWriter::open(&path, 1).expect("just written");
    writer
        .delete(["d7", "d300"], Missing::Ignore)
        .expect("room");
    folder
}

fn read(path: &Path) -> tokapi::Result<()> {
    let index = Index::open(path)?;
    let _ = index.check();
    let filter = Filter::new("half", "1");
    let mut filtered = Query::any(["a1", "b20"]);
    filtered.filters.push(filter.clone());
    let mut filter_alone = Query::default();
    filter_alone.filters.push(filter);
    let options = SearchOptions::default();
    for query in [
        Query::any(["all", "a1", "b3"]),
        Query::all(["all", "a1"]),
        Query::phrase(["a1", "b1"]),
        filtered,
        filter_alone,
    ] {
        let _ = index.count(&query);
        for hit in index.search(&query, &options).into_iter().flatten() {
            let _ = (index.id(hit.document), index.document(hit.document));
        }
    }
    Ok(())
}

/// The files below a folder, and what is in them.
fn files(folder: &Path, into: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).expect("it is there") {
        let path = entry.expect("it is there").path();
        match path.is_dir() {
            true => files(&path, into),
            false => into.push((path.clone(), std::fs::read(&path).expect("it is there"))),
        }
    }
}

/// Changes a file of an index as `bytes` say: its number, and then places from its end with a new byte each.
/// Where the number is 255, the rest is the manifest.
pub fn index(bytes: &[u8]) {
    static TEMPLATE: OnceLock<(TempDir, Vec<(PathBuf, Vec<u8>)>)> = OnceLock::new();
    let (folder, whole) = TEMPLATE.get_or_init(|| {
        let (folder, mut whole) = (template(), Vec::new());
        files(&folder.path().join("index"), &mut whole);
        (folder, whole)
    });
    let path = folder.path().join("index");
    let Some((&number, changes)) = bytes.split_first() else {
        return;
    };
    if number == 255 {
        let mut text = changes.to_vec();
        text.retain(|&byte| byte != b'\n');
        text.push(b'\n');
        let sum = format!("crc32 {:08x}\n", crc32fast::hash(&text));
        text.extend(sum.as_bytes());
        // One epoch for the index, and one for the deletion.
        std::fs::write(path.join("epoch-2.json"), text).expect("room");
    } else {
        let forged = forge(&path, number.into(), |data| {
            for change in changes.chunks_exact(4) {
                let place = u32::from_le_bytes([change[0], change[1], change[2], 0]) as usize;
                let length = data.len();
                if let Some(byte) = length
                    .checked_sub(1 + place)
                    .and_then(|at| data.get_mut(at))
                {
                    *byte = change[3];
                }
            }
        });
        forged.expect("the template is whole");
    }
    let _ = read(&path);
    for (path, bytes) in whole {
        std::fs::write(path, bytes).expect("room");
    }
}
