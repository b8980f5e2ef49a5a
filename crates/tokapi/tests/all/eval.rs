//! The measures of the reference runs are those published with them, and bad files are named.

use std::fs;

use crate::files::{data, unpacked};
use tempfile::NamedTempFile;
use tokapi::eval::{Evaluation, Judgments, Run};

/// nDCG@10, P@10 and R@100 of the reference run; it has too few documents for the published AP.
fn measured(collection: &str) -> [f64; 3] {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let packed = data(collection).join("bm25s-lucene.run.zst");
    fs::write(&path, unpacked(&packed)).unwrap();
    let judgments = Judgments::read(&data(collection).join("qrels.txt")).unwrap();
    let mean = Evaluation::new(&Run::read(&path).unwrap(), &judgments, false).mean;
    [mean.ndcg_10, mean.p_10, mean.r_100]
}

#[test]
fn reference_runs_have_the_published_measures() {
    for (collection, published) in [
        ("cranfield", [0.3344, 0.2164, 0.6960]),
        ("scifact", [0.6634, 0.0870, 0.8826]),
    ] {
        let measured = measured(collection);
        for (measured, published) in measured.into_iter().zip(published) {
            assert!(
                (measured - published).abs() < 0.5e-4,
                "{collection}: {measured}"
            );
        }
    }
}

/// A file with these bytes.
fn file(bytes: impl AsRef<[u8]>) -> NamedTempFile {
    let file = NamedTempFile::new().unwrap();
    fs::write(&file, bytes).unwrap();
    file
}

#[test]
fn queries_without_results_count_only_where_all_do() {
    let run = Run::read(file("1 Q0 a 1 2.5 x\n\n7 Q0 a 1 2.5 x\n").path()).unwrap();
    let judgments = Judgments::read(file("1 0 a 1\n2 0 a 1\n").path()).unwrap();
    let mean = |all| Evaluation::new(&run, &judgments, all).mean.ap;
    assert_eq!([mean(false), mean(true)], [1.0, 0.5]);
}

#[test]
fn judgments_of_beir_are_those_of_trec() {
    let read = |text: &str| Judgments::read(file(text).path());
    let trec = read("1 0 a 2\n1 0 b 0\n2 0 a 1\n").unwrap();
    let columns = "1\ta\t2\n1\tb\t0\n2\ta\t1\n";
    assert_eq!(read(columns).unwrap(), trec);
    let header = "query-id\tcorpus-id\tscore\n";
    assert_eq!(read(&format!("{header}{columns}")).unwrap(), trec);
    assert_eq!(read(&format!("\u{feff}{header}{columns}")).unwrap(), trec);
    for text in [
        format!("{columns}{header}"),
        format!("{columns}1 0 c 1\n"),
        format!("{header}1\ta\tx\n"),
    ] {
        let said = read(&text).unwrap_err().to_string();
        assert!(said.contains("query document relevance"), "{said}");
    }
}

#[test]
fn bad_lines_are_named() {
    for (text, said) in [
        (
            "1 Q0 a 1 2.5 x\n1 Q0 a 1 x\n",
            "line 2: a line of a run is `query Q0",
        ),
        ("1 Q0 a 1 nan x\n", "line 1: a line of a run is"),
        (
            "1 Q0 a 1 2 x\n1 Q0 a 2 1 x\n",
            "line 2: query 1 has document a twice",
        ),
    ] {
        let error = Run::read(file(text).path()).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
    assert!(Judgments::read(file(b"1 0 \xff 1\n").path()).is_err());
    let error = Judgments::read(file("1 0 a much\n").path());
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("line 1: a line of judgments is `query 0"),
        "{error}"
    );
}
