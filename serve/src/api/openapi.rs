//! The OpenAPI document of `/v1`.

use std::sync::OnceLock;

use axum::response::Response;
use bytes::Bytes;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::{Object, RefOr, Required, Type};
use utoipa::{IntoResponses, Modify, OpenApi};

use super::reply::json;
use super::{bulk, by_url, count, documents, index, postings, search, terms, values, writes};
use crate::problem::Problem;

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
        by_url::search,
        search::searches,
        count::count,
        by_url::count,
        documents::document,
        documents::vector,
        terms::terms,
        postings::postings,
        index::statistics,
        values::values,
        writes::put_document,
        writes::delete_document,
        writes::merge,
        bulk::bulk,
        writes::create_index,
        writes::remove_index,
    ),
    modifiers(&Common),
    tags(
        (name = "server", description = "The server"),
        (name = "indexes", description = "The indexes"),
        (name = "search", description = "Searches"),
        (name = "documents", description = "Documents"),
        (name = "terms", description = "Terms and their postings"),
    )
)]
struct Document;

/// The parts that operations have in common: their tags, the parameters of their paths, and their problems.
struct Common;

impl Modify for Common {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        for (path, item) in &mut document.paths.paths {
            let methods = [
                &mut item.get,
                &mut item.put,
                &mut item.post,
                &mut item.delete,
            ];
            for operation in methods.into_iter().flatten() {
                operation.tags = Some(vec![tag(path).to_owned()]);
                let parameters = operation.parameters.get_or_insert_default();
                parameters.splice(0..0, path_parameters(path).map(RefOr::T));
                operation.responses.responses.extend(Problem::responses());
            }
        }
    }
}

/// The tag of the operations of a path.
fn tag(path: &str) -> &'static str {
    let rest = path.strip_prefix("/v1/indexes/{index}/");
    match rest.and_then(|rest| rest.split('/').next()) {
        Some("search" | "searches" | "count") => "search",
        Some("documents" | "bulk") => "documents",
        Some("terms") => "terms",
        None if !path.starts_with("/v1/indexes") => "server",
        _ => "indexes",
    }
}

/// The parameters that a path has.
fn path_parameters(path: &str) -> impl Iterator<Item = Parameter> {
    let known = [
        ("index", "The name of the index"),
        ("id", "The id of the document"),
        ("term", "The term, as the index has it"),
        ("field", "The field, one of those that the index keeps"),
    ];
    let text = Object::with_type(Type::String);
    let parameter = move |(name, description)| {
        ParameterBuilder::new()
            .name(name)
            .parameter_in(ParameterIn::Path)
            .required(Required::True)
            .description(Some(description))
            .schema(Some(text.clone()))
            .build()
    };
    let has = |(name, _): &(&str, &str)| path.contains(&format!("{{{name}}}"));
    known.into_iter().filter(has).map(parameter)
}

/// The OpenAPI document.
pub fn document() -> utoipa::openapi::OpenApi {
    Document::openapi()
}

/// Read this document
#[utoipa::path(
    get,
    path = "/v1/openapi.json",
    responses((status = 200, description = "The OpenAPI document", body = Object))
)]
pub async fn openapi() -> Response {
    static JSON: OnceLock<Bytes> = OnceLock::new();
    // The types are fixed: a test writes them as JSON.
    let json_of = || document().to_json().unwrap_or_default().into();
    json(JSON.get_or_init(json_of).clone())
}
