//! An error in the shape that Elasticsearch's clients read.

use serde_json::{Value, json};

/// A request that is not answered: the status, the name of the fault, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The status of HTTP.
    pub status: u16,
    /// Elasticsearch's name of the fault.
    pub kind: &'static str,
    /// What is wrong, where, what to do.
    pub reason: String,
    /// The index that the fault concerns.
    pub index: Option<String>,
}

impl Refusal {
    /// The request is not in the language of queries.
    pub fn parsing(reason: impl Into<String>) -> Self {
        Refusal::new(400, "parsing_exception", reason)
    }

    /// The request is in the language, but has no answer here.
    pub fn illegal(reason: impl Into<String>) -> Self {
        Refusal::new(400, "illegal_argument_exception", reason)
    }

    /// There is no such index.
    pub fn no_index(name: &str) -> Self {
        Refusal {
            index: Some(name.to_owned()),
            ..Refusal::new(
                404,
                "index_not_found_exception",
                format!("no such index [{name}]"),
            )
        }
    }

    /// The index is there already.
    pub fn index_exists(name: &str) -> Self {
        Refusal {
            index: Some(name.to_owned()),
            ..Refusal::new(
                400,
                "resource_already_exists_exception",
                format!("index [{name}] already exists"),
            )
        }
    }

    /// A document with the id is there already.
    pub fn conflict(id: &str) -> Self {
        let reason =
            format!("[{id}]: version conflict, document already exists; use `index` to replace it");
        Refusal::new(409, "version_conflict_engine_exception", reason)
    }

    /// A fault of any name.
    pub fn new(status: u16, kind: &'static str, reason: impl Into<String>) -> Self {
        Refusal {
            status,
            kind,
            reason: reason.into(),
            index: None,
        }
    }

    /// The cause, as items of `_bulk` and `_msearch` show it.
    pub fn cause(&self) -> Value {
        let mut cause = json!({"type": self.kind, "reason": self.reason});
        if let Some(index) = &self.index {
            cause["index"] = index.as_str().into();
            cause["resource.type"] = "index_or_alias".into();
            cause["resource.id"] = index.as_str().into();
        }
        cause
    }

    /// The body of the answer.
    pub fn body(&self) -> Value {
        let mut error = self.cause();
        error["root_cause"] = json!([self.cause()]);
        json!({"error": error, "status": self.status})
    }
}

/// The result of a request.
pub type Result<T, E = Refusal> = std::result::Result<T, E>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_find_type_reason_and_status() {
        let body = Refusal::no_index("books").body();
        assert_eq!(body["status"], 404);
        assert_eq!(body["error"]["type"], "index_not_found_exception");
        assert_eq!(body["error"]["root_cause"][0]["index"], "books");
        let body = Refusal::parsing("x").body();
        assert_eq!(body["error"]["reason"], "x");
        assert!(body["error"].get("index").is_none());
    }
}
