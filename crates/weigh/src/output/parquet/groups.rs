//! Row groups: the rows of a piece of the weights, encoded column by column.

use std::ops::Range;

use parquet::basic::Encoding;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::statistics::Statistics as ColumnStatistics;
use parquet::schema::types::ColumnDescPtr;

use super::super::by_document::Group;
use super::super::encode;
use super::column::{Column, ColumnBuilder};
use crate::collection::Weights;
use tokapi_storage::ranks::Ranks;
use tokapi_storage::strings::Strings;

/// Rows of a page.
const PAGE_ROWS: usize = 1 << 17;
/// The longest term in the statistics; longer ones are left out.
const MAX_STATISTIC_BYTES: usize = 256;

/// The columns of a row group.
pub(super) type Encoded = std::result::Result<Vec<Column>, ParquetError>;

type Built = std::result::Result<ColumnBuilder, ParquetError>;

/// Rows of the weights as one row group, by term.
pub(super) fn by_term(weights: &Weights, rows: Range<usize>, columns: &[ColumnDescPtr]) -> Encoded {
    let documents = &weights.posting_documents[rows.clone()];
    let ids = &weights.documents.ids;
    let ranks = Ranks::new(documents, ids.len());
    let doc = match pays(ranks.count(), documents.len()) {
        false => string_column(&columns[1], documents, ids)?,
        true => index_column(
            &columns[1],
            &encode::strings(ranks.members().map(|document| ids.get(document))),
            ranks.count(),
            documents.len(),
            |row| ranks.rank(documents[row]),
        )?,
    };
    row_group(weights, rows, doc, columns)
}

/// All weights as one row group, by term. Every document has a posting.
pub(super) fn whole(weights: &Weights, columns: &[ColumnDescPtr]) -> Encoded {
    let documents = &weights.posting_documents;
    let ids = &weights.documents.ids;
    let doc = match pays(ids.len(), documents.len()) {
        false => string_column(&columns[1], documents, ids)?,
        true => index_column(
            &columns[1],
            &encode::strings(ids.iter()),
            ids.len(),
            documents.len(),
            |row| documents[row],
        )?,
    };
    row_group(weights, 0..weights.len(), doc, columns)
}

/// Whether a dictionary of `values` values saves bytes in a column of `rows` rows. If each value is used only once or
/// twice, the dictionary takes more bytes than the plain values.
fn pays(values: usize, rows: usize) -> bool {
    values <= rows / 2
}

/// One row group, with the given column of documents.
fn row_group(
    weights: &Weights,
    rows: Range<usize>,
    doc: ColumnBuilder,
    columns: &[ColumnDescPtr],
) -> Encoded {
    let offsets = &weights.offsets;
    let first_term = offsets.partition_point(|&offset| offset <= rows.start as u64) - 1;
    let end_term = offsets.partition_point(|&offset| offset < rows.end as u64);
    let terms = &weights.lexicon.terms;
    let term = run_column(
        &columns[0],
        &encode::strings((first_term..end_term).map(|term| terms.get(term))),
        offsets,
        first_term..end_term,
        rows.clone(),
    )?;
    let term = with_range(term, terms.get(first_term), terms.get(end_term - 1));
    let tf = tf_column(&columns[2], &weights.frequencies.expand(rows.clone()))?;
    let weight = weight_column(&columns[3], &weights.weights[rows.clone()])?;
    finish([term, doc, tf, weight], rows.len())
}

/// One row group of the weights, by document.
pub(super) fn by_document(group: &Group, columns: &[ColumnDescPtr]) -> Encoded {
    let rows = group.len();
    let (names, places) = group.terms();
    let term = index_column(
        &columns[0],
        &encode::strings(names.iter()),
        names.len(),
        rows,
        |row| places[row],
    )?;
    let term = with_range(term, names.get(0), names.get(names.len() - 1));
    let (ids, offsets) = group.documents();
    let doc = run_column(
        &columns[1],
        &encode::strings(ids.iter()),
        &offsets,
        0..ids.len(),
        0..rows,
    )?;
    let tf = tf_column(&columns[2], &group.frequencies())?;
    let weight = weight_column(&columns[3], &group.weights())?;
    finish([term, doc, tf, weight], rows)
}

fn finish<const N: usize>(columns: [ColumnBuilder; N], rows: usize) -> Encoded {
    let finished = columns.into_iter().map(|column| column.finish(rows));
    finished.collect()
}

/// A column with value `v` of `dictionary`, counted from `values.start`, in the rows `offsets[v]..offsets[v + 1]`.
fn run_column(
    column: &ColumnDescPtr,
    dictionary: &[u8],
    offsets: &[u64],
    values: Range<usize>,
    rows: Range<usize>,
) -> Built {
    let mut builder = ColumnBuilder::new(column);
    builder.dictionary(dictionary, values.len())?;
    let mut runs = encode::Runs::new(offsets, values.start, rows.start);
    for page in pages(rows.len()) {
        let indices = runs.take(page.len(), encode::width(values.len()));
        builder.page(indices, page.len(), Encoding::RLE_DICTIONARY)?;
    }
    Ok(builder)
}

/// A column with value `index(r)` of `dictionary` in row `r`. The dictionary has `values` values.
fn index_column(
    column: &ColumnDescPtr,
    dictionary: &[u8],
    values: usize,
    rows: usize,
    index: impl Fn(usize) -> u32,
) -> Built {
    let mut builder = ColumnBuilder::new(column);
    builder.dictionary(dictionary, values)?;
    for page in pages(rows) {
        let count = page.len();
        let indices = encode::bit_packed(page.map(&index), encode::width(values));
        builder.page(indices, count, Encoding::RLE_DICTIONARY)?;
    }
    Ok(builder)
}

/// A column with string `indices[r]` of `strings` in row `r`, without a dictionary.
fn string_column(column: &ColumnDescPtr, indices: &[u32], strings: &Strings) -> Built {
    let mut builder = ColumnBuilder::new(column);
    for page in pages(indices.len()) {
        let count = page.len();
        let page = indices[page]
            .iter()
            .map(|&index| strings.get(index as usize));
        let values = encode::strings_behind_lengths(page);
        builder.page(values, count, Encoding::DELTA_LENGTH_BYTE_ARRAY)?;
    }
    Ok(builder)
}

/// Sets the range of the values of a sorted dictionary: from `low` to `high`.
fn with_range(mut column: ColumnBuilder, low: &[u8], high: &[u8]) -> ColumnBuilder {
    if low.len().max(high.len()) <= MAX_STATISTIC_BYTES {
        let value = |bytes: &[u8]| Some(ByteArray::from(bytes.to_vec()));
        let (low, high) = (value(low), value(high));
        column.statistics = Some(ColumnStatistics::byte_array(
            low,
            high,
            None,
            Some(0),
            false,
        ));
    }
    column
}

fn tf_column(column: &ColumnDescPtr, tfs: &[u32]) -> Built {
    // Nearly all frequencies are small. Their place in the dictionary comes from a table, without a search.
    const SMALL: usize = 256;
    let mut seen = [false; SMALL];
    let mut distinct = Vec::new();
    for &tf in tfs {
        match seen.get_mut(tf as usize) {
            Some(seen) => *seen = true,
            None => distinct.push(tf),
        }
    }
    distinct.extend((0..).zip(seen).filter(|(_, seen)| *seen).map(|(tf, _)| tf));
    distinct.sort_unstable();
    distinct.dedup();
    let sought = |tf: u32| distinct.partition_point(|&known| known < tf) as u32;
    let small: Vec<u32> = (0..SMALL as u32).map(sought).collect();
    let values: Vec<u8> = distinct.iter().flat_map(|tf| tf.to_le_bytes()).collect();
    index_column(
        column,
        &values,
        distinct.len(),
        tfs.len(),
        |row| match small.get(tfs[row] as usize) {
            Some(&place) => place,
            None => sought(tfs[row]),
        },
    )
}

fn weight_column(column: &ColumnDescPtr, weights: &[f32]) -> Built {
    let mut builder = ColumnBuilder::new(column);
    for page in pages(weights.len()) {
        let count = page.len();
        let values = encode::byte_stream_split(&weights[page]);
        builder.page(values, count, Encoding::BYTE_STREAM_SPLIT)?;
    }
    Ok(builder)
}

/// One row group of a table: names, and the bytes of a number for each.
pub(super) fn table<const N: usize>(
    names: &Strings,
    number: impl Fn(usize) -> [u8; N],
    rows: Range<usize>,
    columns: &[ColumnDescPtr],
) -> Encoded {
    let mut name = ColumnBuilder::new(&columns[0]);
    let mut numbers = ColumnBuilder::new(&columns[1]);
    for page in pages(rows.len()) {
        let page = rows.start + page.start..rows.start + page.end;
        let values = encode::strings(page.clone().map(|row| names.get(row)));
        name.page(values, page.len(), Encoding::PLAIN)?;
        let values = page.clone().flat_map(&number).collect();
        numbers.page(values, page.len(), Encoding::PLAIN)?;
    }
    finish([name, numbers], rows.len())
}

/// The rows of every page, counted from the start of the row group.
fn pages(rows: usize) -> impl Iterator<Item = Range<usize>> {
    (0..rows)
        .step_by(PAGE_ROWS)
        .map(move |from| from..rows.min(from + PAGE_ROWS))
}
