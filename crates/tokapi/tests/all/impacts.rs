//! Laws of an index of impacts: every weight is the nearest of 255, every way to search gives what adding
//! all of them up gives, and what cannot be done with it is refused.

use crate::files::{data, real};
use crate::index::best;
use crate::random::{Random, corpus, query, shapes, text};
use proptest::prelude::*;
use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use tokapi::Formula;
use tokapi::eval::{Evaluation, Judgments, Run};
use tokapi::{Analyzer, Cut};
use tokapi::{
    Bm25, BuildOptions, Collection, Corpus, CorpusOptions, Index, Memory, Progress, Result,
};
use tokapi::{Filter, Query, SearchOptions};
use tokapi::{ImportOptions, IndexWriter, Keep};
use tokapi::{Storage, Stored, Weights};
use tokapi_index::query::Algorithm;
use tokapi_index::{Contents, IndexOptions};

fn collection(folder: &Path, text: &str) -> Collection {
    let options = BuildOptions::default();
    Collection::build(corpus(folder, text), &options).unwrap()
}

/// An index of the impacts of `text` by `bm25`.
fn build(folder: &Path, text: &str, bm25: &Bm25) -> Result<PathBuf> {
    let path = folder.join("index");
    let built = collection(folder, text);
    Index::build_with(
        built,
        &path,
        IndexOptions {
            impacts: Some(*bm25),
            ..Default::default()
        },
    )?;
    Ok(path)
}

/// The formulas under which no term weighs less than something.
const ABOVE_ZERO: [Formula; 3] = [Formula::Lucene, Formula::Bm25L, Formula::Bm25Plus];

fn bm25(random: &mut Random) -> Bm25 {
    Bm25::default()
        .formula(ABOVE_ZERO[random.below(3)])
        .k1([0.0, 0.9, 1.2, 5.0][random.below(4)])
        .b([0.0, 0.4, 0.75, 1.0][random.below(4)])
}

/// What `index` has of a term: the weight of every document with it.
fn weights_of(index: &Index, term: &str) -> HashMap<u64, f32> {
    let options = SearchOptions::default()
        .k(usize::MAX)
        .algorithm(Algorithm::Exhaustive);
    let hits = index.search(&Query::any([term]), &options).unwrap();
    hits.iter().map(|hit| (hit.document, hit.score)).collect()
}

/// Checks every weight of `index` against the true ones.
fn are_nearest(index: &Index, weights: &Weights) {
    let scale = index.impacts().unwrap().scale;
    let most = weights.weights.iter().copied().fold(0.0, f32::max);
    if most > 0.0 {
        assert_eq!(scale, f64::from(most) / 255.0);
    }
    for (number, term) in weights.lexicon.terms.iter().enumerate() {
        let term = std::str::from_utf8(term).unwrap();
        let found = weights_of(index, term);
        assert_eq!(found.len(), weights.range(number).len(), "{term}");
        for posting in weights.range(number) {
            let document = u64::from(weights.posting_documents[posting]);
            let (found, weight) = (found[&document], f64::from(weights.weights[posting]));
            let impact = f64::from(found) / scale;
            assert!((impact - impact.round()).abs() < 1e-4, "{impact}");
            assert!((1.0..=255.0).contains(&impact.round()), "{impact}");
            // Half a step and what single precision takes off; what is below half a step is raised to one.
            let off = (f64::from(found) - weight.max(scale / 2.0)).abs();
            assert!(off <= scale * 0.5001, "{term}: {found} for {weight}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn search_equals_adding_up_all_impacts(shape in shapes()) {
        let folder = tempfile::tempdir().unwrap();
        let text = text(&shape);
        let mut random = Random(shape.seed | 1);
        let bm25 = bm25(&mut random);
        let index = Index::open(build(folder.path(), &text, &bm25).unwrap()).unwrap();
        prop_assert_eq!(index.check().unwrap().documents, shape.documents as u64);
        prop_assert_eq!(index.impacts().unwrap().bm25, bm25);
        are_nearest(&index, &collection(folder.path(), &text).weigh(&bm25).unwrap());
        for _ in 0..12 {
            let query = query(&mut random, shape.terms + 1);
            let k = [1, 3, 10, 100, 100_000][random.below(5)];
            let found = best(&index, &query, k, bm25);
            for hit in found.iter().take(3) {
                let explained = index.explain(&query, &SearchOptions::default().bm25(bm25), hit.document).unwrap();
                prop_assert_eq!(explained.score, hit.score);
                let sum: f64 = explained.terms.iter().map(|term| {
                    f64::from(weights_of(&index, &term.term)[&hit.document]) * term.times
                }).sum();
                prop_assert_eq!(sum as f32, hit.score);
            }
        }
    }
}

#[test]
fn documents_without_terms_have_no_impacts() {
    let folder = tempfile::tempdir().unwrap();
    for text in ["", "a\t\nb\t\n"] {
        let path = build(folder.path(), text, &Bm25::default()).unwrap();
        let index = Index::open(&path).unwrap();
        assert_eq!(index.check().unwrap().postings, 0);
        let hits = index.search(&Query::any(["a"]), &SearchOptions::default());
        assert_eq!(hits.unwrap(), []);
        std::fs::remove_dir_all(&path).unwrap();
    }
}

#[test]
fn what_is_kept_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let docs = folder.path().join("docs.jsonl");
    let mut text = String::new();
    for number in 0..500 {
        let order = ["red hen", "hen red"][number % 2];
        let line =
            serde_json::json!({ "id": number.to_string(), "text": order, "even": number % 2 == 0 });
        writeln!(text, "{line}").unwrap();
    }
    std::fs::write(&docs, text).unwrap();
    let path = folder.path().join("index");
    let storage = Storage::new(Memory::new(500_000_000).unwrap()).output(path.clone());
    let (analyzer, options) = (Analyzer::default(), BuildOptions::default());
    let mut corpus = Corpus::open(&[docs], CorpusOptions::default()).unwrap();
    let keep = Keep::default().text(true).fields(["even"]).positions(true);
    corpus.keep_fields(&keep.fields).unwrap();
    let contents = Contents::new(corpus.again(), keep, &options, &storage);
    let stored = Stored::build(corpus, &options.clone().analyzer(&analyzer), &storage).unwrap();
    let by = Bm25::default();
    Index::build_with(
        stored,
        &path,
        IndexOptions {
            impacts: Some(by),
            contents: Some(contents),
            ..Default::default()
        },
    )
    .unwrap();
    let index = Index::open(&path).unwrap();
    index.check().unwrap();
    assert_eq!(index.count(&Query::phrase(["red", "hen"])).unwrap(), 250);
    let mut query = Query::any(["hen"]);
    query
        .filters
        .push(Filter::parse("-even:true", &index).unwrap());
    assert_eq!(index.count(&query).unwrap(), 250);
    let hit = index.search(&query, &SearchOptions::default()).unwrap()[0];
    let document = index.document(hit.document).unwrap();
    assert_eq!(document.text.as_deref(), Some("hen red"));
    let snippet = index.highlighter(&query).unwrap().snippet("a hen", 50);
    assert_eq!(snippet.highlights.first(), Some(&(2..5)));
}

#[test]
fn what_would_make_weights_wrong_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let text = "a\tred hen\nb\tred fox\nc\tred\n";
    for formula in Formula::ALL {
        let bm25 = Bm25::default().formula(formula);
        let built = build(folder.path(), text, &bm25);
        if ABOVE_ZERO.contains(&formula) {
            std::fs::remove_dir_all(built.unwrap()).unwrap();
            continue;
        }
        let error = built.unwrap_err().to_string();
        let said = format!("{formula} gives the term \"red\", in 3 of 3 documents");
        assert!(error.contains(&said), "{error}");
    }
    let left = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 1, "only docs.tsv is there");
    let by = Bm25::default().k1(0.9);
    let path = build(folder.path(), text, &by).unwrap();
    let index = Index::open(&path).unwrap();
    let said = "computed by lucene, k1 0.9, b 0.75";
    let error = IndexWriter::open(&path, 1).err().unwrap().to_string();
    assert!(error.contains(said), "{error}");
    let (to, done) = (folder.path().join("bm25s"), Progress::new());
    let error = index.export_bm25s(&by, &to, &done).unwrap_err().to_string();
    assert!(error.contains(said), "{error}");
    let search = |bm25| {
        let options = SearchOptions::default().bm25(bm25);
        index.search(&Query::any(["hen"]), &options)
    };
    assert_eq!(search(by).unwrap(), search(Bm25::default()).unwrap());
    let error = search(by.k1(2.0)).unwrap_err().to_string();
    assert!(error.contains(said), "{error}");
}

#[test]
fn impacts_are_exported_as_frequencies() {
    let folder = tempfile::tempdir().unwrap();
    let (text, done) = ("a\tred red hen\nb\tred fox\nc\t\n", Progress::new());
    let path = build(folder.path(), text, &Bm25::default()).unwrap();
    let (file, again) = (folder.path().join("a.ciff"), folder.path().join("again"));
    let index = Index::open(&path).unwrap();
    index.export_ciff(&file, &done).unwrap();
    Index::import_ciff(
        &file,
        &Analyzer::default(),
        &again,
        ImportOptions::default().threads(1),
    )
    .unwrap();
    let imported = Index::open(&again).unwrap();
    let by = SearchOptions::default();
    let query = Query::any(["red", "hen", "fox"]);
    for document in 0..2 {
        let impacts = |index: &Index| -> Vec<u32> {
            let explained = index.explain(&query, &by, document).unwrap();
            explained.terms.iter().map(|term| term.tf).collect()
        };
        assert_eq!(impacts(&imported), impacts(&index));
        assert!(impacts(&index).iter().all(|&impact| impact > 3));
    }
}

/// nDCG@10 of the queries of Cranfield over an index.
fn ndcg(index: &Index, folder: &Path) -> f64 {
    let queries = std::fs::read_to_string(data("cranfield/queries.tsv")).unwrap();
    let mut run = String::new();
    for line in queries.lines() {
        let (number, text) = line.split_once('\t').unwrap();
        let query = Query::any(index.analyzer().terms(text));
        let hits = index.search(&query, &SearchOptions::default()).unwrap();
        for (rank, hit) in hits.iter().enumerate() {
            let id = index.id(hit.document).unwrap();
            writeln!(run, "{number} Q0 {id} {rank} {} x", hit.score).unwrap();
        }
    }
    let path = folder.join("run");
    std::fs::write(&path, run).unwrap();
    let judgments = Judgments::read(&data("cranfield/qrels.txt")).unwrap();
    let evaluation = Evaluation::new(&Run::read(&path).unwrap(), &judgments, false);
    evaluation.mean.ndcg_10
}

#[test]
fn rankings_are_as_good_as_exact_ones() {
    let folder = tempfile::tempdir().unwrap();
    let analyzer = Analyzer::from(Cut::Python);
    let build = || real("cranfield", &analyzer);
    let (exact, impacts) = (folder.path().join("exact"), folder.path().join("impacts"));
    Index::build(build(), &exact).unwrap();
    Index::build_with(
        build(),
        &impacts,
        IndexOptions {
            impacts: Some(Bm25::default()),
            ..Default::default()
        },
    )
    .unwrap();
    let [exact, impacts] =
        [exact, impacts].map(|path| ndcg(&Index::open(path).unwrap(), folder.path()));
    assert!((exact - 0.3344).abs() < 0.0005, "{exact}");
    assert!((impacts - exact).abs() < 0.005, "{impacts}, not {exact}");
}
