//! Counts, terms, and values of fields.

use std::sync::Arc;

use tokapi::Query;

use super::call::Call;
use crate::limits::{Limits, Room, at_least_1, at_most};
use crate::model::{CountAnswer, CountRequest, TermCount, TermsAnswer, ValuesAnswer};
use crate::problem::Problem;
use crate::search::plan_count;
use crate::served::{Snapshot, most_frequent};

/// Terms, postings or values of a page unless a limit is given.
const PAGE: usize = 100;

/// The size of a page.
///
/// # Errors
/// It is 0, or beyond the limit.
pub fn page_size(limits: &Limits, given: Option<usize>) -> Result<usize, Problem> {
    let limit = given.unwrap_or(PAGE);
    at_least_1("limit", limit)?;
    at_most("limit", limit, limits.page)?;
    Ok(limit)
}

/// Counts the documents that match.
///
/// # Errors
/// As [`Call::search`].
pub async fn count(
    call: &Call,
    snapshot: Arc<Snapshot>,
    request: &CountRequest,
) -> Result<CountAnswer, Problem> {
    let query = plan_count(&call.service.limits, &snapshot, request)?;
    let state = snapshot.state();
    let count = move |snapshot: &Snapshot| Ok(snapshot.index().count(&query)?);
    let count = call.read(snapshot, request.timeout_ms, count).await?;
    Ok(CountAnswer {
        took_us: call.took_us(),
        state,
        count,
    })
}

/// At most `limit` terms that begin with `prefix` and come after `after`, ascending.
///
/// # Errors
/// The index is damaged.
pub fn terms(
    snapshot: &Snapshot,
    prefix: &str,
    after: Option<&str>,
    limit: usize,
) -> Result<TermsAnswer, Problem> {
    // One more tells whether this is the last page.
    let most = limit.saturating_add(1);
    let mut terms = snapshot.index().terms(prefix, after, most)?;
    let is_end = terms.len() < most;
    terms.truncate(limit);
    let last = terms.last().filter(|_| !is_end);
    Ok(TermsAnswer {
        state: snapshot.state(),
        next: last.map(|(term, _)| term.clone()),
        terms: terms
            .into_iter()
            .map(|(term, df)| TermCount { term, df })
            .collect(),
    })
}

/// At most `limit` values of a field, the most frequent first.
///
/// # Errors
/// The index does not keep the field; there is no room for its values; the index is damaged.
pub fn values(
    snapshot: &Snapshot,
    field: String,
    limit: usize,
    mut room: Room,
) -> Result<ValuesAnswer, Problem> {
    snapshot.check_values(&field)?;
    let fields = [field];
    let (_, counts) = snapshot.count_values(&Query::everything(), &fields)?;
    let values = counts
        .first()
        .map(|counts| most_frequent(counts, limit, &mut room));
    let (distinct, values) = values.transpose()?.unwrap_or_default();
    let [field] = fields;
    Ok(ValuesAnswer {
        state: snapshot.state(),
        field,
        distinct,
        values,
    })
}
