//! The postings of a term.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{RawQuery, State};
use axum::response::Response;
use tokapi::{Bm25, Query, SearchOptions};

use super::extract::Place;
use super::parameters::Parameters;
use super::reply::json;
use super::terms::PAGE;
use crate::limits::at_most;
use crate::model::{FormulaName, PostingAnswer, PostingsAnswer};
use crate::problem::{Kind, Problem};
use crate::search::Deadline;
use crate::served::Snapshot;
use crate::service::Service;

/// List the postings of a term
///
/// The term is that of the index: `tokapi`'s analyzer may have lower-cased and stemmed it.
#[utoipa::path(
    get,
    path = "/v1/indexes/{index}/terms/{term}/postings",
    tag = "terms",
    operation_id = "postings",
    params(
        ("index" = String, Path, description = "The name of the index"),
        ("term" = String, Path, description = "The term, as the index has it"),
        ("after" = Option<u64>, Query, description = "`next` of the page before"),
        ("limit" = Option<usize>, Query, description = "The number of postings; 100 unless given"),
        ("formula" = Option<FormulaName>, Query, description = "The formula of weights"),
        ("k1" = Option<f64>, Query, description = "How much repetitions of a term add"),
        ("b" = Option<f64>, Query, description = "How much the length of a document counts"),
        ("delta" = Option<f64>, Query, description = "The parameter delta of bm25l and bm25plus"),
        ("avdl" = Option<f64>, Query, description = "The average length of a document"),
    ),
    responses(
        (status = 200, description = "Postings in the order of the index", body = PostingsAnswer),
        (status = "default", description = "A problem", body = Problem, content_type = "application/problem+json"),
    )
)]
pub async fn postings(
    State(service): State<Arc<Service>>,
    Place((index, term)): Place<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let mut parameters = Parameters::new(query.as_deref());
    let after: Option<u64> = parameters.value("after")?;
    let limit = parameters.value("limit")?.unwrap_or(PAGE);
    let bm25 = parameters.bm25()?;
    parameters.finish()?;
    at_most("limit", limit, service.limits.page)?;
    let snapshot = service.catalog.snapshot(&index)?;
    let formula = *snapshot.check_formula(&bm25)?;
    let deadline = Deadline::after(&service.limits, Instant::now(), None)?;
    let page = Page {
        term,
        after,
        limit,
        bm25,
        formula,
    };
    let read = move |snapshot: &Snapshot| page.read(snapshot);
    service.read(snapshot, deadline, read).await.map(json)
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
            index: snapshot.name().to_owned(),
            epoch: snapshot.epoch(),
            complete: true,
            term: self.term,
            df,
            formula: self.formula.to_string(),
            postings,
            next: last.copied(),
        })
    }
}
