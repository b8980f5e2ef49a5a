//! The values of a field.

use super::asked::Asked;
use super::parameters::{PageSize, Url};
use super::reply::Answer;
use crate::model::ValuesAnswer;
use crate::served::Snapshot;

/// List the values of a field, the most frequent first
#[utoipa::path(
    get,
    path = "/v1/indexes/{index}/fields/{field}/values",
    params(PageSize),
    responses((status = 200, description = "Values and the number of documents with each", body = ValuesAnswer))
)]
pub async fn values(Url(page): Url<PageSize>, asked: Asked<(String, String)>) -> Answer {
    asked.snapshot.check_field(&asked.place.1)?;
    let read = move |snapshot: &Snapshot, (_, field): (String, String)| {
        let column = snapshot.column(&field)?;
        Ok(ValuesAnswer {
            state: snapshot.state(),
            values: column.count(0..snapshot.index().numbered(), page.limit),
            distinct: column.distinct(),
            field,
        })
    };
    asked.read(None, read).await
}
