//! The documents of a part and the terms of each, as a graph in memory.

use std::collections::BTreeMap;
use std::ops::Range;

use rayon::prelude::*;

use super::options::Reordering;
use crate::part::Part;
use crate::part::cursor::Cursor;
use crate::part::lists::Lists;
use tokapi_storage::error::Result;
use tokapi_storage::progress::{Progress, Stage};

/// Minimum df of a term in the graph. Rarer terms are the majority of all terms and have few of
/// the postings. Measured on SciFact and on 250,000 documents of `benches/search/reorder`: with 2,
/// 8 and 32, indexes have the same size within 0.3%; with 128, 1% more; with 1024, 1% to 4% more.
/// With 2 to 32, processor times are equal within 6%; with 1024 it falls to 37%.
const LEAST_DF: u64 = 8;
/// Bytes of memory a posting during bisection: a term in a graph and in the graph of a half.
const POSTING_BYTES: u64 = 4 + 4;
/// Bytes of memory a document: its number and place in both graphs, its side and gain, a
/// logarithm, both permutations.
const DOCUMENT_BYTES: u64 = 2 * (4 + 8) + 1 + 8 + 8 + 8;
/// Bytes of memory a term: its number, its degrees, its gains, its number in each half.
const TERM_BYTES: u64 = 4 + 8 + 8 + 8;

/// Documents, and the terms of each.
pub(super) struct Graph {
    /// Ascending.
    pub documents: Vec<u32>,
    /// The start of every document's terms, and the end of the last.
    pub offsets: Vec<usize>,
    pub terms: Vec<u32>,
    /// Term numbers are below this.
    pub term_count: usize,
}

impl Graph {
    /// Builds the graph of all documents of `part`. It has the most frequent terms, as many as the
    /// memory allows.
    ///
    /// # Errors
    /// There is too little memory for any term; the part cannot be read.
    pub fn new(part: &Part, how: &Reordering) -> Result<Self> {
        let terms = Terms::new(part, how.memory.reordering_bytes(), &how.progress)?;
        log::info!(
            "graph: {} terms with a df of at least {}",
            terms.numbers.len(),
            terms.least
        );
        let progress = &how.progress;
        progress.begin(Stage::Graph, 2 * terms.postings);
        let count = part.documents() as usize;
        let threads = rayon::current_num_threads();
        // Every term has at least one document.
        let each = count.div_ceil(threads).max(1);
        let range = |from: usize, count: usize| from as u32..(from + count) as u32;

        let mut offsets = vec![0; count + 1];
        offsets[1..]
            .par_chunks_mut(each)
            .enumerate()
            .try_for_each(|(number, degrees)| {
                let range = range(number * each, degrees.len());
                terms.each(&part.lists, range.clone(), progress, |_, documents| {
                    for &document in documents {
                        degrees[(document - range.start) as usize] += 1;
                    }
                    progress.add(documents.len() as u64);
                })
            })?;
        let mut sum = 0;
        for offset in &mut offsets {
            sum += *offset;
            *offset = sum;
        }

        let mut edges = vec![0; sum];
        let mut pieces = Vec::with_capacity(threads);
        let mut rest = &mut edges[..];
        for from in (0..count).step_by(each) {
            let to = count.min(from + each);
            let (piece, others) = rest.split_at_mut(offsets[to] - offsets[from]);
            pieces.push((from, to, piece));
            rest = others;
        }
        pieces.into_par_iter().try_for_each(|(from, to, piece)| {
            let mut next: Vec<usize> = offsets[from..to]
                .iter()
                .map(|offset| offset - offsets[from])
                .collect();
            let range = range(from, to - from);
            terms.each(&part.lists, range, progress, |term, documents| {
                for &document in documents {
                    let next = &mut next[document as usize - from];
                    piece[*next] = term;
                    *next += 1;
                }
                progress.add(documents.len() as u64);
            })
        })?;
        Ok(Graph {
            documents: (0..part.documents()).collect(),
            offsets,
            terms: edges,
            term_count: terms.numbers.len(),
        })
    }

    /// The terms of the document at `place`.
    #[inline]
    pub fn terms_of(&self, place: usize) -> &[u32] {
        &self.terms[self.offsets[place]..self.offsets[place + 1]]
    }
}

/// The terms of the graph.
struct Terms {
    /// Their minimum df.
    least: u64,
    /// The number of each term, in the order of the lists. Frequent terms have small numbers, so
    /// that the data used most often is together in the cache.
    numbers: Vec<u32>,
    postings: u64,
}

impl Terms {
    /// The most frequent terms of `part` whose graph takes at most `most_bytes`.
    fn new(part: &Part, most_bytes: u64, progress: &Progress) -> Result<Self> {
        let lists = &part.lists;
        let mut terms_of_df: BTreeMap<u64, u64> = BTreeMap::new();
        for shard in 0..lists.shard_count() {
            progress.check()?;
            for df in lists.dfs_of_shard(shard)? {
                *terms_of_df.entry(df).or_default() += 1;
            }
        }
        let mut bytes = DOCUMENT_BYTES * part.note.documents;
        let (mut least, mut postings, mut count) = (u64::MAX, 0, 0);
        let mut next_of_df = BTreeMap::new();
        for (&df, &terms) in terms_of_df.range(LEAST_DF..).rev() {
            bytes = bytes.saturating_add(terms * df * POSTING_BYTES + terms * TERM_BYTES);
            if bytes > most_bytes {
                break;
            }
            (least, postings) = (df, postings + terms * df);
            next_of_df.insert(df, count);
            // Terms are fewer than 2^32.
            count += terms as u32;
        }
        if bytes > most_bytes && next_of_df.is_empty() {
            return Err(Reordering::too_little(bytes));
        }
        let mut numbers = Vec::with_capacity(count as usize);
        for shard in 0..lists.shard_count() {
            progress.check()?;
            for df in lists.dfs_of_shard(shard)? {
                if let Some(next) = next_of_df.get_mut(&df) {
                    numbers.push(*next);
                    *next += 1;
                }
            }
        }
        Ok(Terms {
            least,
            numbers,
            postings,
        })
    }

    /// Passes every term, and the documents of its list within `range`, to `user`, until it is
    /// cancelled.
    fn each(
        &self,
        lists: &Lists,
        range: Range<u32>,
        progress: &Progress,
        mut user: impl FnMut(u32, &[u32]),
    ) -> Result<()> {
        let mut numbers = self.numbers.iter();
        for shard in 0..lists.shard_count() {
            for found in lists.lists_of_shard(shard)? {
                if found.df < self.least {
                    continue;
                }
                let Some(&number) = numbers.next() else {
                    return Ok(());
                };
                let mut cursor = Cursor::new(&found)?;
                let first = cursor.block_of(range.start, 0);
                for block in first..cursor.block_count() {
                    progress.check()?;
                    if cursor.first_possible(block) >= range.end {
                        break;
                    }
                    cursor.go_to_block(block);
                    cursor.decode()?;
                    let documents = cursor.documents();
                    let ascend = documents.is_sorted_by(|a, b| a < b);
                    if !ascend || documents[0] < cursor.first_possible(block) {
                        return Err(lists.damaged("a list is not what was written"));
                    }
                    let from = documents.partition_point(|&document| document < range.start);
                    let to = documents.partition_point(|&document| document < range.end);
                    user(number, &documents[from..to]);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Index;
    use tokapi_text::analyze::Analyzer;
    use tokapi_text::corpus::{Corpus, CorpusOptions};
    use tokapi_weigh::collection::Collection;

    #[test]
    fn with_less_memory_there_are_fewer_terms() {
        let folder = tempfile::tempdir().unwrap();
        let (docs, path) = (folder.path().join("docs.tsv"), folder.path().join("index"));
        // Term n is in every nth document.
        let terms =
            |document: u32| (1..=document).filter(move |term| document.is_multiple_of(*term));
        let line = |document: u32| {
            let terms: Vec<String> = terms(document).map(|term| format!("t{term}")).collect();
            format!("d{document}\t{}\n", terms.join(" "))
        };
        std::fs::write(&docs, (1..=1000).map(line).collect::<String>()).unwrap();
        let corpus = Corpus::open(&[docs], CorpusOptions::default()).unwrap();
        let analyzer = Analyzer::default();
        let collection = Collection::build(
            corpus,
            &tokapi_weigh::collection::BuildOptions::default().analyzer(&analyzer),
        )
        .unwrap();
        Index::build(collection, &path).unwrap();
        let index = Index::open(&path).unwrap();
        let part = &index.parts()[0];

        let progress = &Progress::new();
        let all = Terms::new(part, 1 << 30, progress).unwrap();
        assert_eq!((all.least, all.numbers.len()), (8, 125));
        let documents = DOCUMENT_BYTES * 1000;
        let frequent: u64 = (1..=10)
            .map(|n| 1000 / n * POSTING_BYTES + TERM_BYTES)
            .sum();
        let some = Terms::new(part, documents + frequent, progress).unwrap();
        assert_eq!((some.least, some.numbers.len()), (100, 10));
        let mut seen = Vec::new();
        let each = some.each(
            &part.lists,
            100..200,
            &Progress::new(),
            |term, documents| {
                seen.extend(documents.iter().map(|&document| (document, term)));
            },
        );
        each.unwrap();
        seen.sort_unstable();
        // Documents and terms are numbered from 0.
        let expected = (100..200).flat_map(|document| {
            let frequent = terms(document + 1).filter(|&term| term <= 10);
            frequent.map(move |term| (document, term - 1))
        });
        assert!(expected.eq(seen));
        let error = Terms::new(part, documents, progress)
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains("give a larger budget"), "{error}");
    }
}
