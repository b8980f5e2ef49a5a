//! Documents: read, changed, and changed by the stream.

use futures_util::future::BoxFuture;
use tonic::{Request, Response, Status, Streaming};

use super::arrive::arrived;
use super::proto::document_service_server::DocumentService;
use super::proto::operation::Operation as Change;
use super::proto::{
    BulkRequest, BulkResponse, ChangeResponse, DeleteDocumentRequest, GetDocumentRequest,
    GetDocumentResponse, GetVectorRequest, GetVectorResponse, NewDocument, Operation,
    OperationResult, PutDocumentRequest, Result as ChangeResult,
};
use super::stream::{Answering, Answers, answers};
use super::values::{all, bm25_of, fields_from, fields_of, key_of, state, within};
use crate::model::{self, BulkAnswer, BulkLine, DocumentId, WriteAnswer, WriteResult};
use crate::problem::Problem;
use crate::verbs::{self, Applying, Call, Changes};

/// Documents.
pub struct Documents;

#[tonic::async_trait]
impl DocumentService for Documents {
    async fn get_document(
        &self,
        request: Request<GetDocumentRequest>,
    ) -> Result<Response<GetDocumentResponse>, Status> {
        let (call, GetDocumentRequest { index, id }) = arrived(request)?;
        let snapshot = call.service.catalog.snapshot(&index)?;
        let read = move |snapshot: &_| verbs::document(snapshot, id);
        let document = call.read(snapshot, None, read).await?;
        within(
            &call,
            GetDocumentResponse {
                state: state(document.state),
                id: document.id,
                sequence: document.sequence,
                length: document.length,
                fields: fields_of(document.fields),
                text: document.text,
            },
        )
    }

    async fn get_vector(
        &self,
        request: Request<GetVectorRequest>,
    ) -> Result<Response<GetVectorResponse>, Status> {
        let (call, request) = arrived(request)?;
        let snapshot = call.service.catalog.snapshot(&request.index)?;
        let bm25 = bm25_of(request.weighting)?;
        let read = move |snapshot: &_| verbs::vector(snapshot, request.id, bm25);
        let vector = call.read(snapshot, None, read).await?;
        within(
            &call,
            GetVectorResponse {
                state: state(vector.state),
                id: vector.id,
                length: vector.length,
                formula: vector.formula,
                terms: all(vector.terms),
            },
        )
    }

    async fn put_document(
        &self,
        request: Request<PutDocumentRequest>,
    ) -> Result<Response<ChangeResponse>, Status> {
        let (call, request) = arrived(request)?;
        let key = key_of(request.idempotency_key)?;
        let changes = Changes::of(&call, request.index).await?;
        let document = document_from(request.document.unwrap_or_default())?;
        Ok(Response::new(changes.put(document, key).await?.into()))
    }

    async fn delete_document(
        &self,
        request: Request<DeleteDocumentRequest>,
    ) -> Result<Response<ChangeResponse>, Status> {
        let (call, request) = arrived(request)?;
        let key = key_of(request.idempotency_key)?;
        let changes = Changes::of(&call, request.index).await?;
        Ok(Response::new(changes.delete(request.id, key).await?.into()))
    }

    type BulkStream = Answers<BulkResponse>;

    async fn bulk(
        &self,
        request: Request<Streaming<BulkRequest>>,
    ) -> Result<Response<Self::BulkStream>, Status> {
        let (call, requests) = arrived(request)?;
        Ok(Response::new(answers(call, requests, begin)))
    }
}

/// Begins the changes of a request.
fn begin(call: Call, request: BulkRequest) -> BoxFuture<'static, Answering<BulkResponse>> {
    Box::pin(async move {
        let index = request.index.clone();
        let applying = apply(&call, request).await;
        Answering(Box::pin(async move {
            match applying {
                Ok(applying) => bulk_response(index, applying.done().await),
                Err(problem) => {
                    problem.log_cause(&call.id.id);
                    BulkResponse {
                        index,
                        problem: Some((&problem).into()),
                        ..BulkResponse::default()
                    }
                }
            }
        }))
    })
}

async fn apply(call: &Call, request: BulkRequest) -> Result<Applying, Problem> {
    let key = key_of(request.idempotency_key)?;
    let changes = Changes::of(call, request.index).await?;
    let mut batch = changes.batch(0)?;
    for operation in request.operations {
        batch.push(line_of(operation));
    }
    Ok(changes.apply(batch, key))
}

fn line_of(operation: Operation) -> Result<BulkLine, Problem> {
    match operation.operation {
        Some(Change::Put(document)) => document_from(document).map(BulkLine::Put),
        Some(Change::Create(document)) => document_from(document).map(BulkLine::Create),
        Some(Change::Delete(id)) => Ok(BulkLine::Delete(DocumentId { id })),
        None => Err(Problem::invalid(
            "the operation is empty: give it put, create or delete",
        )),
    }
}

fn document_from(document: NewDocument) -> Result<model::NewDocument, Problem> {
    let NewDocument { id, text, fields } = document;
    let fields = fields_from(fields)?;
    Ok(model::NewDocument { id, text, fields })
}

fn bulk_response(index: String, answers: Vec<BulkAnswer>) -> BulkResponse {
    BulkResponse {
        index,
        epoch: answers.iter().find_map(|answer| answer.epoch),
        results: all(answers),
        problem: None,
    }
}

impl From<BulkAnswer> for OperationResult {
    fn from(answer: BulkAnswer) -> Self {
        OperationResult {
            id: answer.id.unwrap_or_default(),
            result: result_of(answer.result).into(),
            problem: answer.problem.as_ref().map(Into::into),
        }
    }
}

impl From<WriteAnswer> for ChangeResponse {
    fn from(answer: WriteAnswer) -> Self {
        ChangeResponse {
            index: answer.index,
            epoch: answer.epoch,
            id: answer.id,
            result: result_of(Some(answer.result)).into(),
        }
    }
}

fn result_of(result: Option<WriteResult>) -> ChangeResult {
    match result {
        None => ChangeResult::Unspecified,
        Some(WriteResult::Created) => ChangeResult::Created,
        Some(WriteResult::Replaced) => ChangeResult::Replaced,
        Some(WriteResult::Deleted) => ChangeResult::Deleted,
        Some(WriteResult::NotFound) => ChangeResult::NotFound,
        Some(WriteResult::Conflict) => ChangeResult::Conflict,
    }
}
