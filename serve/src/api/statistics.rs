//! The statistics of an index.

use super::asked::Asked;
use super::parameters::Url;
use super::reply::{Answer, json};
use crate::model::StatisticsAnswer;
use crate::service::to_json;

/// Read the statistics of an index
#[utoipa::path(
    get,
    path = "/v1/indexes/{index}/statistics",
    responses((status = 200, description = "The statistics that weights depend on, and sizes", body = StatisticsAnswer))
)]
pub async fn statistics(Url(()): Url<()>, asked: Asked) -> Answer {
    let info = asked.snapshot.info();
    let statistics = info.statistics;
    let average_length = statistics.average_length();
    let answer = StatisticsAnswer {
        state: asked.snapshot.state(),
        documents: statistics.documents,
        total_length: statistics.total_length,
        average_length: average_length.is_finite().then_some(average_length),
        deleted: info.deleted,
        postings: info.postings,
        terms: info.terms,
        parts: info.parts,
    };
    to_json(&answer).map(json)
}
