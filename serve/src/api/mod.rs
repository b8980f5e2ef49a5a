//! The routes of `/v1`.

mod asked;
mod bulk;
mod by_url;
mod count;
mod documents;
mod extract;
mod index;
mod openapi;
mod parameters;
mod postings;
mod reply;
mod search;
mod snapshots;
mod terms;
mod values;
mod writes;

use std::sync::Arc;

use axum::routing::{get, post};
use axum::{Extension, Router};

use crate::service::Service;

pub use extract::{read_body, read_json};
pub use openapi::{Described, document};
pub use reply::json;

/// The routes of `/v1`, which `described` describes.
pub fn routes(described: Described) -> Router<Arc<Service>> {
    Router::new()
        .route("/v1", get(index::server))
        .route("/v1/openapi.json", get(openapi::openapi))
        .route("/v1/indexes", get(index::indexes))
        .route(
            "/v1/indexes/{index}",
            get(index::index)
                .put(writes::create_index)
                .delete(writes::remove_index),
        )
        .route("/v1/indexes/{index}/merge", post(writes::merge))
        .route("/v1/indexes/{index}/bulk", post(bulk::bulk))
        .route(
            "/v1/indexes/{index}/search",
            post(search::search).get(by_url::search),
        )
        .route("/v1/indexes/{index}/searches", post(search::searches))
        .route(
            "/v1/indexes/{index}/count",
            post(count::count).get(by_url::count),
        )
        .route(
            "/v1/indexes/{index}/documents/{id}",
            get(documents::document)
                .put(writes::put_document)
                .delete(writes::delete_document),
        )
        .route(
            "/v1/indexes/{index}/documents/{id}/vector",
            get(documents::vector),
        )
        .route("/v1/indexes/{index}/terms", get(terms::terms))
        .route(
            "/v1/indexes/{index}/terms/{term}/postings",
            get(postings::postings),
        )
        .route("/v1/indexes/{index}/statistics", get(index::statistics))
        .route(
            "/v1/indexes/{index}/fields/{field}/values",
            get(values::values),
        )
        .route("/v1/snapshots", get(snapshots::list))
        .route(
            "/v1/snapshots/{snapshot}",
            get(snapshots::read)
                .put(snapshots::take)
                .delete(snapshots::remove),
        )
        .route("/v1/snapshots/{snapshot}/restore", post(snapshots::restore))
        .layer(Extension(described))
}
