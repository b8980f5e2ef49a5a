//! The OpenAPI document of `/v1`.

use std::sync::OnceLock;

use axum::response::Response;
use bytes::Bytes;
use utoipa::OpenApi;

use super::reply::json;
use super::{bulk, count, documents, index, postings, search, statistics, terms, values, writes};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Tokapi",
        description = "Exact BM25 search. Every answer names its index, the epoch that was read, and whether it is \
                       complete. Every error is a problem (RFC 9457): the fault, its place, and what to do.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    paths(
        index::server,
        openapi,
        index::indexes,
        index::index,
        search::search,
        search::search_by_url,
        search::searches,
        count::count,
        count::count_by_url,
        documents::document,
        documents::vector,
        terms::terms,
        postings::postings,
        statistics::statistics,
        values::values,
        writes::put_document,
        writes::delete_document,
        writes::merge,
        bulk::bulk,
        writes::create_index,
        writes::remove_index,
    ),
    tags(
        (name = "server", description = "The server"),
        (name = "indexes", description = "The indexes"),
        (name = "search", description = "Searches"),
        (name = "documents", description = "Documents"),
        (name = "terms", description = "Terms and their postings"),
    )
)]
struct Document;

/// The OpenAPI document.
pub fn document() -> utoipa::openapi::OpenApi {
    Document::openapi()
}

/// Read this document
#[utoipa::path(
    get,
    path = "/v1/openapi.json",
    tag = "server",
    responses((status = 200, description = "The OpenAPI document", body = Object))
)]
pub async fn openapi() -> Response {
    static JSON: OnceLock<Bytes> = OnceLock::new();
    // The types are fixed: a test writes them as JSON.
    let json_of = || document().to_json().unwrap_or_default().into();
    json(JSON.get_or_init(json_of).clone())
}
