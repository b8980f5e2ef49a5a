//! Weights as tab-separated text: one posting per line, by term, then by document.

use super::Output;
use super::by_document::{self, Group};
use super::pieces::{self, Text};
use super::tables::{self, needs_escape, push_field};
use crate::collection::external::External;
use crate::collection::{ByDocument, Weights};
use crate::formula::Bm25;
use tokapi_storage::error::Result;
use tokapi_storage::pipeline::Stages;
use tokapi_storage::progress::Progress;
use tokapi_storage::whole::Staged;

/// Postings in a piece, about 8 MB of text. The bytes of compressed files depend on it.
const PIECE_POSTINGS: usize = 1 << 18;

/// The bytes of a line beside its term and its id: three tabs, a line feed, tf and weight.
const NUMBERS_BYTES: usize = 16;

/// Writes `term<TAB>doc<TAB>tf<TAB>weight`. The weight is the shortest decimal that reads back as the same f32. Writes
/// the tables too, if asked for.
///
/// # Errors
/// A file cannot be written; tables are asked for beside standard output.
pub(super) fn write(
    weights: &Weights,
    output: &Output,
    progress: &Progress,
) -> Result<Vec<Staged>> {
    let count = weights.len().div_ceil(PIECE_POSTINGS);
    let plain_ids = !weights.documents.ids.iter().any(needs_escape);
    let text = |piece: usize| {
        let from = piece * PIECE_POSTINGS;
        let to = weights.len().min(from + PIECE_POSTINGS);
        progress.add((to - from) as u64);
        Ok((Text::whole(lines(weights, from..to, plain_ids)), ()))
    };
    let (stages, units) = (Stages::of_pool(), pieces::units(count));
    let mut staged = vec![pieces::write(
        &output.path,
        progress,
        stages,
        units,
        text,
        Ok,
    )?];
    if output.tables {
        staged.push(tables::documents(&weights.documents, output, progress)?);
        staged.push(tables::terms(&weights.lexicon, output, progress)?);
    }
    Ok(staged)
}

/// As [`write`], from scratch. Returns also the number of terms.
pub(super) fn write_external(
    external: &External,
    bm25: &Bm25,
    output: &Output,
) -> Result<(Vec<Staged>, u64)> {
    let stages = external.stages();
    let mut tasks = external.tasks(4 * PIECE_POSTINGS)?;
    let mut terms = external.new_terms()?;
    let text = |task| {
        let (weights, new_terms) = external.weigh(task, bm25)?;
        let plain_ids = !weights.documents.ids.iter().any(needs_escape);
        let mut text = Text::default();
        for from in (0..weights.len()).step_by(PIECE_POSTINGS) {
            let to = weights.len().min(from + PIECE_POSTINGS);
            let lines = lines(&weights, from..to, plain_ids);
            text.bytes.extend_from_slice(&lines);
            text.cuts.push(text.bytes.len());
        }
        Ok((text, (weights.postings.lexicon, new_terms)))
    };
    let mut staged = vec![pieces::write(
        &output.path,
        external.progress(),
        stages,
        || tasks.next(),
        text,
        |(lexicon, new_terms)| terms.push(&lexicon, new_terms),
    )?];
    let count = terms.len();
    if output.tables {
        staged.push(tables::external_documents(external, output)?);
        staged.push(tables::external_terms(terms.finish()?, external, output)?);
    }
    Ok((staged, count))
}

/// Writes the same lines by document.
pub(super) fn write_by_document(rows: &impl ByDocument, output: &Output) -> Result<Staged> {
    by_document::in_groups(rows, PIECE_POSTINGS, |next| {
        let text = |group: Group| Ok((Text::whole(document_lines(&group)), ()));
        pieces::write(
            &output.path,
            rows.progress(),
            rows.encoding_stages(),
            next,
            text,
            Ok,
        )
    })
}

fn document_lines(group: &Group) -> Vec<u8> {
    let (names, places) = group.terms();
    let (ids, offsets) = group.documents();
    let (tfs, weights) = (group.frequencies(), group.weights());
    let mut text = Vec::with_capacity(group.len() * 2 * NUMBERS_BYTES);
    let mut suffix = Vec::new();
    let (mut digits, mut decimal) = (itoa::Buffer::new(), zmij::Buffer::new());
    for (id, bounds) in ids.iter().zip(offsets.windows(2)) {
        suffix.clear();
        suffix.push(b'\t');
        push_field(&mut suffix, id);
        suffix.push(b'\t');
        // A group is in memory, so the number of its entries fits.
        for entry in bounds[0] as usize..bounds[1] as usize {
            push_field(&mut text, names.get(places[entry] as usize));
            text.extend_from_slice(&suffix);
            text.extend_from_slice(digits.format(tfs[entry]).as_bytes());
            text.push(b'\t');
            text.extend_from_slice(decimal.format(weights[entry]).as_bytes());
            text.push(b'\n');
        }
    }
    text
}

/// The lines of the postings in `range`. `plain_ids` says that no id needs escaping.
fn lines(weights: &Weights, range: std::ops::Range<usize>, plain_ids: bool) -> Vec<u8> {
    let mut text = Vec::with_capacity(range.len() * 2 * NUMBERS_BYTES);
    let mut prefix = Vec::new();
    let (mut digits, mut decimal) = (itoa::Buffer::new(), zmij::Buffer::new());
    // The term of the first posting is the last that begins at or before it.
    let begun = |&offset: &u64| offset <= range.start as u64;
    let mut term = weights.offsets.partition_point(begun).saturating_sub(1);
    let mut from = range.start;
    while from < range.end {
        let to = weights.range(term).end.min(range.end);
        prefix.clear();
        push_field(&mut prefix, weights.lexicon.terms.get(term));
        prefix.push(b'\t');
        for posting in from..to {
            let document = weights.posting_documents[posting] as usize;
            let id = weights.documents.ids.get(document);
            text.reserve(prefix.len() + id.len() + 2 * NUMBERS_BYTES);
            text.extend_from_slice(&prefix);
            if plain_ids {
                text.extend_from_slice(id);
            } else {
                push_field(&mut text, id);
            }
            text.push(b'\t');
            let tf = weights.frequencies.get(posting);
            text.extend_from_slice(digits.format(tf).as_bytes());
            text.push(b'\t');
            let weight = weights.weights[posting];
            text.extend_from_slice(decimal.format(weight).as_bytes());
            text.push(b'\n');
        }
        from = to;
        term += 1;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::Target;
    use super::super::sample::{ODD, collection, many, unpacked, written_each_way};
    use super::*;
    use std::path::Path;
    use tokapi_storage::error::Error;

    fn output(path: &Path, tables: bool) -> Output {
        Output::new(path.to_path_buf(), Target::Tsv).tables(tables)
    }

    /// The same text by a plain definition.
    fn expected(weights: &Weights) -> String {
        let escape = |field: &[u8]| {
            let field = String::from_utf8(field.to_vec()).unwrap();
            let field = field.replace('\\', "\\\\").replace('\t', "\\t");
            field.replace('\n', "\\n").replace('\r', "\\r")
        };
        let lines = weights.iter().map(|posting| {
            let (term, id) = (escape(posting.term), escape(posting.document));
            format!("{term}\t{id}\t{}\t{:?}\n", posting.tf, posting.weight)
        });
        lines.collect()
    }

    #[test]
    fn lines_equal_the_plain_ones() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("w.tsv");
        for documents in [&ODD[..], &ODD[..1], &ODD[2..3], &[]] {
            let weights = collection(documents, Default::default()).weigh(&Bm25::default());
            let expected = expected(&weights.unwrap());
            let files = output(&path, true)
                .write(collection(documents, Default::default()), &Bm25::default())
                .unwrap()
                .files;
            let named = ["w.tsv", "w.docs.tsv", "w.terms.tsv"].map(|name| dir.path().join(name));
            assert_eq!(files, named);
            assert_eq!(std::fs::read_to_string(&path).unwrap(), expected);
        }
    }

    #[test]
    fn any_range_of_postings_is_that_range_of_lines() {
        let weights = collection(&ODD, Default::default()).weigh(&Bm25::default());
        let weights = weights.unwrap();
        let whole = expected(&weights);
        let whole: Vec<&str> = whole.split_inclusive('\n').collect();
        for from in 0..=weights.len() {
            for to in from..=weights.len() {
                let part = String::from_utf8(lines(&weights, from..to, false)).unwrap();
                assert_eq!(part, whole[from..to].concat());
            }
        }
    }

    #[test]
    fn compressed_or_not_on_any_threads_the_text_is_the_same() {
        let documents = many(20_000);
        let plain = written_each_way("w.tsv", Target::Tsv, &documents);
        let count = plain.iter().filter(|&&byte| byte == b'\n').count();
        assert!(count > PIECE_POSTINGS, "{count} lines are but one piece");
        for name in ["w.tsv.gz", "w.tsv.zst"] {
            let bytes = written_each_way(name, Target::Tsv, &documents);
            assert!(unpacked(Path::new(name), &bytes) == plain, "{name}");
        }
    }

    #[test]
    fn weights_read_back_exactly() {
        let mut decimal = zmij::Buffer::new();
        for bits in (0..u32::MAX).step_by(99_991) {
            let weight = f32::from_bits(bits);
            let read: f32 = decimal.format(weight).parse().unwrap();
            assert!(read.to_bits() == bits || weight.is_nan(), "{weight}");
        }
    }

    #[test]
    fn tables_beside_standard_output_are_refused() {
        let odd = collection(&ODD, Default::default());
        let written = output(Path::new("-"), true).write(odd, &Bm25::default());
        assert!(matches!(written, Err(Error::Usage(_))));
    }
}
