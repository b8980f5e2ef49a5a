//! Documents by id, whole and as sparse vectors of weights.

use std::collections::HashSet;

use tokapi::{Bm25, Error, Kept, Query, SearchOptions};

use crate::model::{DocumentAnswer, VectorAnswer};
use crate::problem::{Kind, Problem};
use crate::search::{explain_terms, fields_json};
use crate::served::Snapshot;

/// Reads a document.
///
/// # Errors
/// No document has the id; the index is damaged.
pub fn document(snapshot: &Snapshot, id: String) -> Result<DocumentAnswer, Problem> {
    let index = snapshot.index();
    let number = find(snapshot, &id)?;
    let mut stored = index.document(number)?;
    let nothing = Query::default();
    Ok(DocumentAnswer {
        state: snapshot.state(),
        sequence: index.sequence(number)?,
        length: index
            .explain(&nothing, &SearchOptions::default(), number)?
            .length,
        fields: fields_json(&mut stored, |_| true),
        text: stored.text,
        id,
    })
}

/// Reads a document as a sparse vector of weights.
///
/// # Errors
/// No document has the id; the index keeps no texts, or cannot weigh by the formula; it is damaged.
pub fn vector(snapshot: &Snapshot, id: String, bm25: Bm25) -> Result<VectorAnswer, Problem> {
    let formula = snapshot.check_formula(&bm25)?.to_string();
    let index = snapshot.index();
    let number = find(snapshot, &id)?;
    let Some(text) = index.document(number)?.text else {
        return Err(Error::NotKept(Kept::Texts).into());
    };
    // Each term once: the query counts its repetitions, the document has them as tf.
    let mut seen = HashSet::new();
    let terms = index.analyzer().terms(&text);
    let terms: Vec<String> = terms.filter(|term| seen.insert(term.clone())).collect();
    let options = SearchOptions::default().bm25(bm25);
    let explained = index.explain(&Query::any(terms), &options, number)?;
    Ok(VectorAnswer {
        state: snapshot.state(),
        id,
        length: explained.length,
        formula,
        terms: explain_terms(index, explained),
    })
}

/// The number of the document with an id.
fn find(snapshot: &Snapshot, id: &str) -> Result<u64, Problem> {
    let found = snapshot.find(id)?;
    found.ok_or_else(|| unknown(snapshot.name(), id))
}

/// The problem of an id that no document has.
pub(super) fn unknown(index: &str, id: &str) -> Problem {
    Problem::new(
        Kind::UnknownDocument,
        format!(
            "no document of the index `{index}` has the id `{}`",
            id.escape_debug()
        ),
    )
}
