//! The values of a field.

use super::asked::Asked;
use super::parameters::{PageSize, Url};
use super::reply::Answer;
use crate::model::ValuesAnswer;
use crate::verbs;

/// List the values of a field, the most frequent first
#[utoipa::path(
    get,
    path = "/v1/indexes/{index}/fields/{field}/values",
    params(PageSize),
    responses((status = 200, description = "Values and the number of documents with each", body = ValuesAnswer))
)]
pub async fn values(Url(page): Url<PageSize>, asked: Asked<(String, String)>) -> Answer {
    let room = asked.call.room();
    let read = move |snapshot: &_, (_, field)| verbs::values(snapshot, field, page.limit, room);
    asked.read(read).await
}
