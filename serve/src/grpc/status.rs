//! Problems as statuses of gRPC. The text is the same, and the details have the problem.

use std::error::Error;
use std::sync::Arc;

use prost::Message;
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::{Code, Status};

use super::proto;
use crate::problem::{Kind, Problem};

/// The milliseconds after which a client may try again, by the convention of gRPC's own retries.
const PUSHBACK: &str = "grpc-retry-pushback-ms";

/// `google.rpc.Status`, the form of details.
#[derive(Clone, PartialEq, Message)]
struct Details {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(message, repeated, tag = "3")]
    details: Vec<Any>,
}

/// `google.protobuf.Any`.
#[derive(Clone, PartialEq, Message)]
struct Any {
    #[prost(string, tag = "1")]
    type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

impl From<Problem> for Status {
    fn from(problem: Problem) -> Self {
        let code = code(&problem);
        let details = Details {
            code: code.into(),
            message: problem.detail.clone(),
            details: vec![Any {
                type_url: "type.googleapis.com/tokapi.v1.Problem".to_owned(),
                value: proto::Problem::from(&problem).encode_to_vec(),
            }],
        };
        let mut metadata = MetadataMap::new();
        if let Some(seconds) = problem.retry_after() {
            metadata.insert(PUSHBACK, MetadataValue::from(seconds.saturating_mul(1000)));
        }
        let details = details.encode_to_vec().into();
        let message = problem.detail.clone();
        let mut status = Status::with_details_and_metadata(code, message, details, metadata);
        status.set_source(Arc::new(problem));
        status
    }
}

fn code(problem: &Problem) -> Code {
    match (problem.kind(), problem.status().as_u16()) {
        (Kind::NotKept, _) => Code::FailedPrecondition,
        (Kind::UnknownRoute, _) => Code::Unimplemented,
        (_, 400 | 413 | 415) => Code::InvalidArgument,
        (_, 401) => Code::Unauthenticated,
        (_, 403) => Code::PermissionDenied,
        (_, 404) => Code::NotFound,
        (_, 408 | 409) => Code::Aborted,
        (_, 429 | 507) => Code::ResourceExhausted,
        (_, 503) => Code::Unavailable,
        (_, 504) => Code::DeadlineExceeded,
        _ => Code::Internal,
    }
}

/// The problem of a status, if it has one. `body_bytes` is the limit of messages.
pub fn problem_of(status: &Status, body_bytes: usize) -> Option<Problem> {
    if let Some(problem) = status.source().and_then(|source| source.downcast_ref()) {
        return Some(Problem::clone(problem));
    }
    // Faults that were found before a method was called.
    let text = status.message();
    match status.code() {
        Code::OutOfRange => Some(Problem::new(
            Kind::BodyTooLarge,
            format!(
                "the message is larger than {body_bytes} bytes, the limit of this server: send less at a time"
            ),
        )),
        Code::Aborted => Some(Problem::new(Kind::SlowRequest, text)),
        Code::Internal => Some(Problem::invalid(format!(
            "the message cannot be read: {text}"
        ))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_has_the_code_the_text_and_the_problem() {
        for (kind, code) in [
            (Kind::InvalidRequest, Code::InvalidArgument),
            (Kind::LimitExceeded, Code::InvalidArgument),
            (Kind::NotKept, Code::FailedPrecondition),
            (Kind::Unauthorized, Code::Unauthenticated),
            (Kind::Forbidden, Code::PermissionDenied),
            (Kind::UnknownIndex, Code::NotFound),
            (Kind::UnknownRoute, Code::Unimplemented),
            (Kind::SlowRequest, Code::Aborted),
            (Kind::Conflict, Code::Aborted),
            (Kind::BodyTooLarge, Code::InvalidArgument),
            (Kind::Overloaded, Code::ResourceExhausted),
            (Kind::Internal, Code::Internal),
            (Kind::Unavailable, Code::Unavailable),
            (Kind::Timeout, Code::DeadlineExceeded),
        ] {
            let problem = Problem::new(kind, "what, where, and what to do");
            let status = Status::from(problem.clone());
            assert_eq!((status.code(), status.message()), (code, &*problem.detail));
            let retries = status.metadata().get(PUSHBACK).is_some();
            let is_temporary = matches!(kind, Kind::Overloaded | Kind::Unavailable);
            assert_eq!(retries, is_temporary, "{kind:?}");
            let details = Details::decode(status.details()).unwrap();
            let told = proto::Problem::decode(&*details.details[0].value).unwrap();
            assert_eq!(told.r#type, format!("urn:tokapi:problem:{}", kind.name()));
            assert_eq!(told.status, u32::from(kind.status().as_u16()));
            assert_eq!(problem_of(&status, 1), Some(problem));
        }
    }
}
