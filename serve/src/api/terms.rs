//! The terms of an index.

use utoipa::IntoParams;

use super::asked::Asked;
use super::parameters::{FromUrl, PageSize, Parameters, Url};
use super::reply::Answer;
use crate::limits::Limits;
use crate::model::TermsAnswer;
use crate::problem::Problem;
use crate::verbs;

/// The terms to list.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Listed {
    /// The beginning of the terms
    #[param(value_type = Option<String>)]
    prefix: String,
    /// The last term of the page before
    after: Option<String>,
}

impl FromUrl for Listed {
    fn take(from: &mut Parameters<'_>, _: &Limits) -> Result<Self, Problem> {
        Ok(Listed {
            prefix: from.text("prefix")?.unwrap_or_default(),
            after: from.text("after")?,
        })
    }
}

/// List the terms of an index
#[utoipa::path(
    get,
    path = "/v1/indexes/{index}/terms",
    params(Listed, PageSize),
    responses((status = 200, description = "Terms in ascending order", body = TermsAnswer))
)]
pub async fn terms(Url((listed, page)): Url<(Listed, PageSize)>, asked: Asked) -> Answer {
    let read = move |snapshot: &_, _| {
        verbs::terms(
            snapshot,
            &listed.prefix,
            listed.after.as_deref(),
            page.limit,
        )
    };
    asked.read(read).await
}
