//! The problems of operations, and the tokens that they may want.

use serde_json::{Map, Value, json};

use super::precise::operations;

/// A problem that operations answer with: its status, its name among the components, and its causes.
type Described = (&'static str, &'static str, &'static str);

const INVALID: Described = (
    "400",
    "Invalid",
    "The request is invalid, exceeds a limit, or needs data that the index does not keep",
);
const UNAUTHORIZED: Described = ("401", "Unauthorized", "The request has no valid token");
const FORBIDDEN: Described = (
    "403",
    "Forbidden",
    "The token lacks the scope; the server takes no changes; a page of another site sent the request",
);
const NOT_FOUND: Described = (
    "404",
    "NotFound",
    "There is no index, document or term of this name",
);
const SLOW: Described = ("408", "SlowRequest", "The body arrives too slowly");
const CONFLICT: Described = (
    "409",
    "Conflict",
    "The name is taken, or another process changes the index",
);
const TOO_LARGE: Described = ("413", "TooLarge", "The body is larger than the limit");
const UNSUPPORTED: Described = (
    "415",
    "UnsupportedMediaType",
    "The body has another content type",
);
const OVERLOADED: Described = (
    "429",
    "Overloaded",
    "Too many requests wait, or a rate is exceeded: retry later",
);
const INTERNAL: Described = (
    "500",
    "Internal",
    "The server failed; its log has the cause",
);
const UNAVAILABLE: Described = (
    "503",
    "Unavailable",
    "The server is shutting down: retry with another one",
);
const TIMEOUT: Described = ("504", "Timeout", "The answer was not ready in time");

/// Adds the problems of all operations, and the scheme of tokens if the server wants them.
pub fn describe(document: &mut Value, wants_tokens: bool) {
    let mut responses = Map::new();
    for (path, method, operation) in operations(document) {
        let has_body = operation.get("requestBody").is_some();
        for problem in problems(&path, &method, has_body, wants_tokens) {
            let (status, name, _) = problem;
            operation["responses"][status] =
                json!({"$ref": format!("#/components/responses/{name}")});
            responses.insert(name.to_owned(), response(problem));
        }
    }
    document["components"]["responses"] = responses.into();
    if wants_tokens {
        let token = json!({
            "type": "http",
            "scheme": "bearer",
            "description": "A token with the scope of the operation: search, write or admin",
        });
        document["components"]["securitySchemes"] = json!({"token": token});
        document["security"] = json!([{"token": []}]);
    }
}

fn response((status, _, causes): Described) -> Value {
    let mut response = json!({
        "description": causes,
        "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
    });
    let header = match status {
        "401" => (
            "WWW-Authenticate",
            "The scheme of tokens",
            json!({"type": "string"}),
        ),
        "429" | "503" => (
            "Retry-After",
            "Seconds to wait",
            json!({"type": "integer", "minimum": 0}),
        ),
        _ => return response,
    };
    let (name, description, schema) = header;
    response["headers"] = json!({(name): {"description": description, "schema": schema}});
    response
}

/// The problems of an operation.
fn problems(
    path: &str,
    method: &str,
    has_body: bool,
    wants_tokens: bool,
) -> impl Iterator<Item = Described> {
    let is_of_index = path.contains("{index}");
    let is_description = ["/v1/indexes/{index}", "/v1/indexes/{index}/statistics"].contains(&path);
    let changes = ["/bulk", "/merge"].iter().any(|end| path.ends_with(end))
        || ["put", "delete"].contains(&method);
    let waits = is_of_index && (changes || !is_description);
    let table = [
        (true, INVALID),
        (wants_tokens, UNAUTHORIZED),
        (true, FORBIDDEN),
        (is_of_index, NOT_FOUND),
        (has_body, SLOW),
        (changes, CONFLICT),
        (has_body, TOO_LARGE),
        (has_body, UNSUPPORTED),
        (true, OVERLOADED),
        (true, INTERNAL),
        (waits, UNAVAILABLE),
        (waits && !changes, TIMEOUT),
    ];
    table
        .into_iter()
        .filter(|(has, _)| *has)
        .map(|(_, problem)| problem)
}
