//! Files of an index with right checksums and wrong data, as a mistake or an attacker would leave them:
//! answers may be wrong, but nothing panics, hangs or asks for memory beyond all measure.

use std::path::Path;

use crate::files::copy_folder;
use crate::random::{Random, Shape, kept, text};
use tokapi::Index;
use tokapi::{Filter, Query, SearchOptions};
use tokapi::{IndexWriter, Missing, Reorder, Reordering};
use tokapi_index::query::Algorithm;
use tokapi_index::{IndexOptions, forge};

/// An index with every kind of file.
fn build(folder: &Path) {
    let shape = Shape {
        documents: 3000,
        terms: 300,
        length: 20,
        seed: 3,
    };
    let mut lines = String::new();
    for (number, line) in text(&shape).lines().enumerate() {
        let (id, text) = line.split_once('\t').unwrap();
        lines += &format!(
            "{{\"id\":\"{id}\",\"contents\":\"{text}\",\"half\":{}}}\n",
            number % 2
        );
    }
    let path = folder.join("index");
    kept(&lines, &["half"], |collection, contents| {
        let options = IndexOptions {
            contents: Some(contents),
            ..Default::default()
        };
        Index::build_with(collection, &path, options).unwrap();
    });
    let mut writer = IndexWriter::open(&path, 1).unwrap();
    let gone: Vec<String> = (0..300).map(|number| format!("d{}", 7 * number)).collect();
    writer
        .delete(gone.iter().map(String::as_str), Missing::Ignore)
        .unwrap();
}

/// Everything that reads an index.
fn read(path: &Path) -> tokapi::Result<()> {
    let index = Index::open(path)?;
    // What is wrong is found by one, and the others read on.
    let _ = index.check();
    for id in ["d5", "d7", "d2999", "none"] {
        let _ = index.find(id);
    }
    let mut filtered = Query::any(["t0", "t20"]);
    filtered.filters.push(Filter::new("half", "1"));
    for query in [
        Query::any(["t0", "t5", "t150", "dense"]),
        Query::all(["t1", "dense", "t2"]),
        Query::any(["t299"]),
        Query::phrase(["t0", "t1"]),
        filtered,
    ] {
        let _ = index.count(&query);
        for algorithm in [Algorithm::Auto, Algorithm::Exhaustive] {
            let options = SearchOptions::default().k(20).algorithm(algorithm);
            for hit in index.search(&query, &options).into_iter().flatten() {
                let _ = (index.id(hit.document), index.document(hit.document));
                let _ = index.explain(&query, &options, hit.document);
            }
        }
    }
    Ok(())
}

#[test]
fn wrong_data_with_right_checksums_does_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    build(folder.path());
    let path = folder.path().join("index");
    let files = forge(&path, 0, |_| ()).unwrap();
    assert_eq!(files, 14);
    let mut random = Random(5);
    for trial in 0..500 {
        let number = random.below(files);
        let mut before = Vec::new();
        forge(&path, number, |data| {
            before.clone_from(data);
            for _ in 0..1 + random.below(3) {
                let at = match random.below(3) {
                    // What stands at the end of a file says where things are.
                    0 => data.len() - 1 - random.below(data.len().min(64)),
                    _ => random.below(data.len()),
                };
                data[at] = match random.below(3) {
                    0 => 0xff,
                    1 => data[at] ^ 1 << random.below(8),
                    _ => random.below(256) as u8,
                };
            }
        })
        .unwrap();
        let _ = read(&path);
        if trial % 20 == 0 {
            let _ = Index::open(&path).and_then(|index| {
                index.export_ciff(&folder.path().join("a.ciff"), &Default::default())
            });
            let _ = IndexWriter::open(&path, 1).and_then(|mut writer| {
                writer.delete(["d1"], Missing::Ignore)?;
                writer.merge()
            });
            std::fs::remove_dir_all(&path).unwrap();
            build(folder.path());
            continue;
        }
        // What cannot be opened cannot be forged back.
        if forge(&path, number, |data| *data = before).is_err() {
            std::fs::remove_dir_all(&path).unwrap();
            build(folder.path());
        }
    }
}

#[test]
fn wrong_data_is_reordered_without_harm() {
    let folder = tempfile::tempdir().unwrap();
    build(folder.path());
    let path = folder.path().join("index");
    IndexWriter::open(&path, 1).unwrap().merge().unwrap();
    let copy = folder.path().join("copy");
    let mut random = Random(7);
    for trial in 0..300 {
        copy_folder(&path, &copy);
        let files = forge(&copy, 0, |_| ()).unwrap();
        assert_eq!(files, 14);
        forge(&copy, trial % files, |data| {
            let at = random.below(data.len());
            data[at] ^= 1 << random.below(8);
        })
        .unwrap();
        let how = Reordering::new([Reorder::Graph, Reorder::Id][trial / files % 2]).threads(2);
        let _ = IndexWriter::open(&copy, 2).and_then(|mut writer| writer.reorder(&how));
        std::fs::remove_dir_all(&copy).unwrap();
    }
}
