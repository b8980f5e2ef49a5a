//! Laws of the Common Index File Format: what is written is what another implementation of Protocol
//! Buffers reads, it comes back as the same index, and no damage is a panic.

use std::fs;
use std::path::Path;

use crate::ciff_messages::{Ciff, DocRecord, Header, list};
use crate::files::{join, real};
use crate::random::corpus;
use tokapi::ImportOptions;
use tokapi::{Analyzer, Cut};
use tokapi::{
    Bm25, BuildOptions, Collection, Corpus, CorpusOptions, Index, Memory, Progress, Result,
};
use tokapi::{Query, SearchOptions};

/// A file whose terms do not ascend, with lengths that are not those of the postings, an empty
/// document, a document without an id, a field that nobody knows and a term that no document has.
fn odd() -> Ciff {
    let documents = [("a", 9), ("ü", 20), ("", 3), ("d", 0)];
    let mut lists = vec![
        list("zebra", &[(0, 2), (1, 1)]),
        list("été", &[(1, 300)]),
        list("nothing", &[]),
        list("apple", &[(0, 1), (1, 1), (1, 7)]),
    ];
    lists[1].unknown = "what is this?".into();
    // Whoever does not know it leaves it away.
    lists[3].cf = 0;
    Ciff {
        header: Header {
            version: 1,
            num_postings_lists: lists.len() as i32,
            num_docs: documents.len() as i32,
            total_docs: 1000,
            average_doclength: 17.5,
            description: "odd".into(),
            ..Header::default()
        },
        lists,
        documents: (0..)
            .zip(documents)
            .map(|(docid, (id, doclength))| DocRecord {
                docid,
                collection_docid: id.into(),
                doclength,
            })
            .collect(),
    }
}

fn import(folder: &Path, bytes: &[u8]) -> Result<Index> {
    let (file, path) = (folder.join("a.ciff"), folder.join("imported"));
    fs::write(&file, bytes).unwrap();
    import_file(&file, &path)
}

fn import_file(file: &Path, path: &Path) -> Result<Index> {
    let _ = fs::remove_dir_all(path);
    let (analyzer, memory) = (Analyzer::default(), Memory::available());
    let options = ImportOptions::default().threads(2).memory(memory);
    Index::import_ciff(file, &analyzer, path, options)?;
    Index::open(path)
}

/// An index of the collection Cranfield.
fn cranfield(folder: &Path) -> Index {
    let path = folder.join("index");
    let collection = real("cranfield", &Analyzer::from(Cut::Python));
    Index::build(collection, &path).unwrap();
    Index::open(path).unwrap()
}

fn export(index: &Index, folder: &Path) -> Ciff {
    let file = folder.join("exported.ciff");
    let exported = index.export_ciff(&file, &Progress::new()).unwrap();
    let ciff = Ciff::of_bytes(&fs::read(file).unwrap());
    assert_eq!(exported.documents, ciff.documents.len() as u64);
    assert_eq!(exported.terms, ciff.lists.len() as u64);
    let postings: usize = ciff.lists.iter().map(|list| list.postings.len()).sum();
    assert_eq!(exported.postings, postings as u64);
    ciff
}

#[test]
fn what_is_written_is_the_collection() {
    let folder = tempfile::tempdir().unwrap();
    let ciff = export(&cranfield(folder.path()), folder.path());
    let collection = real("cranfield", &Analyzer::from(Cut::Python));
    let weights = collection.weigh(&Bm25::default()).unwrap();
    let mut rows = weights.iter();
    for list in &ciff.lists {
        assert_eq!(list.df, list.postings.len() as i64);
        let (mut document, mut cf) = (0, 0);
        for posting in &list.postings {
            let row = rows.next().unwrap();
            document += posting.docid as usize;
            assert_eq!(row.term, list.term.as_bytes());
            let id = ciff.documents[document].collection_docid.as_bytes();
            assert_eq!(row.document, id);
            assert_eq!(row.tf, posting.tf as u32);
            cf += i64::from(posting.tf);
        }
        assert_eq!(list.cf, cf);
    }
    assert!(rows.next().is_none());
    assert!(ciff.lists.is_sorted_by(|a, b| a.term < b.term));
    let lengths: i64 = ciff.documents.iter().map(|d| i64::from(d.doclength)).sum();
    assert_eq!(ciff.header.version, 1);
    assert_eq!(ciff.header.total_docs, ciff.header.num_docs);
    assert_eq!(
        ciff.header.total_postings_lists,
        ciff.header.num_postings_lists
    );
    assert_eq!(ciff.header.total_terms_in_collection, lengths);
    let average = lengths as f64 / ciff.documents.len() as f64;
    assert_eq!(ciff.header.average_doclength, average);
}

/// The hits of some queries, with the bits of their scores.
fn hits(index: &Index) -> Vec<(String, u32)> {
    let mut hits = Vec::new();
    for query in ["boundary layer flow", "supersonic wing", "the of and heat"] {
        let query = Query::any(Analyzer::from(Cut::Python).terms(query));
        for hit in index.search(&query, &SearchOptions::default()).unwrap() {
            let id = index.id(hit.document).unwrap().into_owned();
            hits.push((id, hit.score.to_bits()));
        }
    }
    hits
}

#[test]
fn an_index_comes_back_compressed_or_not() {
    let folder = tempfile::tempdir().unwrap();
    let index = cranfield(folder.path());
    let expected = hits(&index);
    assert_eq!(expected.len(), 30);
    for name in ["a.ciff", "a.ciff.gz", "a.ciff.zst"] {
        let file = folder.path().join(name);
        index.export_ciff(&file, &Progress::new()).unwrap();
        let imported = import_file(&file, &folder.path().join("imported")).unwrap();
        imported.check().unwrap();
        assert_eq!(imported.statistics(), index.statistics());
        assert_eq!(hits(&imported), expected, "{name}");
        assert_eq!(export(&imported, folder.path()).lists.len(), 7471);
    }
}

/// An index of two parts, made of two indexes.
fn in_two_parts(folder: &Path) -> Index {
    let build = |name: &str, text: &str| {
        let collection = Collection::build(corpus(folder, text), &BuildOptions::default());
        let path = folder.join(name);
        Index::build(collection.unwrap(), &path).unwrap();
        path
    };
    let index = build("index", "a\tred fox\nb\tblue");
    join(&index, &build("other", "c\tred red hen\n"));
    Index::open(index).unwrap()
}

#[test]
fn several_parts_are_written_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let ciff = export(&in_two_parts(folder.path()), folder.path());
    let lists = [
        list("blue", &[(1, 1)]),
        list("fox", &[(0, 1)]),
        list("hen", &[(2, 1)]),
        list("red", &[(0, 1), (2, 2)]),
    ];
    assert_eq!(ciff.lists, lists);
    let documents = ciff.documents.iter();
    let documents: Vec<(i32, &str, i32)> = documents
        .map(|document| {
            (
                document.docid,
                &document.collection_docid[..],
                document.doclength,
            )
        })
        .collect();
    assert_eq!(documents, [(0, "a", 2), (1, "b", 1), (2, "c", 3)]);
}

#[test]
fn an_empty_index_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = Corpus::from_bytes("a.tsv", "", CorpusOptions::default());
    let collection = Collection::build(corpus, &BuildOptions::default()).unwrap();
    let path = folder.path().join("index");
    Index::build(collection, &path).unwrap();
    let ciff = export(&Index::open(&path).unwrap(), folder.path());
    assert_eq!((ciff.lists.len(), ciff.documents.len()), (0, 0));
    let imported = import(folder.path(), &ciff.bytes()).unwrap();
    assert_eq!(imported.check().unwrap().postings, 0);
}

#[test]
fn odd_files_are_read_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let index = import(folder.path(), &odd().bytes()).unwrap();
    assert_eq!(index.check().unwrap().postings, 6);
    assert_eq!(index.statistics().documents, 4);
    // As the documents say, whatever the header says.
    assert_eq!(index.statistics().total_length, 32);
    let ids: Vec<_> = (0..4).map(|number| index.id(number).unwrap()).collect();
    assert_eq!(ids, ["a", "ü", "2", "d"]);
    let hits = index
        .search(&Query::any(["été"]), &SearchOptions::default())
        .unwrap();
    // ln(1 + 3.5 / 1.5) * 300 / (300 + 1.2 (0.25 + 0.75 * 20 / 8))
    assert_eq!(hits.len(), 1);
    assert!((hits[0].score - 1.193816).abs() < 1e-5, "{}", hits[0].score);
    let ciff = export(&index, folder.path());
    let terms: Vec<&str> = ciff.lists.iter().map(|list| &list.term[..]).collect();
    assert_eq!(terms, ["apple", "zebra", "été"]);
    assert_eq!(ciff.lists[0], list("apple", &[(0, 1), (1, 1), (1, 7)]));
}

#[test]
fn contradictions_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let told = |change: &dyn Fn(&mut Ciff), what: &str| {
        let mut ciff = odd();
        change(&mut ciff);
        let error = import(folder.path(), &ciff.bytes()).err().expect(what);
        let error = error.to_string();
        assert!(error.contains("a.ciff"), "{error}");
        assert!(error.contains(what), "{what} is not in: {error}");
        assert!(!folder.path().join("imported").exists());
    };
    told(&|ciff| ciff.header.version = 2, "version 2");
    told(&|ciff| ciff.header.num_docs = -1, "negative");
    told(&|ciff| ciff.header.num_docs = 3, "goes on after its last");
    told(
        &|ciff| ciff.header.num_docs = 5,
        "ends within the documents",
    );
    told(&|ciff| ciff.header.num_postings_lists = 3, "document");
    told(&|ciff| ciff.header.num_postings_lists = 5, "");
    told(
        &|ciff| ciff.lists[0].term = "apple".into(),
        "\"apple\" has a list",
    );
    told(&|ciff| ciff.lists[0].df = 3, "\"zebra\": its df is 3");
    told(&|ciff| ciff.lists[0].df = 1, "more postings than its df, 1");
    told(&|ciff| ciff.lists[0].df = 0, "more postings than its df, 0");
    told(&|ciff| ciff.lists[0].df = -1, "its df is");
    told(
        &|ciff| ciff.lists[0].cf = 4,
        "its cf is 4, and the tfs add up to 3",
    );
    told(&|ciff| ciff.lists[0].postings[0].tf = 0, "a tf of 0");
    told(&|ciff| ciff.lists[0].postings[0].tf = -3, "a tf of -3");
    told(
        &|ciff| ciff.lists[0].postings[1].docid = 0,
        "document 0 comes twice",
    );
    told(
        &|ciff| ciff.lists[0].postings[1].docid = -1,
        "not among the 4",
    );
    told(
        &|ciff| ciff.lists[0].postings[1].docid = 4,
        "not among the 4",
    );
    told(&|ciff| ciff.lists[0].postings[1].docid = 3, "a length of 0");
    told(
        &|ciff| ciff.documents[1].docid = 2,
        "document 2 comes where 1",
    );
    told(
        &|ciff| ciff.documents.swap(0, 1),
        "document 1 comes where 0",
    );
    told(&|ciff| ciff.documents[1].doclength = -7, "a length of -7");
    told(
        &|ciff| ciff.documents[3].collection_docid = "a".into(),
        "documents 0 and 3",
    );
    // A document without an id is called by its number.
    told(
        &|ciff| ciff.documents[3].collection_docid = "2".into(),
        "documents 2 and 3",
    );
}

#[test]
fn a_file_that_is_cut_off_is_an_error_wherever() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = odd().bytes();
    for end in 0..bytes.len() {
        let cut = import(folder.path(), &bytes[..end]);
        assert!(cut.is_err(), "{end} of {} bytes", bytes.len());
    }
    let whole = import(folder.path(), &bytes);
    assert!(whole.is_ok());
    let longer = import(folder.path(), &[&bytes[..], b"\0"].concat());
    assert!(longer.is_err());
}

#[test]
fn a_flipped_bit_is_told_or_gives_an_index_that_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = odd().bytes();
    let mut accepted = 0;
    for place in 0..bytes.len() {
        // The highest makes a number go on; the others take turns.
        for bit in [place % 7, 7] {
            let mut flipped = bytes.clone();
            flipped[place] ^= 1 << bit;
            if let Ok(index) = import(folder.path(), &flipped) {
                index.check().unwrap();
                accepted += 1;
            }
        }
    }
    // Letters of terms, of ids and of the description, lengths and tfs.
    assert!(accepted > 20, "{accepted}");
}

#[test]
fn other_files_and_folders_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let missing = import_file(&folder.path().join("no.ciff"), &folder.path().join("i"));
    let missing = missing.err().unwrap().to_string();
    assert!(
        missing.contains("no.ciff: there is no such file"),
        "{missing}"
    );
    for other in [&b"{\"id\": 1, \"contents\": \"text\"}\n"[..], b"", b"\0"] {
        let error = import(folder.path(), other).err().unwrap().to_string();
        assert!(error.contains("a.ciff"), "{error}");
    }
}
