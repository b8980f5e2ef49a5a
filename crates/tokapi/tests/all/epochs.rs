//! Laws of epochs: each commit makes the next one, readers keep theirs, and what was never committed does no harm.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tempfile::TempDir;

use crate::files::copy_folder;
use crate::random::Random;
use tokapi::{AddOptions, Corpus, CorpusOptions, Document, Error, Index, IndexBuilder};
use tokapi::{Filter, Hit, IndexWriter, Missing, Query, Repeated, SearchOptions};

fn corpus(documents: impl IntoIterator<Item = (String, String)>) -> Corpus {
    let documents: Vec<Document> = documents
        .into_iter()
        .map(|(id, text)| Document::new(id, text))
        .collect();
    Corpus::from_documents(documents, CorpusOptions::default())
}

/// Documents with the ids `d0`, `d1`, and so on, which all have the term `all`.
fn some(numbers: std::ops::Range<usize>) -> Corpus {
    corpus(numbers.map(|number| (format!("d{number}"), format!("all t{}", number % 7))))
}

/// An index of some documents, and the folder that has its own.
fn index_of(numbers: std::ops::Range<usize>) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    IndexBuilder::new(&path).build(some(numbers)).unwrap();
    (folder, path)
}

fn hits(index: &Index) -> Vec<Hit> {
    let options = SearchOptions::default().k(10_000);
    index.search(&Query::any(["all", "t3"]), &options).unwrap()
}

fn names(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name != "lock").collect();
    names.sort();
    names
}

#[test]
fn a_reader_keeps_its_epoch_and_its_files() {
    let (_folder, path) = index_of(0..50);
    let first = Index::open(&path).unwrap();
    assert_eq!(first.epoch(), 1);
    let before = hits(&first);
    let mut writer = IndexWriter::open(&path, 2).unwrap();
    for (epoch, number) in (2..6).zip(50..) {
        writer
            .add(some(number..number + 1), &AddOptions::default())
            .unwrap();
        assert_eq!(writer.epoch(), epoch);
    }
    writer.delete(["d3", "d50"], Missing::Stop).unwrap();
    writer.merge().unwrap();
    let last = writer.epoch();
    // The first epoch can be opened again, and answers as before.
    let again = Index::open_at(&path, 1).unwrap();
    assert_eq!(hits(&again), before);
    again.check().unwrap();
    assert_eq!(hits(&first), before);
    let now = Index::open(&path).unwrap();
    assert_eq!((now.epoch(), now.statistics().documents), (last, 52));
    // Nobody had the epochs between open.
    let error = Index::open_at(&path, 3).err().unwrap();
    assert!(matches!(error, Error::Usage(_)), "{error}");
    assert!(
        error
            .to_string()
            .contains(&format!("the index is at epoch {last}")),
        "{error}"
    );
    drop((first, again, now));
    writer.delete(["d4"], Missing::Stop).unwrap();
    drop(writer);
    let now = Index::open(&path).unwrap();
    assert!(Index::open_at(&path, 1).is_err());
    let left = names(&path);
    assert_eq!(left.len(), 2, "{left:?}");
    assert_eq!(left[0], format!("epoch-{}.json", now.epoch()));
    now.check().unwrap();
}

/// A manifest that is not whole was never committed: the epoch before it is the state of the index.
#[test]
fn torn_manifests_are_passed_over() {
    let (folder, path) = index_of(0..20);
    let whole = fs::read(path.join("epoch-1.json")).unwrap();
    let text = String::from_utf8(whole.clone()).unwrap();
    let mut random = Random(5);
    for round in 0..100 {
        let index = Index::open(&path).unwrap();
        let (epoch, before) = (index.epoch(), hits(&index));
        drop(index);
        let next = path.join(format!("epoch-{}.json", epoch + 1));
        let cut = match round {
            0 => 0,
            1 => text.len() - 1,
            _ => random.below(text.len()),
        };
        fs::write(&next, &text.as_bytes()[..cut]).unwrap();
        let index = Index::open(&path).unwrap();
        assert_eq!((index.epoch(), hits(&index)), (epoch, before), "{cut}");
        drop(index);
        // The next writer removes it, and commits under that name.
        let mut writer = IndexWriter::open(&path, 1).unwrap();
        assert!(!next.exists());
        if round % 10 == 0 {
            let number = 100 + round;
            writer
                .add(some(number..number + 1), &AddOptions::default())
                .unwrap();
            assert!(next.exists());
        }
    }
    let index = Index::open(&path).unwrap();
    // Merges have epochs too.
    assert!(index.epoch() >= 11 && index.statistics().documents == 30);
    let newest = format!("epoch-{}.json", index.epoch());
    // A manifest that is whole was committed: one that has changed since is no earlier state.
    let mut damaged = whole.clone();
    damaged[40] ^= 1;
    let next = format!("epoch-{}.json", index.epoch() + 1);
    fs::write(path.join(&next), &damaged).unwrap();
    let error = Index::open(&path).err().unwrap().to_string();
    assert!(
        error.contains(&next) && error.contains("checksum"),
        "{error}"
    );
    fs::remove_file(path.join(&next)).unwrap();
    drop(index);
    // Without a whole manifest there is no index.
    let copy = folder.path().join("copy");
    copy_folder(&path, &copy);
    fs::write(copy.join(&newest), &whole[..40]).unwrap();
    let error = Index::open(&copy).err().unwrap().to_string();
    assert!(
        error.contains(&newest) && error.contains("checksum"),
        "{error}"
    );
}

#[test]
fn a_second_writer_is_told() {
    let (_folder, path) = index_of(0..20);
    let mut writer = IndexWriter::open(&path, 1).unwrap();
    assert!(matches!(
        IndexWriter::open(&path, 1),
        Err(Error::Busy { .. })
    ));
    // Where a file system has no locks, the name of the epoch decides.
    fs::copy(path.join("epoch-1.json"), path.join("epoch-2.json")).unwrap();
    let error = writer
        .add(some(20..21), &AddOptions::default())
        .err()
        .unwrap();
    assert!(matches!(error, Error::Busy { .. }), "{error}");
    assert!(
        error.to_string().contains("epoch 2 is there already"),
        "{error}"
    );
    // The manifest there is that of another epoch, and then one that is not whole.
    assert!(writer.open_again().is_err());
    fs::write(path.join("epoch-2.json"), "{\"format\"").unwrap();
    writer.open_again().unwrap();
    writer.add(some(20..21), &AddOptions::default()).unwrap();
    assert_eq!(writer.epoch(), 2);
    // Another writer goes on from there.
    let copy = path.with_file_name("copy");
    copy_folder(&path, &copy);
    let mut other = IndexWriter::open(&copy, 1).unwrap();
    // It takes a name for itself that this writer takes too.
    let options = AddOptions::default();
    drop(other.prepare(some(0..1), &options).unwrap());
    other.add(some(21..22), &AddOptions::default()).unwrap();
    fs::copy(copy.join("epoch-3.json"), path.join("epoch-3.json")).unwrap();
    for name in names(&copy).iter().filter(|name| !path.join(name).exists()) {
        copy_folder(&copy.join(name), &path.join(name));
    }
    let added = writer.add(some(22..23), &AddOptions::default());
    assert!(matches!(added, Err(Error::Busy { .. })));
    writer.open_again().unwrap();
    writer.add(some(22..23), &AddOptions::default()).unwrap();
    let index = Index::open(&path).unwrap();
    assert_eq!((index.epoch(), index.statistics().documents), (4, 23));
    index.check().unwrap();
}

#[test]
fn a_transaction_happens_as_a_whole_or_not_at_all() {
    let (_folder, path) = index_of(0..10);
    let mut writer = IndexWriter::open(&path, 2).unwrap();
    let options = AddOptions::default();
    let before = names(&path);
    let prepared = writer.prepare(some(5..15), &options).unwrap();
    let mut transaction = writer.begin().unwrap();
    assert_eq!(transaction.add(prepared, Repeated::Replace).unwrap(), 5);
    drop(transaction);
    assert_eq!((names(&path), writer.epoch()), (before, 1));

    let first = writer.prepare(some(5..15), &options).unwrap();
    let second = writer.prepare(some(8..9), &options).unwrap();
    let third = writer.prepare(some(30..31), &options).unwrap();
    let mut transaction = writer.begin().unwrap();
    assert!(transaction.contains("d5").unwrap() && !transaction.contains("d12").unwrap());
    transaction.add(first, Repeated::Replace).unwrap();
    assert!(transaction.contains("d12").unwrap());
    let deletion = transaction
        .delete(["d12", "d0", "d99"], Missing::Ignore)
        .unwrap();
    assert_eq!(
        (deletion.documents, &deletion.unknown[..]),
        (2, &["d99".to_owned()][..])
    );
    assert!(!transaction.contains("d12").unwrap() && !transaction.contains("d0").unwrap());
    assert!(transaction.delete(["d12"], Missing::Stop).is_err());
    assert_eq!(transaction.add(second, Repeated::Skip).unwrap(), 1);
    transaction.add(third, Repeated::Stop).unwrap();
    transaction.delete(["d30"], Missing::Stop).unwrap();
    assert_eq!(transaction.commit().unwrap(), 2);
    assert_eq!(
        writer.begin().unwrap().commit().unwrap(),
        2,
        "nothing has changed"
    );
    drop(writer);
    let index = Index::open(&path).unwrap();
    index.check().unwrap();
    let ids = hits(&index)
        .into_iter()
        .map(|hit| index.id(hit.document).unwrap().into_owned());
    let mut ids: Vec<String> = ids.collect();
    ids.sort();
    let expected = [1, 10, 11, 13, 14, 2, 3, 4, 5, 6, 7, 8, 9].map(|number| format!("d{number}"));
    assert_eq!(ids, expected);
}

/// An index keeps more fields when new documents have them; the earlier ones have no values there.
#[test]
fn fields_may_be_added_and_sources_are_kept_for_display_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let document = |id: &str, fields: &[(&str, &str)]| {
        let fields = fields.iter().copied();
        let new = Document::new(id, "all");
        let corpus = fields.fold(new, |document, (name, value)| document.field(name, value));
        Corpus::from_documents([corpus], CorpusOptions::default())
    };
    let long = "x".repeat(3000);
    let first = document("a", &[("_source", "{\"a\":1}"), ("lang", "en")]);
    let build = IndexBuilder::new(&path)
        .store(true)
        .field("_source")
        .field("lang");
    build.build(first).unwrap();
    let mut writer = IndexWriter::open(&path, 1).unwrap();
    let options = AddOptions::default().fields(["year"]);
    let before = writer
        .prepare(document("b", &[("lang", "de")]), &AddOptions::default())
        .unwrap();
    let fields = [("_source", &*long), ("lang", "de"), ("year", "1959")];
    writer.add(document("c", &fields), &options).unwrap();
    // Prepared before the field was kept.
    let mut transaction = writer.begin().unwrap();
    transaction.add(before, Repeated::Stop).unwrap();
    transaction.attach("of a server");
    transaction.commit().unwrap();
    for _ in 0..2 {
        let index = Index::open(&path).unwrap();
        index.check().unwrap();
        assert_eq!(index.attachment(), Some("of a server"));
        assert_eq!(index.keep().fields, ["_source", "lang", "year"]);
        let found = |field: &str, value: &str| {
            let query = Query::any(["all"]).filters([Filter::new(field, value)]);
            let documents = index.documents(&query).unwrap().into_iter();
            let ids = documents.map(|document| index.id(document).unwrap().into_owned());
            ids.collect::<Vec<String>>().concat()
        };
        assert_eq!(
            (found("year", "1959"), found("lang", "en")),
            ("c".into(), "a".into())
        );
        assert_eq!(found("lang", "de").len(), 2);
        let query = Query::any(["all"]).filters([Filter::new("_source", "x")]);
        assert!(index.count(&query).is_err());
        for (id, source, years) in [("a", "{\"a\":1}", 0), ("b", "", 0), ("c", &*long, 1)] {
            let number = index.find(id).unwrap().unwrap();
            let stored = index.document(number).unwrap();
            assert_eq!(stored.text.as_deref(), Some("all"));
            let values = |place: usize| stored.fields[place].1.iter().map(|value| &*value.text);
            assert_eq!(values(0).collect::<String>(), source);
            assert_eq!((values(1).count(), values(2).count()), (1, years), "{id}");
        }
        writer.merge().unwrap();
    }
    let other = document("d", &[]);
    let error = writer
        .add(other, &AddOptions::default().fields(["lang"]))
        .map(|added| added.documents);
    assert_eq!(
        error.unwrap(),
        1,
        "a field that is kept already is no new one"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Sequence numbers and ids lead to the same documents as a plain list of all additions, whatever is merged.
    #[test]
    fn documents_keep_their_sequence_numbers_and_are_found_by_id(
        changes in prop::collection::vec((0..4u8, any::<u64>()), 1..14)
    ) {
        let (_folder, path) = index_of(0..0);
        let mut writer = IndexWriter::open(&path, 2).unwrap();
        // Sequence numbers by id.
        let mut live: BTreeMap<String, u64> = BTreeMap::new();
        let mut next = 0;
        for (kind, seed) in changes {
            let mut random = Random(seed | 1);
            match kind {
                0 | 1 => {
                    let first = random.below(300);
                    let count = [1, 5, 90][random.below(3)];
                    writer
                        .add(some(first..first + count), &AddOptions::default().repeated(Repeated::Replace))
                        .unwrap();
                    for number in first..first + count {
                        live.insert(format!("d{number}"), next);
                        next += 1;
                    }
                }
                2 => {
                    let gone: Vec<String> = live.keys().filter(|_| random.below(3) == 0).cloned().collect();
                    writer.delete(&gone, Missing::Stop).unwrap();
                    live.retain(|id, _| !gone.contains(id));
                }
                _ => writer.merge().unwrap(),
            }
            let index = Index::open(&path).unwrap();
            index.check().unwrap();
            for number in 0..400 {
                let id = format!("d{number}");
                let found = index.find(&id).unwrap();
                let sequence = found.map(|document| index.sequence(document).unwrap());
                prop_assert_eq!(sequence, live.get(&id).copied(), "{}", id);
                if let Some(document) = found {
                    prop_assert_eq!(index.id(document).unwrap(), id);
                }
            }
            let all = hits(&index);
            prop_assert_eq!(all.len(), live.len());
            // Pages go on behind a rank, whatever has been merged since.
            if all.len() > 3 {
                let (page, rest) = all.split_at(random.below(all.len()).max(1));
                let options = SearchOptions::default().k(10_000).after(Some(page[page.len() - 1].rank()));
                let query = Query::any(["all", "t3"]);
                prop_assert_eq!(index.search(&query, &options).unwrap(), rest);
            }
        }
    }
}
