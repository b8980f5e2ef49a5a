//! The messages that several services share, as the types of [`model`](crate::model).

use std::collections::BTreeMap;

use prost::Message;
use serde_json::{Map, Number, Value as Json};
use tokapi::Bm25;
use tonic::{Response, Status};

use super::proto;
use crate::model::{FormulaName, IndexState, TermAnswer, ValueCount, Weighting};
use crate::problem::Problem;
use crate::verbs::{Call, check_key};

impl From<&Problem> for proto::Problem {
    fn from(problem: &Problem) -> Self {
        proto::Problem {
            r#type: problem.uri().to_owned(),
            title: problem.title().to_owned(),
            status: problem.status().as_u16().into(),
            detail: problem.detail.clone(),
        }
    }
}

/// A response, if it is within the limit of answers.
pub fn within<M: Message>(call: &Call, message: M) -> Result<Response<M>, Status> {
    let taken = call.room().take(message.encoded_len());
    taken.map_err(Problem::from)?;
    Ok(Response::new(message))
}

/// The state of an answer, which always has one.
pub fn state(state: IndexState) -> Option<proto::State> {
    let IndexState {
        index,
        epoch,
        complete,
    } = state;
    Some(proto::State {
        index,
        epoch,
        complete,
    })
}

impl From<ValueCount> for proto::ValueCount {
    fn from(counted: ValueCount) -> Self {
        let ValueCount { value, count } = counted;
        proto::ValueCount { value, count }
    }
}

impl From<TermAnswer> for proto::WeighedTerm {
    fn from(term: TermAnswer) -> Self {
        proto::WeighedTerm {
            term: term.term,
            times: term.times,
            tf: term.tf,
            impact: term.impact,
            df: term.df,
            idf: term.idf,
            scale: term.scale,
            weight: term.weight,
        }
    }
}

/// Values of one type as those of another.
pub fn all<A, B: From<A>>(values: Vec<A>) -> Vec<B> {
    values.into_iter().map(B::from).collect()
}

/// The client's name of a request.
///
/// # Errors
/// It is none.
pub fn key_of(key: Option<String>) -> Result<Option<String>, Problem> {
    if let Some(key) = &key {
        check_key("idempotency_key", key)?;
    }
    Ok(key)
}

/// A number of a message. A number without room in memory is beyond every limit.
pub fn size(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// The fields of a document.
pub fn fields_of(fields: Option<Map<String, Json>>) -> BTreeMap<String, proto::Values> {
    let fields = fields.into_iter().flatten().map(|(name, values)| {
        let values = match values {
            Json::Array(values) => values,
            value => vec![value],
        };
        let values = values.into_iter().map(value_of).collect();
        (name, proto::Values { values })
    });
    fields.collect()
}

fn value_of(value: Json) -> proto::Value {
    use proto::value::Kind;
    let kind = match value {
        Json::String(text) => Some(Kind::Text(text)),
        Json::Bool(boolean) => Some(Kind::Boolean(boolean)),
        Json::Number(number) => {
            let integer = number.as_i64().map(Kind::Integer);
            let integer = integer.or_else(|| number.as_u64().map(Kind::Unsigned));
            integer.or_else(|| number.as_f64().map(Kind::Number))
        }
        // Documents have no such values.
        Json::Null | Json::Array(_) | Json::Object(_) => None,
    };
    proto::Value { kind }
}

/// The fields of a new document.
///
/// # Errors
/// A number is not finite.
pub fn fields_from(fields: BTreeMap<String, proto::Values>) -> Result<Map<String, Json>, Problem> {
    let fields = fields.into_iter().map(|(name, values)| {
        let values = values
            .values
            .into_iter()
            .map(|value| value_from(&name, value));
        let values: Vec<Json> = values.collect::<Result<_, _>>()?;
        Ok((name, values.into()))
    });
    fields.collect()
}

fn value_from(field: &str, value: proto::Value) -> Result<Json, Problem> {
    use proto::value::Kind;
    Ok(match value.kind {
        Some(Kind::Text(text)) => text.into(),
        Some(Kind::Boolean(boolean)) => boolean.into(),
        Some(Kind::Integer(integer)) => integer.into(),
        Some(Kind::Unsigned(integer)) => integer.into(),
        Some(Kind::Number(number)) => match Number::from_f64(number) {
            Some(number) => number.into(),
            None => {
                return Err(Problem::invalid(format!(
                    "the field `{}` has the value {number}: give it finite numbers",
                    field.escape_debug()
                )));
            }
        },
        None => {
            return Err(Problem::invalid(format!(
                "the field `{}` has an empty value: give it text, number, integer or boolean",
                field.escape_debug()
            )));
        }
    })
}

/// The formula of a message and its parameters.
///
/// # Errors
/// There is no such formula.
pub fn weighting_of(given: Option<proto::Weighting>) -> Result<Weighting, Problem> {
    let given = given.unwrap_or_default();
    let formula = match proto::Formula::try_from(given.formula) {
        Ok(proto::Formula::Unspecified) => None,
        Ok(proto::Formula::Lucene) => Some(FormulaName::Lucene),
        Ok(proto::Formula::Robertson) => Some(FormulaName::Robertson),
        Ok(proto::Formula::Smoothed) => Some(FormulaName::Smoothed),
        Ok(proto::Formula::Atire) => Some(FormulaName::Atire),
        Ok(proto::Formula::Bm25l) => Some(FormulaName::Bm25l),
        Ok(proto::Formula::Bm25plus) => Some(FormulaName::Bm25plus),
        Ok(proto::Formula::Tfidf) => Some(FormulaName::Tfidf),
        Err(_) => {
            return Err(Problem::invalid(format!(
                "formula: {} is none: use a value of the enumeration Formula",
                given.formula
            )));
        }
    };
    Ok(Weighting {
        formula,
        k1: given.k1,
        b: given.b,
        delta: given.delta,
        avdl: given.avdl,
    })
}

/// The formula of a message, its parameters checked.
///
/// # Errors
/// There is no such formula; a parameter is out of range.
pub fn bm25_of(given: Option<proto::Weighting>) -> Result<Bm25, Problem> {
    let bm25 = Bm25::from(weighting_of(given)?);
    bm25.check()?;
    Ok(bm25)
}
