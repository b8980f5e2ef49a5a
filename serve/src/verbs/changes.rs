//! Changes of an index: of one document, of many, and merges.

use std::sync::Arc;

use serde::de::IgnoredAny;
use serde_json::{Number, Value as Json};
use tokapi::{Document, StoredDocument, Value};

use super::call::Call;
use super::documents::unknown;
use crate::model::{
    BulkAnswer, BulkLine, EpochAnswer, NewDocument, Object, WriteAnswer, WriteResult,
};
use crate::problem::{Kind, Problem};
use crate::served::Snapshot;
use crate::write::{Applied, MOST_ID_BYTES, Operation, Outcome, Queued, Write, Writer};

/// The most bytes of the name of a request.
const MOST_KEY_BYTES: usize = 256;

/// Does work that waits for the disk.
///
/// # Errors
/// Those of the work.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(Problem::internal(error)),
    }
}

/// An index that a request changes.
pub struct Changes {
    call: Call,
    index: String,
    writer: Arc<Writer>,
}

impl Changes {
    /// Opens an index for changes.
    ///
    /// # Errors
    /// The server takes no changes; there is no such index; another process is changing it.
    pub async fn of(call: &Call, index: String) -> Result<Self, Problem> {
        // The first one locks the index and opens its parts.
        let (service, name) = (Arc::clone(&call.service), index.clone());
        let open = move || service.writers.get(&service.catalog, &name);
        Ok(Changes {
            call: call.clone(),
            writer: blocking(open).await?,
            index,
        })
    }

    /// Adds or replaces a document.
    ///
    /// # Errors
    /// The index does not keep a field; too many changes wait; files cannot be written.
    pub async fn put(
        self,
        document: NewDocument,
        key: Option<String>,
    ) -> Result<WriteAnswer, Problem> {
        let document = document_of(&*self.call.service.catalog.snapshot(&self.index)?, document)?;
        self.one(Operation::Put(document), key).await
    }

    /// Deletes a document.
    ///
    /// # Errors
    /// No document has the id; too many changes wait; files cannot be written.
    pub async fn delete(self, id: String, key: Option<String>) -> Result<WriteAnswer, Problem> {
        check_id(&id)?;
        self.one(Operation::Delete(id), key).await
    }

    /// Merges all parts into one.
    ///
    /// # Errors
    /// Too many changes wait; files cannot be written.
    pub async fn merge(self) -> Result<EpochAnswer, Problem> {
        let merged = self.writer.merge().await?;
        Ok(EpochAnswer {
            index: self.index,
            epoch: merged.epoch,
        })
    }

    /// A batch of lines; `before` lines of the request came before them.
    ///
    /// # Errors
    /// The index has been removed meanwhile.
    pub fn batch(&self, before: u64) -> Result<Batch, Problem> {
        Ok(Batch {
            snapshot: self.call.service.catalog.snapshot(&self.index)?,
            before,
            operations: Vec::new(),
            answers: Vec::new(),
        })
    }

    /// Begins to apply a batch as one change. Batches take effect in the order in which they begin.
    pub fn apply(&self, batch: Batch, key: Option<String>) -> Applying {
        let Batch {
            operations,
            answers,
            ..
        } = batch;
        let write = Write {
            operations,
            key,
            ..Write::default()
        };
        let is_change = !write.operations.is_empty();
        Applying {
            queued: is_change.then(|| self.writer.queue(write)),
            answers,
            request: Arc::clone(&self.call.id.id),
        }
    }

    async fn one(self, operation: Operation, key: Option<String>) -> Result<WriteAnswer, Problem> {
        let id = operation.id().to_owned();
        let write = Write {
            operations: vec![operation],
            key,
            ..Write::default()
        };
        let Applied { epoch, outcomes } = self.writer.write(write).await?;
        match outcomes.first() {
            None | Some(Outcome::NotFound) => Err(unknown(&self.index, &id)),
            Some(&outcome) => Ok(WriteAnswer {
                index: self.index,
                epoch,
                id,
                result: result_of(outcome),
            }),
        }
    }
}

/// A batch that is being applied.
pub struct Applying {
    /// None without a change.
    queued: Option<Result<Queued, Problem>>,
    answers: Vec<BulkAnswer>,
    request: Arc<str>,
}

impl Applying {
    /// Waits until the batch is applied, and gives an answer for each of its lines.
    pub async fn done(self) -> Vec<BulkAnswer> {
        let mut answers = self.answers;
        let applied = match self.queued {
            None => return answers,
            Some(Ok(queued)) => queued.answer().await,
            Some(Err(problem)) => Err(problem),
        };
        let outcomes = applied.as_ref().map(|applied| &applied.outcomes[..]);
        let mut outcomes = outcomes.unwrap_or_default().iter();
        for answer in answers.iter_mut().filter(|answer| answer.problem.is_none()) {
            match &applied {
                Ok(applied) => {
                    answer.epoch = Some(applied.epoch);
                    answer.result = outcomes.next().map(|&outcome| result_of(outcome));
                }
                Err(problem) => answer.problem = Some(problem.clone()),
            }
        }
        if let Err(problem) = &applied {
            problem.log_cause(&self.request);
        }
        answers
    }
}

/// Lines of a bulk request that take effect together.
pub struct Batch {
    snapshot: Arc<Snapshot>,
    before: u64,
    operations: Vec<Operation>,
    answers: Vec<BulkAnswer>,
}

impl Batch {
    /// The number of the next line, from 1 on.
    pub fn next_line(&self) -> u64 {
        self.before + self.answers.len() as u64 + 1
    }

    /// Adds a line, or the fault of a line.
    pub fn push(&mut self, line: Result<BulkLine, Problem>) {
        let operation = line.and_then(|line| match line {
            BulkLine::Put(new) => document_of(&self.snapshot, new).map(Operation::Put),
            BulkLine::Create(new) => document_of(&self.snapshot, new).map(Operation::Create),
            BulkLine::Delete(document) => {
                check_id(&document.id)?;
                Ok(Operation::Delete(document.id))
            }
        });
        let mut answer = BulkAnswer::new(self.next_line());
        match operation {
            Ok(operation) => {
                answer.id = Some(operation.id().to_owned());
                self.operations.push(operation);
            }
            Err(problem) => answer.problem = Some(problem),
        }
        self.answers.push(answer);
    }
}

fn result_of(outcome: Outcome) -> WriteResult {
    match outcome {
        Outcome::Created => WriteResult::Created,
        Outcome::Replaced => WriteResult::Replaced,
        Outcome::Deleted => WriteResult::Deleted,
        Outcome::NotFound => WriteResult::NotFound,
        Outcome::Conflict => WriteResult::Conflict,
    }
}

/// Checks the name of a request, which stands in `place`.
///
/// # Errors
/// It is none.
pub fn check_key(place: &str, key: &str) -> Result<(), Problem> {
    let is_plain = |byte: u8| byte.is_ascii_graphic();
    match (1..=MOST_KEY_BYTES).contains(&key.len()) && key.bytes().all(is_plain) {
        true => Ok(()),
        false => Err(Problem::invalid(format!(
            "{place} must have 1 to {MOST_KEY_BYTES} visible characters of ASCII, without spaces: send another name"
        ))),
    }
}

/// Checks the length of an id.
fn check_id(id: &str) -> Result<(), Problem> {
    match id.len() {
        0 => Err(Problem::invalid("the id is empty: give the document an id")),
        bytes if bytes > MOST_ID_BYTES => Err(Problem::new(
            Kind::LimitExceeded,
            format!("the id has {bytes} bytes, and the limit is {MOST_ID_BYTES}: shorten it"),
        )),
        _ => Ok(()),
    }
}

/// A document of a request, for an index that keeps all its fields.
fn document_of(snapshot: &Snapshot, new: NewDocument) -> Result<Document, Problem> {
    check_id(&new.id)?;
    let mut document = Document::new(new.id, new.text);
    for (name, value) in new.fields {
        snapshot.check_field(&name)?;
        let values = match value {
            Json::Array(values) => values,
            value => vec![value],
        };
        if name == StoredDocument::SOURCE_FIELD && !values.iter().all(is_object) {
            return Err(Problem::invalid(format!(
                "the field `{name}` is shown to clients of Elasticsearch as it is: give it an object of JSON, as a string"
            )));
        }
        for value in values {
            let value = match value {
                Json::Null => continue,
                Json::String(text) => Value::Text(text),
                Json::Bool(value) => Value::Boolean(value),
                Json::Number(number) => number_of(&number),
                Json::Array(_) | Json::Object(_) => {
                    return Err(Problem::invalid(format!(
                        "the field `{}` has a list or an object as a value: give it strings, numbers or booleans",
                        name.escape_debug()
                    )));
                }
            };
            document = document.field(name.clone(), value);
        }
    }
    Ok(document)
}

/// A number, with all its digits if it is whole.
fn number_of(number: &Number) -> Value {
    let whole = number.as_i64().map(Value::from);
    let whole = whole.or_else(|| number.as_u64().map(Value::from));
    // Numbers of JSON are no larger than the largest of 64 bits with a point.
    whole.unwrap_or_else(|| number.as_f64().unwrap_or_default().into())
}

/// Whether a value is a string with an object of JSON.
fn is_object(value: &Json) -> bool {
    let text = value.as_str().unwrap_or_default();
    serde_json::from_str::<Object<IgnoredAny>>(text).is_ok()
}
