//! Folders: test data, the files of an index, and indexes put together by hand.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tokapi::{Analyzer, BuildOptions, Collection, Corpus, CorpusOptions};

/// A file or folder of the test data.
pub fn data(name: &str) -> PathBuf {
    // Cargo also sets it when tests run: they may run elsewhere than they were built.
    let crate_folder = std::env::var("CARGO_MANIFEST_DIR");
    let crate_folder = crate_folder.unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&crate_folder).join("../../data").join(name)
}

/// The documents of a real collection, `cranfield` or `scifact`.
pub fn real(name: &str, analyzer: &Analyzer) -> Collection {
    let docs = data(name).join("docs.jsonl.zst");
    let corpus = Corpus::open(&[docs], CorpusOptions::default()).unwrap();
    Collection::build(corpus, &BuildOptions::default().analyzer(analyzer)).unwrap()
}

/// The text of a compressed file.
pub fn unpacked(path: &Path) -> String {
    let file = fs::File::open(path).unwrap();
    std::io::read_to_string(zstd::Decoder::new(file).unwrap()).unwrap()
}

fn entries(folder: &Path) -> impl Iterator<Item = fs::DirEntry> {
    fs::read_dir(folder).unwrap().map(Result::unwrap)
}

/// Every file below `folder`, with its bytes. The lock of an index has none.
pub fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in entries(folder) {
        let path = entry.path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false if entry.file_name() == "lock" => {}
            false => drop(found.insert(path.clone(), fs::read(path).unwrap())),
        }
    }
    found
}

/// The name and the bytes of every file of the only part of an index, but for the sequence numbers, which depend on its
/// history.
pub fn part_files(index: &Path) -> BTreeMap<String, Vec<u8>> {
    let parts: Vec<_> = entries(index)
        .filter(|entry| entry.path().is_dir())
        .collect();
    assert_eq!(parts.len(), 1, "{parts:?}");
    entries(&parts[0].path())
        .filter(|file| file.file_name() != "sequences")
        .map(|file| {
            let name = file.file_name().into_string().unwrap();
            (name, fs::read(file.path()).unwrap())
        })
        .collect()
}

/// Copies a folder.
pub fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in entries(from) {
        let to = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy_folder(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}

/// Puts the parts of two indexes into the first of them.
pub fn join(first: &Path, second: &Path) {
    let read = |folder: &Path| -> serde_json::Value {
        let text = fs::read_to_string(folder.join("epoch-1.json")).unwrap();
        serde_json::from_str(text.lines().next().unwrap()).unwrap()
    };
    let (mut manifest, mut other) = (read(first), read(second));
    fs::rename(second.join("part-1"), first.join("part-2")).unwrap();
    other["parts"][0]["name"] = "part-2".into();
    other["parts"][0]["first_sequence"] = manifest["added"].clone();
    let added = |manifest: &serde_json::Value| manifest["added"].as_u64().unwrap();
    manifest["added"] = (added(&manifest) + added(&other)).into();
    let part = other["parts"][0].take();
    manifest["parts"].as_array_mut().unwrap().push(part);
    let line = format!("{manifest}\n");
    let text = format!("{line}crc32 {:08x}\n", crc32fast::hash(line.as_bytes()));
    fs::write(first.join("epoch-1.json"), text).unwrap();
}
