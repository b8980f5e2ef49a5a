//! Dictionaries beside each other: bytes a term, seconds to build, lookups a second on one thread.
//!
//! `dictionary-bench FILE.terms`, one term on every line as `tokapi generate` writes it. Two sets of
//! terms: the distinct ones of the file, and the 10 million that it is drawn from. Two orders of
//! lookups, all of known terms: the file's own (a few terms make up most of a text), and at random,
//! every term alike. All contestants get the same sorted terms and give each a number.

mod live;

use std::hint::black_box;
use std::time::Instant;

use hashbrown::HashMap;
use tokapi_weigh::dictionary::Dictionary;
use tokapi_text::generate::Vocabulary;

/// Lookups in the order of the text, and at random; the fastest of some turns counts.
const TEXT_LOOKUPS: usize = 5_000_000;
const RANDOM_LOOKUPS: usize = 2_000_000;
const TURNS: usize = 3;

fn main() {
    let path = std::env::args().nth(1).expect("a .terms file");
    let text = std::fs::read_to_string(&path).expect("a readable text file");
    let tokens = || text.lines().filter(|line| !line.is_empty());
    let text_order: Vec<&str> = tokens().take(TEXT_LOOKUPS).collect();

    let mut distinct: Vec<&str> = tokens().collect();
    distinct.sort_unstable();
    distinct.dedup();
    distinct.shrink_to_fit();
    compare(&distinct, &text_order);

    let all: Vec<Vec<u8>> = Vocabulary::default().terms().collect();
    let all = all
        .iter()
        .map(|term| std::str::from_utf8(term).expect("letters"));
    let mut all: Vec<&str> = all.collect();
    all.sort_unstable();
    compare(&all, &text_order);
}

/// One line of the table.
struct Row {
    name: &'static str,
    bytes_per_term: f64,
    build_seconds: f64,
    text_per_second: f64,
    random_per_second: f64,
}

struct Contest<'a> {
    terms: &'a [&'a str],
    text_order: &'a [&'a str],
    random_order: Vec<&'a str>,
    rows: Vec<Row>,
}

fn compare(terms: &[&str], text_order: &[&str]) {
    let mut random = 1u64;
    let random_order = (0..RANDOM_LOOKUPS).map(|_| {
        // Knuth's MMIX; the high bits are good.
        random = random
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        terms[((random >> 32) as usize * terms.len()) >> 32]
    });
    let mut contest = Contest {
        terms,
        text_order,
        random_order: random_order.collect(),
        rows: Vec::new(),
    };
    let numbered = || terms.iter().copied().zip(0u32..);
    contest.run(
        "tokapi, succinct trie",
        || Dictionary::build(terms).expect("fewer than 2^32"),
        |dictionary, term| dictionary.lookup(term.as_bytes()),
    );
    contest.run(
        "fst 0.4, transducer",
        || fst::Map::from_iter(numbered().map(|(term, id)| (term, id.into()))).expect("sorted"),
        |map, term| map.get(term).map(|id| id as u32),
    );
    contest.run(
        "crawdad 0.4, double array with tails",
        || crawdad::MpTrie::from_records(numbered()).expect("sorted"),
        |trie, term| trie.exact_match(term.chars()),
    );
    contest.run(
        "crawdad 0.4, double array",
        || crawdad::Trie::from_records(numbered()).expect("sorted"),
        |trie, term| trie.exact_match(term.chars()),
    );
    contest.run(
        "hashbrown 0.17 and foldhash, boxed keys",
        || {
            let boxed = numbered().map(|(term, id)| (term.as_bytes().into(), id));
            boxed.collect::<HashMap<Box<[u8]>, u32, foldhash::fast::FixedState>>()
        },
        |map, term| map.get(term.as_bytes()).copied(),
    );
    contest.print();
}

impl Contest<'_> {
    fn run<T>(
        &mut self,
        name: &'static str,
        build: impl FnOnce() -> T,
        lookup: impl Fn(&T, &str) -> Option<u32>,
    ) {
        eprintln!("{name}, {} terms", self.terms.len());
        let (before, started) = (live::bytes(), Instant::now());
        let built = build();
        let build_seconds = started.elapsed().as_secs_f64();
        let bytes = live::bytes() - before;
        let rate = |asked: &[&str]| {
            let mut fastest = f64::INFINITY;
            for _ in 0..TURNS {
                let started = Instant::now();
                let known = asked
                    .iter()
                    .filter(|term| black_box(lookup(&built, term)).is_some());
                assert_eq!(known.count(), asked.len(), "{name} misses a term");
                fastest = fastest.min(started.elapsed().as_secs_f64());
            }
            asked.len() as f64 / fastest
        };
        let row = Row {
            name,
            bytes_per_term: bytes as f64 / self.terms.len() as f64,
            build_seconds,
            text_per_second: rate(self.text_order),
            random_per_second: rate(&self.random_order),
        };
        self.rows.push(row);
    }

    /// The table as Markdown; in brackets, times Tokapi's.
    fn print(&self) {
        println!(
            "\n| {} terms | bytes a term | seconds to build | M lookups/s, text | M lookups/s, random |",
            self.terms.len()
        );
        println!("|---|---|---|---|---|");
        let own = &self.rows[0];
        for row in &self.rows {
            println!(
                "| {} | {:.2} ({:.1}) | {:.2} ({:.1}) | {:.1} ({:.1}) | {:.1} ({:.1}) |",
                row.name,
                row.bytes_per_term,
                row.bytes_per_term / own.bytes_per_term,
                row.build_seconds,
                row.build_seconds / own.build_seconds,
                row.text_per_second / 1e6,
                row.text_per_second / own.text_per_second,
                row.random_per_second / 1e6,
                row.random_per_second / own.random_per_second,
            );
        }
    }
}
