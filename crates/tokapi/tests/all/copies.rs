//! A copy of an index is the index in one state, whatever happens to the other folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use tokapi::{AddOptions, Corpus, CorpusOptions, Document, Error, Hit, Index, IndexBuilder};
use tokapi::{IndexWriter, Missing, Query, SearchOptions};

use crate::files::{copy_folder, files};
use crate::formats::folder_of_version;
use crate::random::Random;

fn some(numbers: std::ops::Range<usize>) -> Corpus {
    let document = |number: usize| {
        let text = format!("all of t{} or t{}", number % 7, number % 31);
        Document::new(format!("d{number}"), text).field("year", number as f64)
    };
    let documents: Vec<Document> = numbers.map(document).collect();
    Corpus::from_documents(documents, CorpusOptions::default())
}

fn build(path: &Path) {
    let builder = IndexBuilder::new(path).store(true).positions(true);
    builder.field("year").build(some(0..300)).unwrap();
}

fn hits(index: &Index) -> Vec<Hit> {
    let options = SearchOptions::default().k(10_000);
    index.search(&Query::any(["all", "t3"]), &options).unwrap()
}

/// Everything but the lock, of which the copy has none.
fn assert_is_copy(copy: &Path, of: &Index) {
    let index = Index::open(copy).unwrap();
    index.check().unwrap();
    assert_eq!(index.epoch(), of.epoch());
    assert_eq!(hits(&index), hits(of));
    assert_eq!(index.info().files, of.info().files);
    assert_eq!(index.info().left_over.count, 0);
    let epochs = fs::read_dir(copy).unwrap().flatten();
    let epochs = epochs.filter(|entry| !entry.path().is_dir());
    assert_eq!(epochs.count(), 1);
}

#[test]
fn copies_of_a_changing_index_are_whole_and_stay_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    build(&path);
    let mut writer = IndexWriter::open(&path, 2).unwrap();
    let copies = std::thread::scope(|scope| {
        let changes = scope.spawn(|| {
            let mut random = Random(3);
            for number in 300..340 {
                match random.below(5) {
                    0 => {
                        let gone = [format!("d{}", random.below(200))];
                        writer.delete(gone, Missing::Ignore).unwrap();
                    }
                    1 => writer.merge().unwrap(),
                    _ => {
                        let one = some(number..number + 1);
                        writer.add(one, &AddOptions::default()).unwrap();
                    }
                }
            }
        });
        let mut copies = Vec::new();
        while copies.len() < 3 || !changes.is_finished() {
            let index = Index::open(&path).unwrap();
            let copy = folder.path().join(format!("copy-{}", copies.len()));
            index.copy_to(&copy).unwrap();
            copies.push((copy, index));
        }
        copies
    });
    for (copy, index) in &copies {
        assert_is_copy(copy, index);
    }
    drop(writer);
    // A copy needs nothing of the index, and is changed without the other copies.
    fs::remove_dir_all(&path).unwrap();
    let (last, index) = &copies[copies.len() - 1];
    let again = folder.path().join("again");
    Index::open(last).unwrap().copy_to(&again).unwrap();
    let mut writer = IndexWriter::open(&again, 1).unwrap();
    writer.add(some(500..520), &AddOptions::default()).unwrap();
    writer.merge().unwrap();
    drop(writer);
    Index::open(&again).unwrap().check().unwrap();
    assert_is_copy(last, index);
}

#[test]
fn an_index_of_a_former_version_is_copied_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("index"), folder.path().join("copy"));
    copy_folder(&folder_of_version(1).join("index"), &path);
    let index = Index::open(&path).unwrap();
    index.copy_to(&copy).unwrap();
    assert_is_copy(&copy, &index);
    let parts = |path: &Path| {
        let files = files(path).into_iter();
        let files = files.map(|(file, bytes)| (file.strip_prefix(path).unwrap().to_owned(), bytes));
        let in_parts = files.filter(|(file, _)| file.components().count() > 1);
        in_parts.collect::<BTreeMap<_, _>>()
    };
    assert_eq!(parts(&copy), parts(&path));
}

#[test]
fn a_copy_takes_no_place_of_another() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("index"), folder.path().join("copy"));
    build(&path);
    let index = Index::open(&path).unwrap();
    index.copy_to(&copy).unwrap();
    let error = index.copy_to(&copy).unwrap_err();
    assert!(matches!(error, Error::Usage(_)), "{error}");
    assert!(index.copy_to(folder.path().join("none/copy")).is_err());
    // Nothing is left of a copy that cannot be made.
    fs::remove_file(path.join("part-1/terms")).unwrap();
    assert!(index.copy_to(folder.path().join("other")).is_err());
    let names = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(names, 2);
    assert_is_copy(&copy, &Index::open(&copy).unwrap());
}
