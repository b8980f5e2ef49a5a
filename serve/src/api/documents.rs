//! Documents by id, whole and as sparse vectors of weights.

use tokapi::{Bm25, Error, Kept, Query, SearchOptions};

use super::asked::{Asked, DocumentPath};
use super::parameters::{FormulaParameters, Url};
use super::reply::Answer;
use crate::model::{DocumentAnswer, VectorAnswer};
use crate::problem::{Kind, Problem};
use crate::search::{explain_terms, fields_json};
use crate::served::Snapshot;

/// Read a document
#[utoipa::path(
    get,
    path = "/v1/indexes/{index}/documents/{id}",
    responses((status = 200, description = "The document", body = DocumentAnswer))
)]
pub async fn document(Url(()): Url<()>, asked: Asked<DocumentPath>) -> Answer {
    let read = |snapshot: &Snapshot, DocumentPath { id, .. }| {
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
    };
    asked.read(None, read).await
}

/// Read a document as a sparse vector of weights
///
/// The index must keep texts.
#[utoipa::path(
    get,
    path = "/v1/indexes/{index}/documents/{id}/vector",
    params(FormulaParameters),
    responses((status = 200, description = "The weights of all terms of the document", body = VectorAnswer))
)]
pub async fn vector(Url(bm25): Url<Bm25>, asked: Asked<DocumentPath>) -> Answer {
    let formula = asked.snapshot.check_formula(&bm25)?.to_string();
    let read = move |snapshot: &Snapshot, DocumentPath { id, .. }| {
        let index = snapshot.index();
        let number = find(snapshot, &id)?;
        let Some(text) = index.document(number)?.text else {
            return Err(Error::NotKept(Kept::Texts).into());
        };
        // Each term once: the query counts its repetitions, the document has them as tf.
        let mut seen = std::collections::HashSet::new();
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
    };
    asked.read(None, read).await
}

/// The number of the document with an id.
fn find(snapshot: &Snapshot, id: &str) -> Result<u64, Problem> {
    let found = snapshot.find(id)?;
    found.ok_or_else(|| {
        Problem::new(
            Kind::UnknownDocument,
            format!(
                "no document of the index `{}` has the id `{}`",
                snapshot.name(),
                id.escape_debug()
            ),
        )
    })
}
