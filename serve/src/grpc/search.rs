//! Searches and counts.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::{BoxFuture, ready};
use prost::Message;
use tonic::{Request, Response, Status, Streaming};

use super::arrive::arrived;
use super::proto::search_outcome::Outcome;
use super::proto::search_service_server::SearchService;
use super::proto::{
    self, CountRequest, CountResponse, Facet, Highlight, Hit, SearchBatchRequest,
    SearchBatchResponse, SearchOutcome, SearchRequest, SearchResponse, State,
};
use super::stream::{Answering, Answers, answers};
use super::values::{all, fields_of, size, state, weighting_of};
use crate::model::{self, FilterParts, FilterRequest, HitAnswer, SearchAnswer};
use crate::problem::Problem;
use crate::verbs::{self, Call, Form, Timed};

/// Answers as messages.
const FORM: Form = Form {
    name: b"grpc",
    write: |answer| SearchResponse::from(answer).encode_to_vec().into(),
};

/// Searches and counts.
pub struct Searches;

#[tonic::async_trait]
impl SearchService for Searches {
    async fn search(
        &self,
        request: Request<SearchRequest>,
    ) -> Result<Response<SearchResponse>, Status> {
        let (call, request) = arrived(request)?;
        Ok(Response::new(search(&call, request).await?))
    }

    async fn search_batch(
        &self,
        request: Request<SearchBatchRequest>,
    ) -> Result<Response<SearchBatchResponse>, Status> {
        let (call, request) = arrived(request)?;
        Ok(Response::new(search_batch(&call, request).await?))
    }

    type SearchStreamStream = Answers<SearchOutcome>;

    async fn search_stream(
        &self,
        request: Request<Streaming<SearchRequest>>,
    ) -> Result<Response<Self::SearchStreamStream>, Status> {
        let (call, requests) = arrived(request)?;
        Ok(Response::new(answers(call, requests, begin)))
    }

    async fn count(
        &self,
        request: Request<CountRequest>,
    ) -> Result<Response<CountResponse>, Status> {
        let (call, request) = arrived(request)?;
        Ok(Response::new(count(&call, request).await?))
    }
}

async fn search(call: &Call, request: SearchRequest) -> Result<SearchResponse, Problem> {
    let snapshot = call.service.catalog.snapshot(&request.index)?;
    response(call.search(&snapshot, request.try_into()?, &FORM).await?)
}

async fn search_batch(
    call: &Call,
    batch: SearchBatchRequest,
) -> Result<SearchBatchResponse, Problem> {
    // One state of each index.
    let mut snapshots = BTreeMap::new();
    let mut searches = Vec::with_capacity(batch.searches.len());
    for request in batch.searches {
        let snapshot = match snapshots.get(&request.index) {
            Some(snapshot) => Arc::clone(snapshot),
            None => {
                let snapshot = call.service.catalog.snapshot(&request.index)?;
                snapshots.insert(request.index.clone(), Arc::clone(&snapshot));
                snapshot
            }
        };
        searches.push((snapshot, request.try_into()?));
    }
    let answers = call.searches(searches, &FORM).await?;
    let answers = answers.into_iter();
    let outcomes = answers.map(|answer| outcome(answer.and_then(response)));
    Ok(SearchBatchResponse {
        outcomes: outcomes.collect(),
    })
}

async fn count(call: &Call, request: CountRequest) -> Result<CountResponse, Problem> {
    let snapshot = call.service.catalog.snapshot(&request.index)?;
    let request = model::CountRequest {
        query: request.query,
        mode: mode_of(request.mode)?,
        operators: request.operators.unwrap_or(true),
        filters: filters_of(request.filters),
        timeout_ms: request.timeout_ms,
    };
    let answer = verbs::count(call, snapshot, &request).await?;
    Ok(CountResponse {
        took_us: answer.took_us,
        state: state(answer.state),
        count: answer.count,
    })
}

/// Begins a search of a stream.
fn begin(call: Call, request: SearchRequest) -> BoxFuture<'static, Answering<SearchOutcome>> {
    let answering = Answering(Box::pin(async move {
        let answer = search(&call, request).await;
        if let Err(problem) = &answer {
            problem.log_cause(&call.id.id);
        }
        outcome(answer)
    }));
    Box::pin(ready(answering))
}

/// An answer with its time.
fn response(timed: Timed) -> Result<SearchResponse, Problem> {
    let mut response = SearchResponse::decode(timed.answer).map_err(Problem::internal)?;
    response.took_us = timed.took_us;
    Ok(response)
}

fn outcome(answer: Result<SearchResponse, Problem>) -> SearchOutcome {
    let outcome = match answer {
        Ok(response) => Outcome::Response(response),
        Err(problem) => Outcome::Problem((&problem).into()),
    };
    SearchOutcome {
        outcome: Some(outcome),
    }
}

fn mode_of(mode: i32) -> Result<model::Mode, Problem> {
    match proto::Mode::try_from(mode) {
        Ok(proto::Mode::Unspecified | proto::Mode::Or) => Ok(model::Mode::Or),
        Ok(proto::Mode::And) => Ok(model::Mode::And),
        Ok(proto::Mode::Phrase) => Ok(model::Mode::Phrase),
        Err(_) => Err(Problem::invalid(format!(
            "mode: {mode} is none: use a value of the enumeration Mode"
        ))),
    }
}

fn filters_of(filters: Vec<proto::Filter>) -> Vec<FilterRequest> {
    let filters = filters.into_iter().map(|filter| {
        FilterRequest::Parts(FilterParts {
            field: filter.field,
            value: filter.value,
            not: filter.not,
        })
    });
    filters.collect()
}

impl TryFrom<SearchRequest> for model::SearchRequest {
    type Error = Problem;

    fn try_from(request: SearchRequest) -> Result<Self, Problem> {
        let usual = model::SearchRequest::default();
        let weighting = weighting_of(request.weighting)?;
        Ok(model::SearchRequest {
            query: request.query,
            mode: mode_of(request.mode)?,
            operators: request.operators.unwrap_or(usual.operators),
            filters: filters_of(request.filters),
            formula: weighting.formula,
            k1: weighting.k1,
            b: weighting.b,
            delta: weighting.delta,
            avdl: weighting.avdl,
            k: request.k.map_or(usual.k, size),
            after: request.after,
            snippets: request.snippets.unwrap_or(usual.snippets),
            snippet_characters: request
                .snippet_characters
                .map_or(usual.snippet_characters, size),
            fields: request.fields.map(|fields| fields.names),
            text: request.text,
            explain: request.explain,
            count: request.count,
            facets: request.facets,
            timeout_ms: request.timeout_ms,
        })
    }
}

impl From<SearchAnswer> for SearchResponse {
    fn from(answer: SearchAnswer) -> Self {
        let facets = answer.facets.into_iter().flatten();
        let facets = facets.map(|(field, values)| {
            let values = all(values);
            (field, Facet { values })
        });
        SearchResponse {
            took_us: answer.took_us.unwrap_or_default(),
            state: Some(State {
                index: answer.index,
                epoch: answer.epoch,
                complete: answer.complete,
            }),
            count: answer.count,
            hits: all(answer.hits),
            next: answer.next,
            facets: facets.collect(),
        }
    }
}

impl From<HitAnswer> for Hit {
    fn from(hit: HitAnswer) -> Self {
        // A snippet has at most 2^32 characters.
        let highlights = hit.highlights.into_iter().flatten();
        let highlights = highlights.map(|[from, to]| Highlight {
            from: from as u32,
            to: to as u32,
        });
        Hit {
            id: hit.id,
            score: hit.score,
            sequence: hit.sequence,
            snippet: hit.snippet,
            highlights: highlights.collect(),
            fields: fields_of(hit.fields),
            text: hit.text,
            length: hit.length,
            terms: all(hit.terms.unwrap_or_default()),
        }
    }
}
