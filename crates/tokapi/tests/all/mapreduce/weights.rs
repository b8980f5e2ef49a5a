//! BM25 in one pass and in two equals the dedicated engine, bit for bit.

use tokapi::Analyzer;
use tokapi::Formula;
use tokapi::OnError;
use tokapi::mapreduce::{Lines, Threads};
use tokapi::{Bm25, BuildOptions, Collection, Corpus, CorpusOptions, Error};
use tokapi_mapreduce::jobs::{
    DocumentFrequencies, DocumentFrequency, GlobalPass, LocalPass, LocalPosting, WeighOnePass,
    Weighed,
};

use super::input::{CHUNKS, corpora, documents, runners};

/// Term, id, tf, and the bits of the weight.
type Row = (String, Vec<u8>, u32, u32);

fn expected(corpus: Corpus, bm25: &Bm25) -> Vec<Row> {
    let analyzer = Analyzer::default();
    let collection =
        Collection::build(corpus, &BuildOptions::default().analyzer(&analyzer)).unwrap();
    let weights = collection.weigh(bm25).unwrap();
    let row = |posting: tokapi::Posting<'_>| {
        let term = String::from_utf8(posting.term.to_vec()).unwrap();
        let weight = posting.weight.to_bits();
        (term, posting.document.to_vec(), posting.tf, weight)
    };
    weights.iter().map(row).collect()
}

fn own(weighed: Weighed<'_>) -> Vec<Row> {
    let row = |(id, tf, weight): (&[u8], u32, f32)| {
        (weighed.term.to_owned(), id.to_vec(), tf, weight.to_bits())
    };
    weighed.postings().map(row).collect()
}

#[test]
fn one_pass() {
    for chunk_bytes in CHUNKS {
        for which in 0..2 {
            for formula in [Formula::Lucene, Formula::Bm25L] {
                let bm25 = Bm25::default().formula(formula);
                let corpus = || corpora(chunk_bytes).into_iter().nth(which).unwrap();
                let expected = expected(corpus(), &bm25);
                for runner in runners() {
                    let mut job = WeighOnePass::new(bm25, OnError::Stop);
                    let found = runner.collect(&mut job, documents(corpus()), own);
                    assert!(found.unwrap().0.concat() == expected, "{runner:?}");
                }
            }
        }
    }
}

fn two_passes(runner: &Threads, corpus: Corpus, bm25: Bm25) -> Vec<Row> {
    let mut local = LocalPass::new(OnError::Stop);
    let line = |posting: LocalPosting<'_>| {
        format!("{}\t{}\t{}\n", posting.term, posting.document, posting.tf)
    };
    let (lists, _) = runner.collect(&mut local, documents(corpus), line).unwrap();
    let lists = lists.concat();
    let own_df = |row: DocumentFrequency<'_>| (row.term.into(), row.df);
    let (dfs, _) = runner
        .collect(&mut DocumentFrequencies, Lines::of_text(&lists, 2), own_df)
        .unwrap();
    let mut table = Vec::new();
    let each = |id: &[u8], length| {
        table.push((id.to_vec(), length));
        Ok(())
    };
    local.documents(each).unwrap();
    let mut global = GlobalPass::new(bm25, table, dfs);
    let found = runner.collect(&mut global, Lines::of_text(&lists, 2), own);
    found.unwrap().0.concat()
}

#[test]
fn two_passes_chunk_by_chunk() {
    let bm25 = Bm25::default();
    for chunk_bytes in CHUNKS {
        for which in 0..2 {
            let corpus = || corpora(chunk_bytes).into_iter().nth(which).unwrap();
            let expected = expected(corpus(), &bm25);
            for runner in runners() {
                let found = two_passes(&runner, corpus(), bm25);
                assert!(found == expected, "{runner:?}");
            }
        }
    }
}

#[test]
fn documents_without_ids_or_terms_count_and_ids_that_are_taken_are_told() {
    let corpus = || Corpus::from_bytes("a.terms", "b\na\n\n.\n\na\n", CorpusOptions::default());
    let expected = expected(corpus(), &Bm25::default());
    let mut job = WeighOnePass::new(Bm25::default(), OnError::Stop);
    let found = Threads::default().collect(&mut job, documents(corpus()), own);
    assert_eq!(found.unwrap().0.concat(), expected);
    let text = "1\tto be\n2\tor\n1\tnot to be\n3\tbe\n";
    let corpus = || Corpus::from_bytes("a.tsv", text, CorpusOptions::default());
    let mut job = WeighOnePass::new(Bm25::default(), OnError::Stop);
    let error = Threads::default().collect(&mut job, documents(corpus()), own);
    let error = error.unwrap_err();
    let Err(told) = Collection::build(corpus(), &BuildOptions::default()) else {
        panic!("two documents have one id");
    };
    assert_eq!(error.to_string(), told.to_string());
    let mut job = WeighOnePass::new(Bm25::default(), OnError::Skip);
    let found = Threads::default().collect(&mut job, documents(corpus()), own);
    let without = "1\tto be\n2\tor\n3\tbe\n";
    let without = Corpus::from_bytes("a.tsv", without, CorpusOptions::default());
    assert_eq!(
        found.unwrap().0.concat(),
        self::expected(without, &Bm25::default())
    );
    assert_eq!(job.skipped().count, 1);
}

#[test]
fn a_line_that_is_no_posting_is_named() {
    let mut job = GlobalPass::new(Bm25::default(), [(b"1".to_vec(), 1)], [("a".into(), 1)]);
    for line in ["a", "a\t0", "a\t0\tx", "a\t1\t1", "b\t0\t1"] {
        let error = Threads::default().collect(&mut job, Lines::of_text(line, 1), own);
        let error = error.unwrap_err();
        assert!(matches!(error, Error::Map { .. }), "{error}");
        assert!(error.to_string().contains(line), "{error}");
    }
}
