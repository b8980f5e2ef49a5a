//! The JSON of requests and answers under `/v1`: types without logic.

mod browse;
mod count;
mod filter;
mod index;
mod object;
mod search;
mod snapshot;
mod state;
mod term;
mod write;

pub use browse::{
    DocumentAnswer, PostingAnswer, PostingsAnswer, StatisticsAnswer, ValueCount, ValuesAnswer,
    VectorAnswer,
};
pub use count::{CountAnswer, CountRequest};
pub use filter::{FilterParts, FilterRequest};
pub use index::{IndexAnswer, IndexesAnswer, ServerAnswer};
pub use object::Object;
pub use search::{
    AnswerOrProblem, FormulaName, HitAnswer, Mode, SearchAnswer, SearchRequest, SearchesAnswer,
    SearchesRequest, Weighting,
};
pub use snapshot::{RestoreRequest, SnapshotAnswer, SnapshotRequest, SnapshotsAnswer};
pub use state::{EpochAnswer, IndexState};
pub use term::{TermAnswer, TermCount, TermsAnswer};
pub use write::{
    BulkAnswer, BulkLine, DocumentId, DocumentRequest, IndexRequest, NewDocument, WriteAnswer,
    WriteResult,
};
