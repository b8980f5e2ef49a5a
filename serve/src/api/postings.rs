//! The postings of a term.

use tokapi::Bm25;
use utoipa::IntoParams;

use super::asked::Asked;
use super::parameters::{FromUrl, PageSize, Parameters, Url};
use super::reply::Answer;
use crate::limits::Limits;
use crate::model::{PostingsAnswer, Weighting};
use crate::problem::Problem;
use crate::served::Snapshot;
use crate::verbs::{self, PostingsPage};

/// The place where a page begins.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Start {
    /// `next` of the page before: a sequence number, which stays when parts are merged
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
    params(Start, PageSize, Weighting),
    responses((status = 200, description = "Postings in the order of the index", body = PostingsAnswer))
)]
pub async fn postings(
    Url((start, (size, bm25))): Url<(Start, (PageSize, Bm25))>,
    asked: Asked<(String, String)>,
) -> Answer {
    let room = asked.call.room();
    let read = move |snapshot: &Snapshot, (_, term)| {
        let page = PostingsPage {
            term,
            after: start.after,
            limit: size.limit,
            bm25,
        };
        verbs::postings(snapshot, page, room)
    };
    asked.read(read).await
}
