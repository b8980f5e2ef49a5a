//! The postings of a term.

use tokapi::{Bm25, Query, SearchOptions};
use utoipa::IntoParams;

use super::asked::Asked;
use super::parameters::{FormulaParameters, FromUrl, PageSize, Parameters, Url};
use super::reply::Answer;
use crate::limits::Limits;
use crate::model::{PostingAnswer, PostingsAnswer, TermCount};
use crate::problem::{Kind, Problem};
use crate::served::Snapshot;

/// The place where a page begins.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Start {
    /// `next` of the page before
    after: Option<u64>,
}

impl FromUrl for Start {
    fn take(from: &mut Parameters<'_>, _: &Limits) -> Result<Self, Problem> {
        let after = from.value("after")?;
        Ok(Start { after })
    }
}

/// List the postings of a term
///
/// The term is that of the index: `tokapi`'s analyzer may have lower-cased and stemmed it.
#[utoipa::path(
    get,
    path = "/v1/indexes/{index}/terms/{term}/postings",
    params(Start, PageSize, FormulaParameters),
    responses((status = 200, description = "Postings in the order of the index", body = PostingsAnswer))
)]
pub async fn postings(
    Url((start, (size, bm25))): Url<(Start, (PageSize, Bm25))>,
    asked: Asked<(String, String)>,
) -> Answer {
    let formula = *asked.snapshot.check_formula(&bm25)?;
    let read = move |snapshot: &Snapshot, (_, term)| {
        let page = Page {
            term,
            after: start.after,
            limit: size.limit,
            bm25,
            formula,
        };
        page.read(snapshot)
    };
    asked.read(None, read).await
}

struct Page {
    term: String,
    after: Option<u64>,
    limit: usize,
    bm25: Bm25,
    /// The formula that the index weighs by.
    formula: Bm25,
}

impl Page {
    fn read(self, snapshot: &Snapshot) -> Result<PostingsAnswer, Problem> {
        let index = snapshot.index();
        let df = index.df(&self.term)?;
        if df == 0 {
            return Err(Problem::new(
                Kind::UnknownTerm,
                format!(
                    "no document of the index `{}` has the term `{}`: the route `terms` lists its terms",
                    snapshot.name(),
                    self.term.escape_debug()
                ),
            ));
        }
        let query = Query::any([&self.term]);
        let options = SearchOptions::default().bm25(self.bm25);
        let documents = index.documents(&query)?;
        let from = match self.after {
            Some(after) => documents.partition_point(|&document| document <= after),
            None => 0,
        };
        let page = &documents[from..documents.len().min(from.saturating_add(self.limit))];
        let is_end = from + page.len() == documents.len();
        let mut postings = Vec::with_capacity(page.len());
        for &document in page {
            let explained = index.explain(&query, &options, document)?;
            for term in explained.terms {
                postings.push(PostingAnswer {
                    id: index.id(document)?.into_owned(),
                    tf: term.tf,
                    weight: term.weight,
                });
            }
        }
        let last = page.last().filter(|_| !is_end);
        Ok(PostingsAnswer {
            state: snapshot.state(),
            of: TermCount {
                term: self.term,
                df,
            },
            formula: self.formula.to_string(),
            postings,
            next: last.copied(),
        })
    }
}
