//! The server and its indexes.

use tonic::{Request, Response, Status};

use super::arrive::arrived;
use super::proto::index_service_server::IndexService;
use super::proto::{
    CreateIndexRequest, DropIndexRequest, EpochResponse, GetIndexRequest, GetServerRequest,
    GetServerResponse, GetStatisticsRequest, GetStatisticsResponse, Index, ListIndexesRequest,
    ListIndexesResponse, ListPostingsRequest, ListPostingsResponse, ListTermsRequest,
    ListTermsResponse, ListValuesRequest, ListValuesResponse, MergeIndexRequest, Posting, Term,
};
use super::values::{all, bm25_of, size, state, within};
use crate::model::{EpochAnswer, IndexAnswer, IndexRequest, PostingAnswer, TermCount};
use crate::verbs::{self, Changes, PostingsPage, page_size};

/// The server and its indexes.
pub struct Indexes;

#[tonic::async_trait]
impl IndexService for Indexes {
    async fn get_server(
        &self,
        request: Request<GetServerRequest>,
    ) -> Result<Response<GetServerResponse>, Status> {
        let (call, _) = arrived(request)?;
        let server = verbs::server(&call.service);
        Ok(Response::new(GetServerResponse {
            name: server.name.to_owned(),
            version: server.version.to_owned(),
            indexes: server.indexes,
        }))
    }

    async fn list_indexes(
        &self,
        request: Request<ListIndexesRequest>,
    ) -> Result<Response<ListIndexesResponse>, Status> {
        let (call, _) = arrived(request)?;
        let indexes = all(verbs::indexes(&call.service).indexes);
        Ok(Response::new(ListIndexesResponse { indexes }))
    }

    async fn get_index(
        &self,
        request: Request<GetIndexRequest>,
    ) -> Result<Response<Index>, Status> {
        let (call, request) = arrived(request)?;
        let snapshot = call.service.catalog.snapshot(&request.index)?;
        Ok(Response::new(verbs::described(&snapshot).into()))
    }

    async fn get_statistics(
        &self,
        request: Request<GetStatisticsRequest>,
    ) -> Result<Response<GetStatisticsResponse>, Status> {
        let (call, request) = arrived(request)?;
        let snapshot = call.service.catalog.snapshot(&request.index)?;
        let statistics = verbs::statistics(&snapshot);
        Ok(Response::new(GetStatisticsResponse {
            state: state(statistics.state),
            documents: statistics.documents,
            total_length: statistics.total_length,
            average_length: statistics.average_length,
            deleted: statistics.deleted,
            postings: statistics.postings,
            terms: statistics.terms,
            parts: statistics.parts as u64,
        }))
    }

    async fn list_terms(
        &self,
        request: Request<ListTermsRequest>,
    ) -> Result<Response<ListTermsResponse>, Status> {
        let (call, request) = arrived(request)?;
        let snapshot = call.service.catalog.snapshot(&request.index)?;
        let limit = page_size(&call.service.limits, request.limit.map(size))?;
        let read = move |snapshot: &_| {
            verbs::terms(snapshot, &request.prefix, request.after.as_deref(), limit)
        };
        let terms = call.read(snapshot, None, read).await?;
        within(
            &call,
            ListTermsResponse {
                state: state(terms.state),
                terms: all(terms.terms),
                next: terms.next,
            },
        )
    }

    async fn list_postings(
        &self,
        request: Request<ListPostingsRequest>,
    ) -> Result<Response<ListPostingsResponse>, Status> {
        let (call, request) = arrived(request)?;
        let snapshot = call.service.catalog.snapshot(&request.index)?;
        let page = PostingsPage {
            term: request.term,
            after: request.after,
            limit: page_size(&call.service.limits, request.limit.map(size))?,
            bm25: bm25_of(request.weighting)?,
        };
        let room = call.room();
        let read = move |snapshot: &_| verbs::postings(snapshot, page, room);
        let postings = call.read(snapshot, None, read).await?;
        within(
            &call,
            ListPostingsResponse {
                state: state(postings.state),
                term: postings.of.term,
                df: postings.of.df,
                formula: postings.formula,
                postings: all(postings.postings),
                next: postings.next,
            },
        )
    }

    async fn list_values(
        &self,
        request: Request<ListValuesRequest>,
    ) -> Result<Response<ListValuesResponse>, Status> {
        let (call, request) = arrived(request)?;
        let snapshot = call.service.catalog.snapshot(&request.index)?;
        let limit = page_size(&call.service.limits, request.limit.map(size))?;
        let room = call.room();
        let read = move |snapshot: &_| verbs::values(snapshot, request.field, limit, room);
        let values = call.read(snapshot, None, read).await?;
        within(
            &call,
            ListValuesResponse {
                state: state(values.state),
                field: values.field,
                distinct: values.distinct,
                values: all(values.values),
            },
        )
    }

    async fn create_index(
        &self,
        request: Request<CreateIndexRequest>,
    ) -> Result<Response<EpochResponse>, Status> {
        let (call, request) = arrived(request)?;
        let new = IndexRequest {
            analyzer: request.analyzer,
            stop_words: request.stop_words,
            stemmer: request.stemmer,
            text: request.text,
            positions: request.positions,
            fields: request.fields,
        };
        let created = verbs::create(&call.service, request.index, new).await?;
        Ok(Response::new(created.into()))
    }

    async fn drop_index(
        &self,
        request: Request<DropIndexRequest>,
    ) -> Result<Response<EpochResponse>, Status> {
        let (call, request) = arrived(request)?;
        let removed = verbs::remove(&call.service, request.index).await?;
        Ok(Response::new(removed.into()))
    }

    async fn merge_index(
        &self,
        request: Request<MergeIndexRequest>,
    ) -> Result<Response<EpochResponse>, Status> {
        let (call, request) = arrived(request)?;
        let changes = Changes::of(&call, request.index).await?;
        Ok(Response::new(changes.merge().await?.into()))
    }
}

impl From<IndexAnswer> for Index {
    fn from(index: IndexAnswer) -> Self {
        Index {
            state: state(index.state),
            documents: index.documents,
            deleted: index.deleted,
            parts: index.parts as u64,
            bytes: index.bytes,
            analyzer: index.analyzer,
            keeps_text: index.keeps_text,
            keeps_positions: index.keeps_positions,
            fields: index.fields,
            impacts: index.impacts,
        }
    }
}

impl From<TermCount> for Term {
    fn from(counted: TermCount) -> Self {
        let TermCount { term, df } = counted;
        Term { term, df }
    }
}

impl From<PostingAnswer> for Posting {
    fn from(posting: PostingAnswer) -> Self {
        let PostingAnswer { id, tf, weight } = posting;
        Posting { id, tf, weight }
    }
}

impl From<EpochAnswer> for EpochResponse {
    fn from(answer: EpochAnswer) -> Self {
        let EpochAnswer { index, epoch } = answer;
        EpochResponse { index, epoch }
    }
}
