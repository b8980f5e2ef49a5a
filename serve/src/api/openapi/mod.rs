//! The OpenAPI document of `/v1`.

mod precise;
mod problems;

use axum::Extension;
use axum::response::Response;
use bytes::Bytes;
use serde_json::Value;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::{Object, ObjectBuilder, RefOr, Required, Type};
use utoipa::{Modify, OpenApi};

use super::parameters::Url;
use super::reply::json;
use super::{
    bulk, by_url, count, documents, index, postings, search, snapshots, terms, values, writes,
};
use crate::limits::Limits;
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
        snapshots::list,
        snapshots::read,
        snapshots::take,
        snapshots::remove,
        snapshots::restore,
    ),
    components(schemas(Problem)),
    modifiers(&Common),
    servers((url = "/", description = "This server")),
    tags(
        (name = "server", description = "The server"),
        (name = "indexes", description = "The indexes"),
        (name = "snapshots", description = "Snapshots of indexes"),
        (name = "search", description = "Searches"),
        (name = "documents", description = "Documents"),
        (name = "terms", description = "Terms and their postings"),
    )
)]
struct Document;

/// The parts that operations have in common: their tags and the parameters of their paths.
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
        None if path.starts_with("/v1/snapshots") => "snapshots",
        None if !path.starts_with("/v1/indexes") => "server",
        _ => "indexes",
    }
}

/// The parameters that a path has.
fn path_parameters(path: &str) -> impl Iterator<Item = Parameter> {
    let text = || {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .min_length(Some(1))
    };
    let name = || {
        text()
            .max_length(Some(128))
            .pattern(Some("^[A-Za-z0-9][A-Za-z0-9._-]*$"))
    };
    let known = [
        ("index", "The name of the index", "docs", name().build()),
        ("id", "The id of the document", "1", text().build()),
        (
            "term",
            "The term, as the index has it",
            "wing",
            text().build(),
        ),
        (
            "field",
            "The field, one of those that the index keeps",
            "lang",
            text().build(),
        ),
        (
            "snapshot",
            "The name of the snapshot",
            "monday",
            name().build(),
        ),
    ];
    let parameter = |(name, description, example, schema): (&str, _, &str, Object)| {
        ParameterBuilder::new()
            .name(name)
            .parameter_in(ParameterIn::Path)
            .required(Required::True)
            .description(Some(description))
            .example(Some(example.into()))
            .schema(Some(schema))
            .build()
    };
    let has = |name: &str| path.contains(&format!("{{{name}}}"));
    let known: Vec<_> = known.into_iter().filter(|(name, ..)| has(name)).collect();
    known.into_iter().map(parameter)
}

/// The OpenAPI document of a server with these limits, which may want tokens.
pub fn document(limits: &Limits, wants_tokens: bool) -> Value {
    // The types are fixed: tests read the document.
    let mut document = serde_json::to_value(Document::openapi()).unwrap_or_default();
    problems::describe(&mut document, wants_tokens);
    precise::state(&mut document, limits);
    document
}

/// The OpenAPI document of this server as JSON.
#[derive(Clone)]
pub struct Described(Bytes);

impl Described {
    /// The [`document`] of these settings.
    pub fn new(limits: &Limits, wants_tokens: bool) -> Self {
        Described(document(limits, wants_tokens).to_string().into())
    }
}

/// Read this document
#[utoipa::path(
    get,
    path = "/v1/openapi.json",
    responses((status = 200, description = "The OpenAPI document", body = Object))
)]
pub async fn openapi(Url(()): Url<()>, Extension(document): Extension<Described>) -> Response {
    json(document.0)
}
