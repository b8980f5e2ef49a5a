//! `_search`, `_msearch` and `_count`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::State;
use futures_util::stream::{self, StreamExt};
use tokapi::SearchOptions;

use super::{Answer, Ask, Asked, Elastic, bm25, of_error, with_reader};
use crate::elastic::answer::{self, Hits};
use crate::elastic::dsl::{self, SearchBody, has_no_effect, unknown_param};
use crate::elastic::error::{Refusal, Result};
use crate::elastic::reader::{Members, Place};
use crate::elastic::tree::Tree;

/// `_search`.
pub async fn search(State(elastic): Asked, ask: Ask) -> Result<Answer> {
    let body = SearchBody::parse(&ask.json()?, &ask.params)?;
    let (json, warnings) = one(&elastic, ask.place("index"), body, ask.started).await?;
    Ok(Answer::ok(json).warn(warnings))
}

/// The answer to a search, and what it does otherwise than Elasticsearch would.
async fn one(
    elastic: &Elastic,
    index: &str,
    body: SearchBody,
    started: Instant,
) -> Result<(Vec<u8>, Vec<String>)> {
    let snapshot = elastic.one(index)?;
    let definition = elastic.definition(&snapshot);
    let timeout = body.timeout;
    let answer_bytes = elastic.service.limits.answer_bytes;
    let work = move |snapshot: &crate::served::Snapshot| {
        let mut warnings = body.warnings.clone();
        let index = &**snapshot.index();
        if body.highlight.is_some() && !index.keep().text {
            return Err(Refusal::illegal(format!(
                "`highlight` needs texts, and the index [{}] keeps none; build it again with --store, or leave out `highlight`",
                snapshot.name()
            )));
        }
        if let Some(highlight) = &body.highlight {
            highlight.check(&definition.mapping, &mut warnings);
        }
        let cut = |text: &str| index.analyzer().terms(text).collect();
        let scores = body.size > 0 && body.sort.by_score();
        let plan = dsl::lower(
            &body.query,
            &definition.mapping,
            &cut,
            scores,
            &mut warnings,
        )?;
        let found = with_reader(snapshot, &definition, |reader| reader.page(&plan, &body))?;
        let of = Hits {
            name: snapshot.name(),
            index,
            text: definition.text(),
            body: &body,
            plan: &plan,
            options: SearchOptions::default().bm25(bm25(&definition)),
            answer_bytes,
        };
        let tail = answer::search(&of, &found).map_err(of_error)?;
        let json = answer::with_took(started.elapsed().as_millis(), &tail);
        Ok((json, warnings))
    };
    elastic.work(&snapshot, timeout, started, work).await
}

/// `_count`.
pub async fn count(State(elastic): Asked, ask: Ask) -> Result<Answer> {
    let known = ["q", "df", "default_operator", "filter_path"];
    let other = ask
        .params
        .iter()
        .find(|(name, _)| !known.contains(&&**name) && !has_no_effect(name));
    if let Some((name, value)) = other {
        return Err(unknown_param(name, value));
    }
    let (query, mut warnings) = dsl::parse_query(&ask.json()?, &ask.params)?;
    let snapshot = elastic.one(ask.place("index"))?;
    let definition = elastic.definition(&snapshot);
    let work = move |snapshot: &crate::served::Snapshot| {
        let index = snapshot.index();
        let cut = |text: &str| index.analyzer().terms(text).collect();
        let plan = dsl::lower(&query, &definition.mapping, &cut, false, &mut warnings)?;
        let count = with_reader(snapshot, &definition, |reader| reader.count(&plan.matching))?;
        Ok((count, warnings))
    };
    let (count, warnings) = elastic.work(&snapshot, None, ask.started, work).await?;
    Ok(Answer::ok(answer::count(count)).warn(warnings))
}

/// A search of `_msearch`.
struct Part {
    index: String,
    body: Result<SearchBody>,
}

/// `_msearch`.
pub async fn several(State(elastic): Asked, ask: Ask) -> Result<Answer> {
    let parts = parts(&ask)?;
    let limit = elastic.service.limits.batch;
    if parts.len() > limit {
        return Err(Refusal::illegal(format!(
            "the request has {} searches; send at most {limit}",
            parts.len()
        )));
    }
    let started = ask.started;
    let searches = parts.into_iter().map(|part| {
        let elastic = Arc::clone(&elastic);
        async move { one(&elastic, &part.index, part.body?, started).await }
    });
    let mut json = Vec::new();
    let mut all: Vec<String> = Vec::new();
    let share = elastic.service.engine.share();
    let mut searches = stream::iter(searches).buffered(share);
    // The first answer without room ends all searches.
    let mut room = elastic.room();
    while let Some(found) = searches.next().await {
        if !json.is_empty() {
            json.push(b',');
        }
        match found {
            Ok((found, warnings)) => {
                room.take(found.len()).map_err(of_error)?;
                let tail = found.strip_suffix(b"}").unwrap_or(&found);
                json.extend_from_slice(tail);
                json.extend_from_slice(b",\"status\":200}");
                let new = warnings
                    .into_iter()
                    .filter(|warning| !all.contains(warning));
                let new: Vec<String> = new.collect();
                all.extend(new);
            }
            Err(refusal) => json.extend_from_slice(refusal.body().to_string().as_bytes()),
        }
    }
    let took = Duration::as_millis(&started.elapsed());
    let mut body = format!("{{\"took\":{took},\"responses\":[").into_bytes();
    body.extend_from_slice(&json);
    body.extend_from_slice(b"]}");
    Ok(Answer::ok(body).warn(all))
}

/// The pairs of lines of a request: a head and a search.
fn parts(ask: &Ask) -> Result<Vec<Part>> {
    let mut parts = Vec::new();
    let mut lines = ask.body.split(|&byte| byte == b'\n').enumerate();
    while let Some((number, head)) = lines.next() {
        let place = Place::default().member(&format!("line {}", number + 1));
        // An empty head is allowed; an empty line at the end is the end.
        let Some((_, body)) = lines.next() else {
            match head.trim_ascii().is_empty() {
                true => break,
                false => {
                    let reason = format!(
                        "the head at {place} has no search after it; send it on the next line"
                    );
                    return Err(Refusal::illegal(reason));
                }
            }
        };
        if head.trim_ascii().is_empty() && body.trim_ascii().is_empty() {
            continue;
        }
        parts.push(part(head, body, place, ask)?);
    }
    match parts.is_empty() {
        true => Err(Refusal::new(
            400,
            "action_request_validation_exception",
            "no requests added; send a line with a head and a line with a search for each",
        )),
        false => Ok(parts),
    }
}

fn part(head: &[u8], body: &[u8], place: Place, ask: &Ask) -> Result<Part> {
    let head = Tree::parse(head)?;
    let mut members = Members::of(&head, place)?;
    let index = members.texts("index")?.unwrap_or_default().join(",");
    let mut params: Vec<(String, String)> = ask
        .params
        .iter()
        .filter(|(name, _)| name != "max_concurrent_searches" && name != "filter_path")
        .cloned()
        .collect();
    if let Some(kind) = members.text("search_type")? {
        params.push(("search_type".into(), kind.into()));
    }
    for name in [
        "preference",
        "request_cache",
        "ignore_unavailable",
        "allow_no_indices",
        "expand_wildcards",
        "allow_partial_search_results",
        "ccs_minimize_roundtrips",
    ] {
        members.take(name);
    }
    members.finish("msearch")?;
    Ok(Part {
        index: match index.is_empty() {
            true => ask.place("index").to_owned(),
            false => index,
        },
        body: Tree::parse(body).and_then(|body| SearchBody::parse(&body, &params)),
    })
}
