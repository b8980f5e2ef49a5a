use tokapi::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let threads = a[2].parse().unwrap();
    let t = std::time::Instant::now();
    let mut o = CorpusOptions::default();
    if let Some(c) = a.get(3) { o.chunk_bytes = c.parse::<usize>().unwrap() << 10; }
    let corpus = Corpus::open(&a[1..2], o).unwrap();
    let analyzer = analyze::Analyzer::default();
    let c = Collection::build(corpus, &analyzer, &BuildOptions { threads, ..Default::default() }).unwrap();
    eprintln!("build {:?} terms {} postings {}", t.elapsed(), c.lexicon().terms.len(), c.postings_count());
    if let Some(p) = a.get(4) { let o = output::Output { path: p.into(), target: output::Target::of_name(p.as_ref()).unwrap(), tables: false }; o.write(c, &Bm25::default()).unwrap(); eprintln!("written {:?}", t.elapsed()); return; }
    let w = c.weigh(&Bm25::default()).unwrap();
    eprintln!("weigh {:?} sum {}", t.elapsed(), w.weights.iter().map(|&w| w as f64).sum::<f64>());
}
