//! The routes of Elasticsearch's subset.

mod ask;
mod bulk;
mod cluster;
mod documents;
mod indexes;
mod remove;
mod search;
mod writing;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::handler::Handler;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};

use super::error::{Refusal, Result};
use super::find::Reader;
use super::mapping::matches;
use super::store::{Definition, Store};
use crate::limits::Room;
use crate::served::Snapshot;
use crate::service::Service;
use ask::{Answer, Ask, of_error, of_problem};

pub use writing::Writing;

/// The options of the subset.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ElasticOptions {
    /// Whether answers have the header `X-Elastic-Product`, which Elasticsearch's own clients want.
    pub product: bool,
    /// The version of Elasticsearch whose interface is served.
    pub version: String,
}

impl Default for ElasticOptions {
    fn default() -> Self {
        ElasticOptions {
            product: false,
            version: "8.19.0".to_owned(),
        }
    }
}

/// What the routes use.
pub struct Elastic {
    /// The indexes and searches.
    pub service: Arc<Service>,
    /// The writes.
    pub store: Arc<dyn Store>,
    /// The options.
    pub options: ElasticOptions,
}

type Asked = State<Arc<Elastic>>;

/// A route that reads: clients send its body with `GET` or with `POST`.
fn read<H: Handler<T, S>, T: 'static, S: Clone + Send + Sync + 'static>(
    handler: H,
) -> MethodRouter<S> {
    get(handler.clone()).post(handler)
}

/// The routes. `GET /` is not among them, because it is the page of browsers too: see [`root`].
pub fn routes<S: Clone + Send + Sync + 'static>(elastic: Arc<Elastic>) -> Router<S> {
    let documents = || {
        get(documents::get)
            .put(bulk::put)
            .post(bulk::put)
            .delete(bulk::delete)
    };
    let index = get(indexes::get)
        .put(indexes::create)
        .delete(indexes::delete);
    Router::new()
        .route("/_cluster/health", get(cluster::health))
        .route("/_cluster/health/{index}", get(cluster::health))
        .route("/_cat/indices", get(cluster::cat))
        .route("/_cat/indices/{index}", get(cluster::cat))
        .route("/_search", read(search::search))
        .route("/{index}/_search", read(search::search))
        .route("/_msearch", read(search::several))
        .route("/{index}/_msearch", read(search::several))
        .route("/_count", read(search::count))
        .route("/{index}/_count", read(search::count))
        .route("/_mget", read(documents::several))
        .route("/{index}/_mget", read(documents::several))
        .route("/_bulk", post(bulk::bulk).put(bulk::bulk))
        .route("/{index}/_bulk", post(bulk::bulk).put(bulk::bulk))
        .route("/_refresh", read(indexes::refresh))
        .route("/{index}/_refresh", read(indexes::refresh))
        .route("/{index}/_flush", read(indexes::refresh))
        .route("/{index}/_forcemerge", post(indexes::merge))
        .route("/_alias", get(indexes::aliases))
        .route("/_alias/{alias}", get(indexes::alias))
        .route("/{index}/_alias", get(indexes::aliases))
        .route("/{index}/_alias/{alias}", get(indexes::alias))
        .route("/_mapping", get(indexes::mappings))
        .route(
            "/{index}/_mapping",
            get(indexes::mappings).put(indexes::map).post(indexes::map),
        )
        .route(
            "/{index}/_mappings",
            get(indexes::mappings).put(indexes::map).post(indexes::map),
        )
        .route("/_settings", get(indexes::settings))
        .route(
            "/{index}/_settings",
            get(indexes::settings).put(indexes::set),
        )
        .route("/{index}/_doc", post(bulk::add))
        .route("/{index}/_doc/{id}", documents())
        .route(
            "/{index}/_create/{id}",
            post(bulk::create).put(bulk::create),
        )
        .route("/{index}/_source/{id}", get(documents::source))
        .route("/{index}/_delete_by_query", post(remove::by_query))
        .route("/{index}", index)
        .layer(from_fn_with_state(Arc::clone(&elastic), ask::form))
        .with_state(elastic)
}

/// The answer of `GET /` and `HEAD /` to a client that asks for no HTML.
pub fn root(elastic: &Elastic) -> Response {
    let mut response =
        Answer::json(200, &super::answer::root(&elastic.options.version)).into_response();
    if elastic.options.product {
        let name = axum::http::HeaderValue::from_static("Elasticsearch");
        response.headers_mut().insert("x-elastic-product", name);
    }
    response
}

/// The answer to a path without a route, if it is one of Elasticsearch: a part of it begins with `_`.
pub fn unknown(request: &Request) -> Option<Response> {
    const ADVICE: [(&str, &str); 8] = [
        (
            "_update",
            "send the whole document with PUT /{index}/_doc/{id}",
        ),
        ("_update_by_query", "send the whole documents with _bulk"),
        ("_scroll", "page with `search_after`"),
        ("scroll", "page with `search_after`"),
        ("_pit", "page with `search_after`"),
        (
            "_reindex",
            "read the documents with `search_after`, and write them with _bulk",
        ),
        ("_sql", "use _search"),
        ("_analyze", "use GET /v1/indexes/{index}/terms"),
    ];
    let (path, method) = (request.uri().path(), request.method());
    let mut parts = path.split('/').skip(1).take(3);
    if !parts.clone().take(2).any(|part| part.starts_with('_')) {
        return None;
    }
    let advice = parts.find_map(|part| ADVICE.iter().find(|(name, _)| *name == part));
    let advice = advice.map_or("see the guide for the supported ones", |(_, advice)| advice);
    let refusal = Refusal::illegal(format!(
        "no handler found for uri [{}] and method [{method}]; {advice}",
        path.escape_debug()
    ));
    Some(refusal.into_response())
}

impl Elastic {
    /// The one index that `name` stands for: a name, or a pattern that only one index has.
    fn one(&self, name: &str) -> Result<Arc<Snapshot>> {
        let names = self.named(name)?;
        match &names[..] {
            [one] => self.service.catalog.snapshot(one).map_err(of_problem),
            _ => Err(Refusal::illegal(format!(
                "[{}] stands for {} indexes; name one of them: {}",
                name.escape_debug(),
                names.len(),
                names.join(", ")
            ))),
        }
    }

    /// The names that `names` stands for: names and patterns with commas between them. Nothing and `_all` stand for all.
    fn named(&self, names: &str) -> Result<Vec<String>> {
        let all = self.service.catalog.names();
        let mut found = Vec::new();
        for name in names.split(',') {
            let pattern = match name {
                "" | "_all" => "*",
                name => name,
            };
            if pattern.contains('*') {
                let of = all.iter().filter(|name| matches(pattern, name));
                found.extend(of.cloned());
            } else if all.iter().any(|known| known == pattern) {
                found.push(pattern.to_owned());
            } else {
                return Err(Refusal::no_index(pattern));
            }
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// The definition of an index.
    fn definition(&self, snapshot: &Snapshot) -> Arc<Definition> {
        self.store.definition(snapshot.name(), snapshot.index())
    }

    /// Room for an answer.
    fn room(&self) -> Room {
        Room::new(self.service.limits.answer_bytes)
    }

    /// Does work on an index on a thread of searches.
    async fn work<T: Send + 'static>(
        &self,
        snapshot: &Arc<Snapshot>,
        timeout: Option<std::time::Duration>,
        started: std::time::Instant,
        work: impl FnOnce(&Snapshot) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let milliseconds = timeout.map(|timeout| {
            let longest = self.service.limits.longest_timeout_ms;
            let milliseconds = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
            milliseconds.clamp(1, longest)
        });
        let deadline = crate::search::Deadline::after(&self.service.limits, started, milliseconds);
        let deadline = deadline.map_err(of_problem)?;
        let index = Arc::clone(snapshot.index());
        let snapshot = Arc::clone(snapshot);
        let work = move || Ok(work(&snapshot));
        let done = self.service.engine.work(index, deadline, work).await;
        done.map_err(of_problem)?
    }

    /// Does work that waits for the disk on a thread of its own.
    async fn write<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Elastic) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let elastic = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || work(&elastic)).await;
        done.unwrap_or_else(|_| {
            Err(Refusal::new(
                500,
                "exception",
                "the server failed to answer; its log has the cause",
            ))
        })
    }
}

/// The formula of an index.
fn bm25(definition: &Definition) -> tokapi::Bm25 {
    let mut bm25 = tokapi::Bm25::default();
    if let Some(k1) = definition.settings.k1 {
        bm25 = bm25.k1(k1);
    }
    if let Some(b) = definition.settings.b {
        bm25 = bm25.b(b);
    }
    bm25
}

/// Calls `read` with a reader of a snapshot.
fn with_reader<T>(
    snapshot: &Snapshot,
    definition: &Definition,
    read: impl FnOnce(&Reader<'_>) -> tokapi::Result<T>,
) -> Result<T> {
    let find = |id: &str| snapshot.find(id);
    let reader = Reader {
        index: snapshot.index(),
        find: &find,
        bm25: bm25(definition),
    };
    read(&reader).map_err(of_error)
}

#[cfg(test)]
mod tests;
