//! The postings of a term.

use tokapi::{Bm25, Index, Query, SearchOptions};

use crate::limits::Room;
use crate::model::{PostingAnswer, PostingsAnswer, TermCount};
use crate::problem::{Kind, Problem};
use crate::served::Snapshot;

/// The postings to read.
pub struct PostingsPage {
    /// The term, as the index has it.
    pub term: String,
    /// `next` of the page before.
    pub after: Option<u64>,
    /// The most postings.
    pub limit: usize,
    /// The formula of the weights.
    pub bm25: Bm25,
}

/// Reads some postings of a term.
///
/// # Errors
/// No document has the term; the index cannot weigh by the formula; there is no room for the postings; the index is
/// damaged.
pub fn postings(
    snapshot: &Snapshot,
    page: PostingsPage,
    mut room: Room,
) -> Result<PostingsAnswer, Problem> {
    let PostingsPage {
        term,
        after,
        limit,
        bm25,
    } = page;
    let formula = snapshot.check_formula(&bm25)?.to_string();
    let index = snapshot.index();
    let df = index.df(&term)?;
    if df == 0 {
        return Err(Problem::new(
            Kind::UnknownTerm,
            format!(
                "no document of the index `{}` has the term `{}`: the route `terms` lists its terms",
                snapshot.name(),
                term.escape_debug()
            ),
        ));
    }
    let query = Query::any([&term]);
    let options = SearchOptions::default().bm25(bm25);
    let documents = index.documents(&query)?;
    let from = match after {
        Some(after) => first_behind(index, &documents, after)?,
        None => 0,
    };
    let page = &documents[from..documents.len().min(from.saturating_add(limit))];
    let is_end = from + page.len() == documents.len();
    let mut postings = Vec::with_capacity(page.len());
    for &document in page {
        let explained = index.explain(&query, &options, document)?;
        for term in explained.terms {
            let id = index.id(document)?;
            room.take_part(&id)?;
            postings.push(PostingAnswer {
                id: id.into_owned(),
                tf: term.tf,
                weight: term.weight,
            });
        }
    }
    let last = page.last().filter(|_| !is_end);
    Ok(PostingsAnswer {
        state: snapshot.state(),
        of: TermCount { term, df },
        formula,
        postings,
        next: last.map(|&last| index.sequence(last)).transpose()?,
    })
}

/// The place of the first of `documents` behind the sequence number `after`. Both ascend together, and merges change no
/// sequence number.
fn first_behind(index: &Index, documents: &[u64], after: u64) -> Result<usize, Problem> {
    let (mut from, mut to) = (0, documents.len());
    while from < to {
        let middle = from.midpoint(to);
        match index.sequence(documents[middle])? <= after {
            true => from = middle + 1,
            false => to = middle,
        }
    }
    Ok(from)
}
